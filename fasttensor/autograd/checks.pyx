# cython: language_level=3, boundscheck=False, wraparound=False
"""Checks of arguments that most public functions begin with; compiled, since a small operation costs little more than them."""
from cpython.long cimport PyLong_AsLongAndOverflow
from fasttensor._core.dtype cimport INT32, INT64
from fasttensor._core.tensor cimport Tensor
from fasttensor._core.tensor import description


cdef bint place(object dim, Py_ssize_t n, Py_ssize_t *found) except -1:
    """A plain int within -n .. n - 1 counted from the front; False for everything that deserves a closer look."""
    cdef int beyond = 0
    cdef Py_ssize_t d
    if type(dim) is not int:
        return False
    d = PyLong_AsLongAndOverflow(dim, &beyond)
    if beyond or not -n <= d < n:
        return False
    found[0] = d + n if d < 0 else d
    return True


def int_of(value, name, argument, position=None):
    """A Python int from what Python takes as an index; True is a slip, as is a tensor with several elements."""
    cdef int beyond = 0
    if type(value) is not int and type(value) is not bool and hasattr(value, "__index__"):
        try:
            value = value.__index__()
        except TypeError:
            pass
    if type(value) is int:
        PyLong_AsLongAndOverflow(value, &beyond)
        if beyond:
            raise ValueError(f"{name}(): argument '{argument}' overflows 64 bits: {value} (Overflow when unpacking long long)")
        return value
    where = f" (position {position})" if position else ""
    raise TypeError(f"{name}(): argument '{argument}'{where} must be int, not {type(value).__name__}")


cpdef object later_bools(object items):
    """A sequence of ints with bools behind the first item as the numbers 0 and 1: PyTorch looks at the type of the first alone."""
    for item in items:
        if item is True or item is False:
            return [int(item) if place and type(item) is bool else item for place, item in enumerate(items)]
    return items


cdef Py_ssize_t integer(object value, str name, str argument) except? -1:
    """The same for a C integer."""
    cdef int beyond = 0
    cdef Py_ssize_t n
    if type(value) is int:
        n = PyLong_AsLongAndOverflow(value, &beyond)
        if not beyond:
            return n
    return int_of(value, name, argument)


cdef object named_dim(str name, object dim, object axis):
    """What was given as `dim` or, by NumPy's name, as `axis`; TypeError for both."""
    if axis is None:
        return dim
    if dim is not None:
        raise TypeError(f"{name}() got both 'dim' and 'axis', which mean the same: leave one out")
    return axis


cdef double number(object value, str name, str argument) except? -1:
    """A real number from a Python or numpy number or a tensor without dimensions."""
    if type(value) is float or type(value) is int:
        return value
    if type(value) is complex:
        raise RuntimeError(f"{name}(): For non-complex input tensors, argument {argument} must not be a complex number, got {value}")
    if not hasattr(value, "__float__") or getattr(value, "ndim", 0):
        raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")
    return float(value)


def real_number(value, name, argument):
    """A Python float from a real number, or TypeError."""
    return number(value, name, argument)


def wrap_dim(dim, Py_ssize_t ndim, name):
    """A dimension number as 0 <= dim < ndim; IndexError outside -ndim .. ndim - 1. A 0-d tensor has dimension 0."""
    cdef Py_ssize_t n = ndim if ndim else 1, found
    if place(dim, n, &found):
        return found
    d = dim if type(dim) is int else int_of(dim, name, "dim")
    if not -n <= d < n:
        raise IndexError(f"{name}: Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d + n if d < 0 else d


def wrap(Tensor x not None, dim, name):
    """One dimension counted from the front; a 0-d tensor accepts 0 and -1."""
    return wrap_dim(dim, x.rank, name)


def wrap_of(Tensor x not None, dim, name):
    """As ``wrap``; the error describes the tensor."""
    cdef Py_ssize_t n = x.rank if x.rank else 1, found
    if place(dim, n, &found):
        return found
    d = dim if type(dim) is int else int_of(dim, name, "dim")
    if not -n <= d < n:
        raise IndexError(f"{name}(): Dimension out of range (expected to be in range of [{-n}, {n - 1}], "
                         f"but got {d}) for {description(x)}")
    return d + n if d < 0 else d


def flag(name, argument, value):
    """TypeError for a switch that is no bool: x.sum(0, 1) is a slip for x.sum((0, 1))."""
    if value is not False and value is not True and type(value).__name__ not in ("bool", "bool_"):       # numpy's
        raise TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}")


def tensor_argument(name, x, keepdim=False):
    """x, or TypeError where it is no Tensor, or keepdim no bool."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    if keepdim is not False and keepdim is not True:
        flag(name, "keepdim", keepdim)
    return x


def need_tensor(x, name, argument="input", position=1):
    """x, or TypeError where it is no Tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(x).__name__}")
    return x


def optional_tensor(x, name, argument="input", position=1):
    """TypeError for what is neither None nor a Tensor."""
    if x is not None and not isinstance(x, Tensor):
        need_tensor(x, name, argument, position)


def check_channels(name, Py_ssize_t channels, **given):
    """Raise for what is neither None nor a vector with one element a channel."""
    for key, value in given.items():
        if value is None:
            continue
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}(): argument '{key}' must be Tensor, not {type(value).__name__}")
        if (<Tensor>value).rank != 1 or (<Tensor>value).sizes[0] != channels:
            raise RuntimeError(f"{name}(): {key} should contain {channels} elements, got {description(value)}")


def check_tensor(name, *values):
    """Raise TypeError for what is not a Tensor."""
    for position, value in enumerate(values, 1):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}(): argument {position} must be Tensor, not {type(value).__name__}")


def check_vector(index, name):
    """index, or an error where it is no vector (or 0-d tensor) of int32 or int64."""
    need_tensor(index, name, "index", 3)
    if (<Tensor>index).rank > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, got {description(index)}")
    if (<Tensor>index).code != INT64 and (<Tensor>index).code != INT32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {description(index)}")
    return index


def index_select_dim(x, dim, index):
    """The dimension of an index_select, after the checks of its arguments."""
    need_tensor(x, "index_select")
    dim = wrap_of(x, dim, "index_select")
    check_vector(index, "index_select")
    if (<Tensor>x).rank == 0 and (<Tensor>index).count != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    return dim


def topk_arguments(x, k, dim):
    """(k, dim) of a topk after its checks; a tensor without dimensions has one element and k 1."""
    cdef Py_ssize_t size
    k = int_of(k, "topk", "k", 2)
    need_tensor(x, "topk")
    dim = wrap_of(x, dim, "topk")
    size = (<Tensor>x).sizes[<Py_ssize_t>dim] if (<Tensor>x).rank else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"topk(): selected index k out of range: k = {k}, size {size} along dimension {dim} of {description(x)}")
    return (k if (<Tensor>x).rank else 1), dim
