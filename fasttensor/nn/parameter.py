"""Tensors that modules treat as their own: parameters, buffers, and ones without a shape yet."""
from collections import OrderedDict

import fasttensor as ft
from fasttensor import Tensor
from fasttensor._C import _disabled_torch_function_impl


class _ParameterMeta(type(Tensor)):
    def __instancecheck__(cls, value):
        # A custom Tensor subclass stays itself when it becomes a parameter, and is marked.
        return type.__instancecheck__(cls, value) or (
            cls is Parameter and isinstance(value, Tensor) and getattr(value, "_is_param", False))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A Tensor that a Module lists among its `parameters()` once it is set as an attribute.

    Args: `data` (Tensor, any floating dtype), `requires_grad` (default True).

    >>> p = nn.Parameter(torch.zeros(2, 3))
    >>> p.requires_grad, p.is_leaf
    (True, True)
    """
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = ft.empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, not {type(data).__name__}; try nn.Parameter(tensor(data))")
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
                               f"detach() returns an instance of the same type, but it returned {type(t).__name__}")
        t._is_param = True
        return t

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto):
        state = {k: v for k, v in self.__dict__.items() if not k.startswith("_")}
        if state:
            return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), state)
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    p = Parameter(data, requires_grad)
    p.__dict__.update(state)
    return p


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, value):
        if cls is Buffer:
            return isinstance(value, Tensor) and getattr(value, "_is_buffer", False)
        return type.__instancecheck__(cls, value)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A Tensor that a Module registers as a buffer once it is set as an attribute.

    Args: `data`; `persistent` (default True): whether `state_dict()` holds it.

    >>> m = nn.Module()
    >>> m.mean = nn.Buffer(torch.zeros(3))
    >>> list(m.state_dict())
    ['mean']
    """
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = ft.empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


class UninitializedTensorMixin:
    """What a parameter or buffer is before its shape is known: materialize() gives it one."""
    __torch_function__ = _disabled_torch_function_impl

    def materialize(self, shape, device=None, dtype=None):
        """Give it memory of `shape`; the values are not set."""
        with ft.no_grad():
            self.data = ft.empty(shape, device=device if device is not None else self.data.device,
                                 dtype=dtype if dtype is not None else self.data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually "
                           "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
                           "initialized one. Call `forward` to initialize the parameters before accessing their "
                           "attributes.")

    def share_memory_(self):
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
                           "initialize the parameters before calling `module.share_memory()`.")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto):
        return type(self), (self.requires_grad,)


    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name[0] == "_" or name in _ALLOWED or not callable(found):
            return found
        return _refusal(name).__get__(self)


# What moves, converts, loads or asks for the kind of a tensor: modules that are not yet initialized are moved and loaded.
_ALLOWED = frozenset(
    "materialize share_memory_ size copy_ is_complex is_floating_point half bfloat16 float double char short int long cuda cpu xpu ipu to get_device"
    " requires_grad_ cls_to_become".split())


def _refusal(name):
    def refuse(self, *args, **kwargs):
        raise ValueError(f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` or explicitly"
                         f" manipulating {type(self).__name__} objects. When using LazyModules, call `forward` with a dummy batch to initialize the"
                         " parameters before calling their methods")
    refuse.__name__ = name
    return refuse


for _name in ("__add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__ __itruediv__ __matmul__ __rmatmul__"
              " __pow__ __rpow__ __neg__ __abs__ __lt__ __le__ __gt__ __ge__ __getitem__ __setitem__ __len__ __iter__ __float__ __int__ __bool__"
              " __array__").split():
    setattr(UninitializedTensorMixin, _name, _refusal(_name))


def is_lazy(value):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(value, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first call of its lazy module decides.

    >>> p = nn.parameter.UninitializedParameter()
    >>> p.materialize((2, 3)); p.shape
    torch.Size([2, 3])
    """
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Tensor._make_subclass(cls, ft.empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class _MaterializedBuffer(Tensor):
    # Objects of Python classes cannot turn into the compiled Tensor class itself.
    __torch_function__ = _disabled_torch_function_impl


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first call of its lazy module decides; ``materialize(shape)`` gives it memory.

    >>> from fasttensor.nn.parameter import UninitializedBuffer, is_lazy
    >>> is_lazy(UninitializedBuffer())
    True
    """
    cls_to_become = _MaterializedBuffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        t = Tensor._make_subclass(cls, ft.empty(0, device=device, dtype=dtype), requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        pass
