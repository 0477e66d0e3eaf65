"""Batch normalization."""
import fasttensor as ft

from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


class _NormBase(Module):
    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        like = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ft.empty(num_features, **like)) if affine else None)
        self.register_parameter("bias", Parameter(ft.empty(num_features, **like)) if affine and bias else None)
        track = track_running_stats
        self.register_buffer("running_mean", ft.zeros(num_features, **like) if track else None)
        self.register_buffer("running_var", ft.ones(num_features, **like) if track else None)
        self.register_buffer("num_batches_tracked", ft.tensor(0, dtype=ft.int64, device=device) if track else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget the batches seen so far."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Forget statistics; weight 1, bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        # Version 2 added the counter: older states start it anew.
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            mine = self.num_batches_tracked
            state_dict[key] = mine if mine is not None and mine.device.type != "meta" else ft.tensor(0, dtype=ft.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        mean, var = self.running_mean, self.running_var
        training = self.training
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:       # a plain average over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        if training:
            if not self.track_running_stats:
                mean = var = None
        else:
            training = mean is None and var is None
        return F.batch_norm(input, mean, var, self.weight, self.bias, training, factor, self.eps)


def _require_dims(input, *dims):
    if input.dim() not in dims:
        raise ValueError(f"expected {' or '.join(f'{d}D' for d in dims)} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel of (N, C) or (N, C, L) over the batch: Ioffe and Szegedy, 2015.

    In training the batch's own mean and variance serve, and running averages of them are kept for
    eval mode. `momentum=None` averages all batches evenly.

    >>> m = nn.BatchNorm1d(3, affine=False)
    >>> bool(m(torch.randn(20, 3)).mean(0).abs().max() < 1e-5)
    True
    """

    def _check_input_dim(self, input):
        _require_dims(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm of (N, C, H, W).

    >>> nn.BatchNorm2d(3)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def _check_input_dim(self, input):
        _require_dims(input, 4)


class BatchNorm3d(_BatchNorm):
    """BatchNorm of (N, C, D, H, W).

    Means and variances over N, D, H and W (Ioffe and Szegedy, 2015), as in BatchNorm2d. ValueError for inputs that
    are not of five dimensions.

    >>> nn.BatchNorm3d(4)(torch.randn(2, 4, 3, 5, 5)).shape
    torch.Size([2, 4, 3, 5, 5])
    """

    def _check_input_dim(self, input):
        _require_dims(input, 5)


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over all processes of a group; in one process it is BatchNorm of any dimensions from 2 up: (N, C, *) -> (N, C, *).

    Raises ValueError for fewer dimensions.

    >>> nn.SyncBatchNorm(2).eval()(torch.ones(1, 2)).shape
    torch.Size([1, 2])
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """`module` with every BatchNorm below it turned into a SyncBatchNorm with the same values."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                         process_group, bias=module.bias is not None)
            result.weight, result.bias = module.weight, module.bias
            result.running_mean, result.running_var = module.running_mean, module.running_var
            result.num_batches_tracked = module.num_batches_tracked
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
