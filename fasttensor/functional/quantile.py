"""Order statistics: quantiles and the most frequent value."""

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.reduce import Pick, Select
from fasttensor.functional.common import need_out, refuse_shared
from fasttensor.functional.dims import deliver, flag, numpy_names, require_size, tensor_argument, wrap
from fasttensor.functional.results import RESULTS

__all__ = ["quantile", "nanquantile", "mode"]

ModeResult = RESULTS["mode"]
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def checked(name, input, q, interpolation, out):
    tensor_argument(name, input)
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty, got {description(input)}")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, got {description(input)}")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    need_out(name, out)
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError(f"{name}() out tensor must be same dtype as the input tensor, got {description(out)}")
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got {description(q)}")
        if q.dtype != input.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor, got {description(q)} for {description(input)}")
    else:
        q = input.new_tensor(float(q))
    if not q.is_meta:
        wrong = q.detach()[~((q.detach() >= 0) & (q.detach() <= 1))]
        if wrong.numel():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1], got {wrong.tolist()[0]}")
    return q


def compute(name, input, q, dim, keepdim, interpolation, out, skip_nan):
    flag(name, "keepdim", keepdim)
    q = checked(name, input, q, interpolation, out)
    d = 0 if dim is None else wrap(input, dim, name)
    x = input.reshape(-1) if dim is None or input.ndim == 0 else input
    n = x.size(d)
    ordered = x.sort(d)[0]                          # NaN comes last
    numbers = (x == x).sum(d, True)
    at = q.reshape([-1 if k == d else 1 for k in range(x.ndim)])
    if skip_nan:
        ranks = ((numbers - 1).to(x.dtype) * at).clamp(min=0)
    else:
        # a NaN anywhere takes every quantile
        ranks = ((n - 1) * at + numbers.to(x.dtype) * 0).masked_fill(numbers < n, n - 1)
    y = between(ordered, ranks, d, interpolation)
    # several quantiles of one place lie side by side, as in PyTorch
    y = y.movedim(d, -1).contiguous().movedim(-1, 0) if q.ndim else y.squeeze(d)
    if keepdim:
        y = y.reshape([*q.shape, *[1] * input.ndim]) if dim is None else y.unsqueeze(d + q.ndim) if input.ndim else y
    return deliver(name, out, y)


def between(ordered, rank, d, how):
    """The element of fractional rank."""
    if how == "lower":
        return apply(Pick, ordered, rank.detach().floor().long(), d)
    if how == "higher":
        return apply(Pick, ordered, rank.detach().ceil().long(), d)
    if how == "nearest":
        return apply(Pick, ordered, rank.detach().round().long(), d)
    plain = rank.detach()
    below = plain.floor()
    weight = rank - below if how == "linear" else (plain != below).to(rank.dtype) * 0.5
    low, high = apply(Pick, ordered, below.long(), d), apply(Pick, ordered, plain.ceil().long(), d)
    return low.lerp(high, weight)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None, **names):
    """The q-th quantiles of input, flattened or along `dim`; several q add a leading dimension. NaN spreads.

    `q`: a number, or a 0-d or 1-d tensor of input's dtype, from 0 to 1; `interpolation`: "linear", "lower", "higher", "nearest" or "midpoint".
    dtypes: float32 and float64. Raises RuntimeError for other dtypes, for q outside of [0, 1] and for an empty input.

    >>> torch.quantile(torch.tensor([1.0, 2.0, 4.0]), 0.25)
    tensor(1.5000)
    """
    if names:
        dim, keepdim = numpy_names("quantile", names, dim, keepdim)
    return compute("quantile", input, q, dim, keepdim, interpolation, out, False)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None, **names):
    """``quantile`` of what is not NaN.

    Arguments, shapes, dtypes and errors are those of :func:`quantile`; of a row of NaN alone it is NaN.

    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    if names:
        dim, keepdim = numpy_names("nanquantile", names, dim, keepdim)
    return compute("nanquantile", input, q, dim, keepdim, interpolation, out, True)


def mode(input, dim=-1, keepdim=False, *, out=None, **names):
    """(values, indices) of the most frequent value along `dim`, the smallest of equally frequent ones.

    Shape: `dim` dropped, or with keepdim of size 1; indices are int64. Any real dtype. IndexError for a dimension out of range.

    >>> torch.mode(torch.tensor([3, 1, 3, 2])).values
    tensor(3)
    """
    if names:
        dim, keepdim = numpy_names("mode", names, dim, keepdim, -1)
    flag("mode", "keepdim", keepdim)
    tensor_argument("mode", input)
    if input.dtype.is_complex:
        raise NotImplementedError(f"mode(): not implemented for complex dtypes, got {description(input)}")
    if out is not None:
        refuse_shared("mode", out, (input,), True)
    d = wrap(input, dim, "mode")
    require_size(input, (d,) if input.ndim else None, "mode")
    values, indices = backend(input).mode(input, d, keepdim)
    if needs_history(input):
        values = apply(Select, input, indices, d, keepdim)
    return deliver("mode", out, ModeResult(values, indices), True)


METHODS = {"quantile": quantile, "nanquantile": nanquantile, "mode": mode}
