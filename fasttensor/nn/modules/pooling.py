"""Maximum, average and power-average pooling; the adaptive ones are in adaptive_pooling.py."""
from .. import functional as F
from ..module import Module
from .utils import _pair, _single, _triple


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _pool(self, pool, input):
        return pool(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                    return_indices=self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of (N, C, L) or (C, L).

    >>> nn.MaxPool1d(3, stride=2)(torch.randn(20, 16, 50)).shape
    torch.Size([20, 16, 24])
    """

    def forward(self, input):
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of (N, C, H, W) or (C, H, W).

    >>> nn.MaxPool2d(2)(torch.randn(2, 3, 8, 8)).shape
    torch.Size([2, 3, 4, 4])
    """

    def forward(self, input):
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W).

    Sizes are numbers or (D, H, W); padding counts as -inf. With `return_indices` also where each maximum is, int64. RuntimeError
    where padding exceeds half the kernel.

    >>> nn.MaxPool3d(2)(torch.arange(8.).reshape(1, 2, 2, 2))
    tensor([[[[7.]]]])
    """

    def forward(self, input):
        return self._pool(F.max_pool3d, input)


class _MaxUnpoolNd(Module):
    _to_tuple = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        spread = type(self)._to_tuple
        self.kernel_size = spread(kernel_size)
        self.stride = spread(stride if stride is not None else kernel_size)
        self.padding = spread(padding)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where MaxPool1d's indices say, zeros elsewhere.

    >>> pool, unpool = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
    >>> unpool(*pool(torch.tensor([[[1., 2., 4., 3.]]])))
    tensor([[[0., 2., 4., 0.]]])
    """
    _to_tuple = staticmethod(_single)

    def forward(self, input, indices, output_size=None):
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where MaxPool2d's indices say.

    Zeros elsewhere; input and indices (N, C, H, W) or (C, H, W). `output_size` of the call settles sizes that a stride leaves open.
    RuntimeError for an index outside the result.

    >>> pool, unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
    >>> unpool(*pool(torch.tensor([[[1., 2.], [4., 3.]]])))
    tensor([[[0., 0.],
             [4., 0.]]])
    """
    _to_tuple = staticmethod(_pair)

    def forward(self, input, indices, output_size=None):
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where MaxPool3d's indices say.

    Zeros elsewhere; input and indices (N, C, D, H, W) or (C, D, H, W). RuntimeError for an index outside the result.

    >>> pool, unpool = nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)
    >>> unpool(*pool(torch.randn(1, 1, 4, 4, 4))).shape
    torch.Size([1, 1, 4, 4, 4])
    """
    _to_tuple = staticmethod(_triple)

    def forward(self, input, indices, output_size=None):
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (N, C, L) or (C, L).

    >>> nn.AvgPool1d(3, stride=2)(torch.tensor([[[1., 2, 3, 4, 5, 6, 7]]]))
    tensor([[[2., 4., 6.]]])
    """

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolDivisor(_AvgPoolNd):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _pool(self, pool, input):
        return pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                    self.divisor_override)


class AvgPool2d(_AvgPoolDivisor):
    """The mean of each window of (N, C, H, W) or (C, H, W).

    >>> nn.AvgPool2d(2)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])
    """

    def forward(self, input):
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolDivisor):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    Sizes are numbers or (D, H, W); each size becomes floor((size + 2 padding - kernel) / stride) + 1, or its ceiling with
    `ceil_mode`. RuntimeError where padding exceeds half the kernel.

    >>> nn.AvgPool3d(2)(torch.ones(1, 1, 2, 2, 4))
    tensor([[[[[1., 1.]]]]])
    """

    def forward(self, input):
        return self._pool(F.avg_pool3d, input)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def _pool(self, pool, input):
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPoolNd):
    """(sum of x^p)^(1/p) of each window of (N, C, L) or (C, L).

    >>> nn.LPPool1d(2, 2)(torch.tensor([[[3., 4.]]])).round()
    tensor([[[5.]]])
    """

    def forward(self, input):
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """(sum of x^p)^(1/p) of each window of (N, C, H, W) or (C, H, W).

    p is `norm_type`; the sum is over x^p itself, so odd p want inputs of one sign.

    >>> nn.LPPool2d(2, 2)(torch.tensor([[[3., 4.], [0., 0.]]]))
    tensor([[[5.]]])
    """

    def forward(self, input):
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """(sum of x^p)^(1/p) of each window of (N, C, D, H, W) or (C, D, H, W).

    p is `norm_type`; the sum is over x^p itself, so odd p want inputs of one sign.

    >>> nn.LPPool3d(2, 2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input):
        return self._pool(F.lp_pool3d, input)


class _FractionalMaxPool(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _n = 0

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        spread = _pair if self._n == 2 else _triple
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if (isinstance(kernel_size, int) and kernel_size <= 0) or \
                (isinstance(kernel_size, (tuple, list)) and not all(k > 0 for k in kernel_size)):
            raise ValueError(f"kernel_size must greater than zero, but got {kernel_size}")
        self.kernel_size = spread(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = spread(output_size) if output_size is not None else None
        self.output_ratio = spread(output_ratio) if output_ratio is not None else None
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _pool(self, pool, input):
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                    self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows at random steps, to a chosen output size or ratio: Graham, 2015.

    Input (N, C, H, W) or (C, H, W), floating-point; one of `output_size` and `output_ratio` (in (0, 1)) is given, else
    ValueError. With `return_indices` also where each maximum is, int64.

    >>> nn.FractionalMaxPool2d(2, output_size=(3, 2))(torch.randn(1, 2, 7, 5)).shape
    torch.Size([1, 2, 3, 2])
    """
    _n = 2

    def forward(self, input):
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPool):
    """FractionalMaxPool2d in three dimensions.

    Input (N, C, D, H, W) or (C, D, H, W).

    >>> nn.FractionalMaxPool3d(2, output_ratio=0.5)(torch.randn(1, 2, 8, 6, 4)).shape
    torch.Size([1, 2, 4, 3, 2])
    """
    _n = 3

    def forward(self, input):
        return self._pool(F.fractional_max_pool3d, input)


from .adaptive_pooling import (AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d,  # noqa: E402, F401
                               AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d)
