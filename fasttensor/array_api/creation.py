"""Functions that make arrays."""
import fasttensor as torch
from fasttensor import Tensor

from .data_types import promoted

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like",
           "tril", "triu", "zeros", "zeros_like"]


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array from numbers, nested sequences, arrays of other libraries, or buffers.

    ``copy=False`` raises ValueError where a copy is needed.

    >>> asarray([1, 2])
    tensor([1, 2])
    """
    if copy is False:
        if isinstance(obj, (bool, int, float, complex, list, tuple)):
            raise ValueError(f"asarray: a {type(obj).__name__} cannot become an array without a copy: leave copy=False out")
        if isinstance(obj, Tensor) and (dtype not in (None, obj.dtype) or device is not None and torch.device(device) != obj.device):
            raise ValueError(f"asarray: {obj.dtype} on {obj.device} cannot become {dtype} on {device} without a copy")
    if isinstance(obj, (list, tuple)) and any(isinstance(v, Tensor) for v in obj):
        obj = torch.stack(promoted(*obj)) if all(isinstance(v, Tensor) for v in obj) else [v.item() if isinstance(v, Tensor) else v for v in obj]
        copy = None
    if copy is not False and any(step < 0 for step in getattr(obj, "strides", None) or ()):
        obj = obj.copy()        # a reversed view, which is no tensor's memory
    return torch.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array over the memory of another library's."""
    return torch.from_dlpack(x, device=device, copy=copy)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step ... below stop; from 0 where only one number is given. Empty where the step leads away."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if dtype is None:
        dtype = torch.int64 if all(isinstance(v, int) for v in (start, stop, step)) else torch.get_default_dtype()
    if (stop - start) / step <= 0:
        return torch.empty(0, dtype=dtype, device=device)
    return torch.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers from start to stop, which is left out with ``endpoint=False``."""
    if dtype is None:
        dtype = torch.get_default_dtype()
        if isinstance(start, complex) or isinstance(stop, complex):
            dtype = torch.complex128 if dtype == torch.float64 else torch.complex64
    return torch.linspace(start, stop, num if endpoint else num + 1, dtype=dtype, device=device)[:num]


def empty(shape, *, dtype=None, device=None):
    """Memory of arbitrary values."""
    return torch.empty(shape, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """Zeros."""
    return torch.zeros(shape, dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """Ones."""
    return torch.ones(shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value."""
    return torch.full((shape,) if isinstance(shape, int) else tuple(shape), fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Memory of arbitrary values in an array's shape and dtype."""
    return torch.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in an array's shape and dtype."""
    return torch.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones in an array's shape and dtype."""
    return torch.ones_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value in an array's shape and dtype."""
    return torch.full_like(x, fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the k-th diagonal, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    made = torch.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        made.diagonal(k).fill_(1)
    return made


def meshgrid(*arrays, indexing="xy"):
    """Coordinate arrays of the grid of one-dimensional arrays."""
    if len({x.dtype for x in arrays}) > 1:
        raise ValueError(f"meshgrid: arrays must have one dtype, got {', '.join(str(x.dtype) for x in arrays)}")
    return tuple(torch.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def _on_diagonals(name, x, k):
    if x.ndim < 2:
        raise ValueError(f"{name}: expected an array of at least 2 dimensions, got shape {tuple(x.shape)}")
    k = max(-x.shape[-2] - 1, min(k, x.shape[-1] + 1))
    return torch.tril(x, k) if name == "tril" else torch.triu(x, k)


def tril(x, /, *, k=0):
    """The elements on and below the k-th diagonal of matrices, zeros above."""
    return _on_diagonals("tril", x, k)


def triu(x, /, *, k=0):
    """The elements on and above the k-th diagonal of matrices, zeros below."""
    return _on_diagonals("triu", x, k)


