"""Lazy forms of convolution, batch and instance normalization."""
import fasttensor as ft

from ..parameter import UninitializedBuffer, UninitializedParameter
from . import batchnorm, conv, instancenorm
from .lazy import LazyModuleMixin


class _LazyConvMixin(LazyModuleMixin):
    _transposed = False
    _spatial = 0

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            shape = (self.in_channels, self.out_channels // self.groups) if self._transposed \
                else (self.out_channels, self.in_channels // self.groups)
            self.weight.materialize((*shape, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input):
        n = self._spatial
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, "
                               f"but got input of size: {input.shape}")
        return input.shape[-n - 1]


def _explained(base, counted, arguments, spatial):
    """The docstring of the lazy form of `base`, which counts `counted` of its first input."""
    return f"""A {base.__name__} that takes `{counted}` from its first input.

    That call makes the parameters and turns the module into a {base.__name__}; optimizers are to be built after it.
    RuntimeError where its input has another number of dimensions than {base.__name__} takes.

    >>> layer = nn.Lazy{base.__name__}({arguments})
    >>> _ = layer(torch.randn(2, 6{", 5" * spatial}))
    >>> type(layer).__name__, layer.{counted}
    ('{base.__name__}', 6)
    """


def _lazy_conv(base, spatial, transposed):
    if transposed:
        def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                     dilation=1, padding_mode="zeros", device=None, dtype=None):
            super(made, self).__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
                                       padding_mode, device, dtype)
            finish(self, out_channels, bias, device, dtype)
    else:
        def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                     padding_mode="zeros", device=None, dtype=None):
            super(made, self).__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode,
                                       device, dtype)
            finish(self, out_channels, bias, device, dtype)

    def finish(self, out_channels, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    made = type("Lazy" + base.__name__, (_LazyConvMixin, base), {
        "__init__": __init__, "cls_to_become": base, "_transposed": transposed, "_spatial": spatial,
        "__module__": __name__, "__doc__": _explained(base, "in_channels", "4, 3", spatial)})
    return made


LazyConv1d, LazyConv2d, LazyConv3d = (
    _lazy_conv(c, i, False) for i, c in enumerate((conv.Conv1d, conv.Conv2d, conv.Conv3d), 1))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy_conv(c, i, True) for i, c in enumerate((conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d), 1))


class _LazyNormMixin(LazyModuleMixin):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
                 *, bias=True):
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        like = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**like)
            if bias:
                self.bias = UninitializedParameter(**like)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**like)
            self.running_var = UninitializedBuffer(**like)
            self.num_batches_tracked = ft.tensor(0, dtype=ft.int64, device=device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            self.num_features = input.shape[self._channel_dim(input)]
            for name in ("weight", "bias", "running_mean", "running_var"):
                if getattr(self, name) is not None:
                    self._give_shape(name, (self.num_features,))
            self.reset_parameters()

    def _channel_dim(self, input):
        return 1


class _LazyInstanceMixin(_LazyNormMixin):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
                 *, bias=True):
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _channel_dim(self, input):
        return input.dim() - self._unbatched_dims


def _lazy_norm(mixin, base):
    return type("Lazy" + base.__name__, (mixin, base), {
        "cls_to_become": base, "__module__": __name__,
        "__doc__": _explained(base, "num_features", "", int(base.__name__[-2]))})


LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy_norm(_LazyNormMixin, c) for c in (batchnorm.BatchNorm1d, batchnorm.BatchNorm2d, batchnorm.BatchNorm3d))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy_norm(_LazyInstanceMixin, c)
    for c in (instancenorm.InstanceNorm1d, instancenorm.InstanceNorm2d, instancenorm.InstanceNorm3d))
