"""`torch.ops`: operators by their names in PyTorch's operator library, and PyTorch's own functions given our tensors.

>>> import fasttensor as torch
>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

import functools
from importlib import import_module

from fasttensor._core.dispatch import call_hook, is_armed
from fasttensor._core.tensor import Tensor

# Where a name is looked for, after the prefix that PyTorch's library gives the functions of that namespace.
PLACES = (("", "fasttensor"), ("", "fasttensor.nn.functional"), ("linalg_", "fasttensor.linalg"), ("fft_", "fasttensor.fft"),
          ("special_", "fasttensor.special"))


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    kept = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(self.device if device is None else device, self.dtype if dtype is None else dtype, non_blocking, True, **kept)


def _slice(self, dim=0, start=None, end=None, step=1):
    index = [slice(None)] * self.ndim
    index[dim] = slice(start, end, step)
    return self[tuple(index)]


def _index(self, indices):
    return self[tuple(slice(None) if i is None else i for i in indices)]


def _convolution(*args):
    return import_module("fasttensor").convolution(*args[:9])       # after these come switches of PyTorch's backends


def _sparse(*args, **kwargs):
    raise NotImplementedError("torch.ops.aten: there are no sparse tensors here: use dense ones, index_add or scatter_reduce")


def _nll_loss_forward(self, target, weight, reduction, ignore_index):
    torch = import_module("fasttensor")
    loss = torch.nn.functional.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=("none", "mean", "sum")[reduction])
    kept = target != ignore_index
    return loss, kept.sum().to(self.dtype) if weight is None else weight[target[kept]].sum()


def _attention(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    torch = import_module("fasttensor")
    out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    return out, torch.empty(query.shape[:-1], dtype=torch.float32)


# What has no public name of its own.
PRIVATE = {"_to_copy": _to_copy, "slice": _slice, "index": _index, "_convolution": _convolution, "alias": lambda self: self.view_as(self),
           "_pin_memory": lambda self, device=None: self.pin_memory(), "_sparse_addmm": _sparse, "_sparse_mm_reduce_impl": _sparse,
           "_softmax": lambda self, dim, half_to_float: self.softmax(dim),
           "_log_softmax": lambda self, dim, half_to_float: self.log_softmax(dim), "_unsafe_view": lambda self, size: self.reshape(size),
           "nll_loss_forward": _nll_loss_forward, "nll_loss2d_forward": _nll_loss_forward, "_local_scalar_dense": lambda self: self.item(),
           "lift_fresh": lambda self: self, "_scaled_dot_product_flash_attention_for_cpu": _attention,
           "rsub": lambda self, other, alpha=1: import_module("fasttensor").rsub(self, other, alpha=alpha)}


def find(name, method=False):
    """The function, or the method of Tensor, that goes by a name; AttributeError where there is none."""
    if name in PRIVATE and not method:
        return PRIVATE[name]
    if not method:
        for prefix, place in PLACES:
            if name.startswith(prefix):
                function = getattr(import_module(place), name.removeprefix(prefix), None)
                if callable(function) and not isinstance(function, type):
                    return function
    function = getattr(Tensor, name, None)
    if function is None or name.startswith("__") and not method:
        raise AttributeError(f"torch.ops.aten: no operator {name!r}")
    return function


class OpOverloadPacket:
    """An operator by its name, with its overloads as attributes: ``torch.ops.aten.add``. A call is a call of the one that fits."""

    def __init__(self, namespace, name, function, overloads=None):
        self.__name__, self._namespace, self._function, self._overloads = name, namespace, function, overloads
        self._qualified_op_name = f"{namespace}::{name}"
        self.__doc__ = function.__doc__
        self.__module__ = f"torch.ops.{namespace}"

    def __call__(self, *args, **kwargs):
        return self.default_of(args)(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("_") or self.__dict__.get("_overloads") is not None and overload not in self._overloads:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        made = OpOverload(self, overload, self._function)
        setattr(self, overload, made)
        return made

    def default_of(self, args=()):
        """The overload for these arguments, by PyTorch's names."""
        return getattr(self, overload_for(self.__name__, args) if self._overloads is None else self._overloads[0])

    @property
    def op(self):
        return self

    def overloads(self):
        """The names of the overloads that have been used."""
        return list(self._overloads or [name for name, value in vars(self).items() if isinstance(value, OpOverload)])

    def __reduce__(self):
        return _find_operator, (self._namespace, self.__name__)

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"


