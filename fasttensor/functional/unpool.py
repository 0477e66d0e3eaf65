"""Power-mean pooling, fractional pooling, and max pooling undone."""
import math

from fasttensor._core.tensor import description
from fasttensor.autograd.checks import need_tensor, optional_tensor
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.pool import FractionalMaxPool2d, FractionalMaxPool3d, MaxUnpool
from fasttensor.functional.common import check_tensor
from fasttensor.functional.conv import spread
from fasttensor.functional.pool import avg_pool, check

__all__ = []
NN_FUNCTIONAL = ["lp_pool1d", "lp_pool2d", "lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
                 "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
                 "fractional_max_pool3d", "fractional_max_pool3d_with_indices"]
METHODS = {}
FRACTIONAL_RULES = {2: FractionalMaxPool2d, 3: FractionalMaxPool3d}


def lp_pool(name, nd, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = spread(kernel_size, nd, name, "kernel_size")
    means = avg_pool(name, nd, input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None)
    return (means.sign() * means.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** p) ** (1 / p)`` over windows of signals, p = `norm_type`.

    Shape (N, C, L) or (C, L) to as many windows as :func:`avg_pool1d` has. dtypes: floating point. Raises RuntimeError where windows do not fit.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3., 4.]]), 2, 2)
    tensor([[5.]])
    """
    return lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** p) ** (1 / p)`` over windows of images, p = `norm_type`.

    Shape (N, C, H, W) or (C, H, W) to as many windows as :func:`avg_pool2d` has. dtypes: floating point. Raises RuntimeError where windows do not fit.

    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 2), 2, 2).item()
    2.0
    """
    return lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** p) ** (1 / p)`` over windows of volumes, p = `norm_type`.

    Shape (N, C, D, H, W) or (C, D, H, W) to as many windows as :func:`avg_pool3d` has. dtypes: floating point. RuntimeError where windows do not fit.

    >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 2), 1, 2).item()
    8.0
    """
    return lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


def max_unpool(name, nd, input, indices, kernel_size, stride, padding, output_size):
    if input.dim() not in (nd + 1, nd + 2):
        raise RuntimeError(f"{name}: expected {nd + 1}D or {nd + 2}D input, but got {description(input)}")
    if indices.dtype.name != "int64":
        raise RuntimeError(f"{name}: elements in indices should be type int64 but got {description(indices)}")
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(f"{name}: expected shape of indices to be same as that of the input tensor, but got {description(indices)} and {description(input)}")
    lead = input.dim() - nd
    if 0 in input.shape[1:]:
        raise RuntimeError(f"{name}: expected input to have non-zero size for non-batch dimensions, but got {description(input)}")
    kernel = spread(kernel_size, nd, name, "kernel_size")
    stride = spread(stride, nd, name, "stride") if stride is not None else kernel
    padding = spread(padding, nd, name, "padding")
    if min(stride) <= 0:
        raise RuntimeError(f"{name}: strides should be greater than zero, but got stride: {stride}")
    default = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[lead:], stride, kernel, padding)]
    if output_size is None:
        sizes = default
    else:
        sizes = list(output_size)[-nd:] if len(output_size) == nd + 2 else list(output_size)
        if len(sizes) != nd:
            raise ValueError(f"{name}: output_size should be a sequence containing {nd} or {nd + 2} elements, but it has a length of {len(output_size)}")
        for got, usual, s in zip(sizes, default, stride):
            if not usual - s < got < usual + s:
                raise ValueError(f"{name}: invalid output_size {sizes}: each must be within a stride of {default}")
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: the output size {sizes} is negative")
    return apply(MaxUnpool, input, indices, tuple(sizes))


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts the values of :func:`max_pool1d` back at their indices, zeros elsewhere.

    Raises RuntimeError for an index outside of the output.

    Shape (N, C, L) or (C, L), input and int64 indices alike, to what was pooled, or `output_size`. dtypes: any number's.

    >>> torch.nn.functional.max_unpool1d(torch.tensor([[3.]]), torch.tensor([[1]]), 2)
    tensor([[0., 3.]])
    """
    check_tensor("max_unpool1d", input, indices)
    return max_unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts the values of :func:`max_pool2d` back at their indices, zeros elsewhere.

    Raises RuntimeError for an index outside of the output.

    Shape (N, C, H, W) or (C, H, W), input and int64 indices alike, to what was pooled, or `output_size`. dtypes: any number's.

    >>> torch.nn.functional.max_unpool2d(torch.tensor([[[3.]]]), torch.tensor([[[1]]]), 2)
    tensor([[[0., 3.],
             [0., 0.]]])
    """
    need_tensor(input, "max_unpool2d", "input", 1)
    need_tensor(indices, "max_unpool2d", "indices", 2)
    return max_unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts the values of :func:`max_pool3d` back at their indices, zeros elsewhere.

    Raises RuntimeError for an index outside of the output.

    Shape (N, C, D, H, W) or (C, D, H, W), input and int64 indices alike, to what was pooled, or `output_size`. dtypes: any number's.

    >>> torch.nn.functional.max_unpool3d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1, dtype=torch.int64), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    need_tensor(input, "max_unpool3d", "input", 1)
    need_tensor(indices, "max_unpool3d", "indices", 2)
    return max_unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


def fractional(name, nd, input, kernel_size, output_size, output_ratio, samples):
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    check(name, nd, input)
    kernel, lead = spread(kernel_size, nd, name, "kernel_size"), input.dim() - nd
    sizes = list(input.shape[lead:])
    if output_size is None:
        ratios = (output_ratio,) * nd if isinstance(output_ratio, float) else tuple(output_ratio)
        if any(not 0 < r < 1 for r in ratios):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1 (got {ratios})")
        output_size = tuple(int(s * r) for s, r in zip(sizes, ratios))
    out = spread(output_size, nd, name, "output_size")
    for s, k, n in zip(sizes, kernel, out):
        if n < 1 or k < 1 or n + k - 1 > s:
            raise RuntimeError(f"{name}: pool size {kernel} and output size {out} are too large relative to the input {description(input)}")
    if samples is None:
        from fasttensor.functional.random import rand
        samples = rand(math.prod(input.shape[:lead]), nd, dtype=input.dtype, device=input.device)
    elif samples.dim() != 3 or samples.shape[1] != input.shape[lead - 1] or samples.shape[2] != nd or (lead == 2 and samples.shape[0] != input.shape[0]):
        raise RuntimeError(f"{name}: expected _random_samples [N, C, {nd}] for input {description(input)}, got {description(samples)}")
    return apply(FRACTIONAL_RULES[nd], input, samples.reshape(-1, nd), tuple(kernel), tuple(out))


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """:func:`fractional_max_pool2d` with the flat position of each value in its plane: (values, indices).

    >>> values, indices = F.fractional_max_pool2d_with_indices(torch.ones(1, 5, 5), 2, output_size=3)
    >>> values.shape, indices.dtype
    (torch.Size([1, 3, 3]), torch.int64)
    """
    return fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """:func:`fractional_max_pool3d` with the flat position of each value in its volume: (values, indices).

    >>> values, indices = F.fractional_max_pool3d_with_indices(torch.ones(1, 5, 5, 5), 2, output_size=3)
    >>> values.shape, indices.dtype
    (torch.Size([1, 3, 3, 3]), torch.int64)
    """
    return fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Largest values of randomly placed windows, `output_size` of them or `output_ratio` times the extent.

    Raises ValueError without a size, RuntimeError where the windows do not fit.

    Shape (N, C, H, W) or (C, H, W) to (..., *output_size); floating point. Source: Graham, arXiv 1412.6071.

    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 5, 5), 2, output_size=3).shape
    torch.Size([1, 3, 3])
    """
    optional_tensor(_random_samples, "fractional_max_pool2d", "_random_samples", 6)
    values, indices = fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, indices) if return_indices else values


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Largest values of randomly placed windows of volumes; see :func:`fractional_max_pool2d`.

    Shape (N, C, D, H, W) or (C, D, H, W) to (..., *output_size); floating point. Source: Graham, arXiv 1412.6071.

    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 5, 5, 5), 2, output_size=3).shape
    torch.Size([1, 3, 3, 3])
    """
    values, indices = fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return (values, indices) if return_indices else values
