"""Tensors of random values for tests: `make_tensor`."""
import math
import warnings

import fasttensor as torch

__all__ = ["make_tensor"]

DEFAULTS = {"bool": (0, 2), "uint8": (0, 10)}


def _limits(dtype, low, high):
    """The range of values, within what the dtype holds."""
    floating = dtype.is_floating_point or dtype.is_complex
    default = DEFAULTS.get(dtype.name, (-9, 9) if floating else (-9, 10))
    low, high = (d if given is None else given for given, d in zip((low, high), default))
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low == high and floating:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
                      "removed in 2.3. Use `torch.full(...)` instead.", FutureWarning, stacklevel=4)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if dtype is torch.bool:
        least, most = 0, 2
    elif floating:
        info = torch.finfo(dtype)
        least, most = info.min, info.max
    else:
        info = torch.iinfo(dtype)
        least, most = info.min, info.max + 1
    if high < least or low > most - (not floating):
        raise ValueError(f"The value interval specified by low={low} and high={high} lies outside of what {dtype} holds")
    low, high = min(max(low, least), most), min(max(high, least), most)
    return (low, high) if floating else (math.ceil(low), math.ceil(high))


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of values drawn uniformly from [low, high), by default [-9, 9], or [-9, 10) for integers.

    ``noncontiguous=True`` gives every second element of a larger one, ``exclude_zero=True`` replaces zeros by the smallest
    positive value. Raises ValueError for limits that leave nothing, or contradicting arguments.

    >>> import fasttensor as torch
    >>> torch.testing.make_tensor(3, dtype=torch.int64, device="cpu", low=2, high=3)
    tensor([2, 2, 2])
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    floating = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}")
    if requires_grad and not floating:
        raise ValueError(f"`requires_grad` must be False for boolean and integral dtypes, but got {requires_grad=}")
    low, high = _limits(dtype, low, high)
    noncontiguous = noncontiguous and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous else shape
    if floating:
        real = dtype.to_real() if dtype.is_complex else dtype
        # halves avoid overflow of high - low
        def draw():
            u = torch.rand(drawn, dtype=torch.float64)
            return ((high / 2 - low / 2) * u * 2 + low).clamp(low, high).to(real)
        made = torch.complex(draw(), draw()) if dtype.is_complex else draw()
    elif dtype is torch.bool:
        made = torch.randint(low, high, drawn) > 0
    else:
        made = torch.randint(low, high, drawn, dtype=dtype) if high <= 2 ** 63 - 1 else torch.randint(low, 2 ** 63 - 1, drawn, dtype=dtype)
    if exclude_zero:
        made[made == 0] = torch.finfo(dtype).tiny * (1 + 1j if dtype.is_complex else 1) if floating else 1
    if noncontiguous:
        made = made[..., ::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if device is not None:
        made = made.to(device)
    return made.requires_grad_() if requires_grad else made