class OpOverload:
    """One overload of an operator, as ``__torch_dispatch__`` is given it: ``torch.ops.aten.add.Tensor``."""

    for_gradients = False       # whether it computes gradients, which nobody records

    def __init__(self, packet, overload, function):
        self.overloadpacket, self._overloadname, self._function = packet, overload, function
        self.__name__, self.namespace = f"{packet.__name__}.{overload}", packet._namespace
        self.__doc__, self.__module__ = function.__doc__, packet.__module__

    def __call__(self, *args, **kwargs):
        return call_hook("dispatch_operator", self, args, kwargs) if is_armed() else self._function(*args, **kwargs)

    @property
    def op(self):
        return self

    def name(self):
        """aten::add.Tensor."""
        return self.overloadpacket._qualified_op_name + ("" if self._overloadname == "default" else "." + self._overloadname)

    @property
    def is_view(self):
        return self.overloadpacket.__name__ in VIEWS

    @property
    def tags(self):
        return []

    @functools.cached_property
    def _schema(self):
        from fasttensor.library import schema_of
        return schema_of(self)

    def decompose(self, *args, **kwargs):
        """NotImplemented: an operator here is not made of others."""
        return NotImplemented

    def has_kernel_for_dispatch_key(self, key):
        """Whether there is a kernel for the CPU or meta tensors."""
        return str(key).rpartition(".")[2] in ("CPU", "Meta", "Autograd", "CompositeExplicitAutograd")

    def __reduce__(self):
        return getattr, (self.overloadpacket, self._overloadname)

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.overloadpacket}.{self._overloadname}"


def overload_for(name, args):
    """PyTorch's name of the overload that takes these arguments."""
    base = name[:-1] if name[-1] == "_" and name[:2] != "__" else name
    if base in BINARY:
        return "Tensor"
    if base in BY_OTHER:
        return "Tensor" if len(args) > 1 and isinstance(args[1], Tensor) else "Scalar"
    if base == "pow":
        return ("Scalar" if not isinstance(args[0], Tensor) else "Tensor_Tensor" if isinstance(args[1], Tensor) else "Tensor_Scalar") if args else "default"
    if base in DIMS:
        given = args[1] if len(args) > 1 else None
        return "default" if given is None else "other" if isinstance(given, Tensor) else DIMS[base]
    return FIXED.get(base, "default")


BINARY = frozenset("add sub mul div bitwise_and bitwise_or bitwise_xor copysign xlogy".split())
BY_OTHER = frozenset("eq ne lt le gt ge remainder fmod rsub".split())
DIMS = {"sum": "dim_IntList", "mean": "dim", "max": "dim", "min": "dim", "squeeze": "dim", "prod": "dim_int", "all": "dim", "any": "dim"}
FIXED = {"transpose": "int", "select": "int", "slice": "Tensor", "split": "Tensor", "index": "Tensor", "unbind": "int", "where": "self",
         "var": "correction", "std": "correction", "masked_fill": "Scalar", "fill": "Scalar", "empty": "memory_format", "normal": "Tensor",
         "scatter": "src", "native_dropout": "default", "bernoulli": "default", "lerp": "Scalar"}
VIEWS = frozenset("view t transpose permute expand select slice squeeze unsqueeze detach alias as_strided diagonal split split_with_sizes"
                  " unbind unfold view_as_real view_as_complex".split())


def _find_operator(namespace, name):
    return getattr(Namespace.named(namespace), name)


class Namespace:
    """The operators of one library: `torch.ops.aten`."""
    known = {}

    def __init__(self, name):
        self.name = name

    @classmethod
    def named(cls, name):
        """The namespace of a library, one object for each name."""
        return cls.known.setdefault(name, cls(name))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.name in ("aten", "prims"):
            packet = OpOverloadPacket(self.name, name, find(name))
        else:
            from fasttensor import library
            packet = library.packet_of(self.name, name)
        setattr(self, name, packet)
        return packet

    def __repr__(self):
        return f"<torch.ops.{self.name}>"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Namespace.named(name)


aten = Namespace.named("aten")


def load_library(path):
    """OSError: a library of compiled operators for PyTorch cannot be used here. Callers take it as not installed."""
    raise OSError(f"torch.ops.load_library: {path}: operators compiled for PyTorch cannot be loaded; torch.library.custom_op defines some in Python")
