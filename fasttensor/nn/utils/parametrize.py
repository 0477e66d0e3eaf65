"""Parameters computed from others by modules."""
import contextlib
from copy import deepcopy

import fasttensor as ft

from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

_cache_depth = 0
_cache = {}


@contextlib.contextmanager
def cached():
    """Compute every parametrized tensor at most once inside the `with` block.

    Nested blocks share one cache, which the outermost one empties.

    >>> layer = nn.Linear(2, 2)
    >>> _ = nn.utils.parametrize.register_parametrization(layer, "weight", nn.Identity())
    >>> with nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_depth, _cache
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache = {}


def _put(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _maybe_set(dest, src):
    # Optimizers hold the Parameter object: keep it, and change its data.
    if dest is not src and isinstance(dest, Parameter):
        dest.data = src.detach() if isinstance(src, ft.Tensor) else src
        return dest
    return src


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, with the parameter or parameters they start from.

    These are called `original`, or `original0`, `original1`, ... when `right_inverse` gives several.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> sorted(name for name, _ in layer.parametrizations.weight.named_parameters())
    ['original0', 'original1']
    """

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with ft.no_grad():
            new = original
            for m in reversed(modules):
                if hasattr(m, "right_inverse"):
                    try:
                        new = m.right_inverse(new)
                    except NotImplementedError:
                        pass
        if not isinstance(new, ft.Tensor) and not isinstance(new, (tuple, list)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{type(new).__name__}")
        self.is_tensor = isinstance(new, ft.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                                 f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}")
            _put(self, "original", _maybe_set(original, new))
        else:
            for i, t in enumerate(new):
                if not isinstance(t, ft.Tensor):
                    raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element {i} of the "
                                     f"sequence with type {type(t).__name__}.")
                if isinstance(original, Parameter):
                    t = Parameter(t.detach(), original.requires_grad)
                _put(self, f"original{i}", t)
        if not unsafe:
            result = self()
            if not isinstance(result, ft.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            if result.dtype != dtype:
                raise ValueError("Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag "
                                 f"is enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {result.dtype}")
            if result.shape != shape:
                raise ValueError("Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag "
                                 f"is enabled.\nunparametrized shape: {shape}\nparametrized shape: {result.shape}")

    def right_inverse(self, value):
        """Set the original tensors so that the parametrized one becomes `value`, as far as the modules can."""
        with ft.no_grad():
            for m in reversed(list(self)):
                if not hasattr(m, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(m).__name__} does not implement right_inverse.")
                value = m.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, ft.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype {self.original.dtype}")
                self.original.copy_(value) if value.shape == self.original.shape else setattr(self.original, "data", value)
            else:
                if len(value) != self.ntensors:
                    raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                                     f"sequence of length {len(value)}.")
                for i, t in enumerate(value):
                    mine = getattr(self, f"original{i}")
                    if not isinstance(t, ft.Tensor):
                        raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(t).__name__}")
                    if t.dtype != mine.dtype:
                        raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {t.dtype} while `original{i}` has dtype {mine.dtype}")
                    mine.copy_(t) if t.shape == mine.shape else setattr(mine, "data", t)

    def forward(self):
        first = self._modules["0"]
        x = first(self.original) if self.is_tensor else first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for i in range(1, len(self)):
            x = self._modules[str(i)](x)
        return x


def _inject_new_class(module):
    cls = type(module)

    def __deepcopy__(self, memo):
        existing = memo.get(id(self))
        if existing is not None:
            return existing
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = deepcopy(self.__dict__, memo)
        return replica

    def __reduce_ex__(self, proto):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")

    body = {"__reduce_ex__": __reduce_ex__}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module, name):
    def get(self):
        if _cache_depth:
            key = (id(self), name)
            value = _cache.get(key)
            if value is None:
                value = _cache[key] = self.parametrizations[name]()
            return value
        return self.parametrizations[name]()

    def set_(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set_))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Let a module compute a parameter or buffer of `module` from another tensor; returns `module`.

    `parametrization.forward` gives the tensor, `right_inverse`, where defined, the way back for assignments.
    ValueError when shape or dtype would change, unless `unsafe`.

    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> m = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(m.weight, m.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        plist = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            if not isinstance(after, ft.Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
            if after.dtype != before.dtype:
                raise ValueError("Registering a parametrization may not change the dtype of the tensor, unless the `unsafe` "
                                 f"flag is enabled.\n{before.dtype} became {after.dtype}")
            if after.shape != before.shape:
                raise ValueError("Registering a parametrization may not change the shape of the tensor, unless the `unsafe` "
                                 f"flag is enabled.\n{before.shape} became {after.shape}")
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(after)
                except NotImplementedError:
                    pass
                else:
                    if not isinstance(back, ft.Tensor):
                        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
                    if back.dtype != before.dtype or back.shape != before.shape:
                        raise ValueError("The tensor returned by parametrization.right_inverse must have the dtype and shape "
                                         f"of {tensor_name}: {back.dtype} {back.shape}")
        plist.append(parametrization)
        plist.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        plist = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = plist
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def is_parametrized(module, tensor_name=None):
    """Whether a module has parametrized tensors, or this one is.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> torch.nn.utils.parametrize.is_parametrized(layer, 'weight'), torch.nn.utils.parametrize.is_parametrized(layer, 'bias')
    (True, False)
    """
    lists = getattr(module, "parametrizations", None)
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Undo `register_parametrization`: keep the computed tensor as the parameter, or go back to the original one.

    ValueError when the tensor is not parametrized, or came from several and `leave_parametrized=False`.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> sorted(name for name, _ in torch.nn.utils.parametrize.remove_parametrizations(layer, 'weight').named_parameters())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    plist = module.parametrizations[tensor_name]
    if plist.is_tensor:
        original = plist.original
        if leave_parametrized:
            with ft.no_grad():
                value = getattr(module, tensor_name)
                original.data = value.detach().clone()
    else:
        if not leave_parametrized:
            raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                             "terms of a sequence of tensors.")
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _put(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class that a module had before it was parametrized.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> type(layer).__name__, torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give another module the parametrizations and tensors of this one; returns `to_module`.

    All of them, or those of `tensor_name`; AssertionError where there are none to give.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> other = torch.nn.utils.parametrize.transfer_parametrizations_and_params(layer, nn.Linear(2, 3))
    >>> torch.equal(other.weight, layer.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        plist = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for m in plist:
            register_parametrization(to_module, name, deepcopy(m), unsafe=plist.unsafe)
        mine = to_module.parametrizations[name]
        if plist.is_tensor:
            mine.original.data = plist.original.detach().clone()
        else:
            for i in range(plist.ntensors):
                getattr(mine, f"original{i}").data = getattr(plist, f"original{i}").detach().clone()
    return to_module
