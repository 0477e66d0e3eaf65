"""Instance normalization."""
import warnings

from .. import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    _unbatched_dims = None

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input):
        n = self._unbatched_dims
        if input.dim() not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input.dim()}D input)")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        version = local_metadata.get("version")
        # Version 1 stored statistics that it never used.
        if version is None and not self.track_running_stats:
            stale = [k for k in (prefix + "running_mean", prefix + "running_var") if k in state_dict]
            if stale:
                error_msgs.append(f"Unexpected running stats buffer(s) {' and '.join(map(repr, stale))} for "
                                  f"{type(self).__name__} with track_running_stats=False. If state_dict is a checkpoint "
                                  "saved before 0.4.0, this may be expected because instance norm does not track "
                                  "running stats by default since 0.4.0: remove these keys from it.")
                return
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                                      error_msgs)

    def _normalize(self, input):
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats,
                               self.momentum if self.momentum is not None else 0.0, self.eps)

    def forward(self, input):
        self._check_input_dim(input)
        n = self._unbatched_dims
        feature_dim = input.dim() - n
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={feature_dim} to match num_features "
                                 f"({self.num_features}), but got: {input.size(feature_dim)}.")
            warnings.warn(f"input's size at dim={feature_dim} does not match num_features. You can silence this "
                          "warning by not passing in num_features, which is not used because affine=False", stacklevel=2)
        if input.dim() == n:
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sample of (N, C, L) or (C, L): Ulyanov et al., 2016.

    >>> nn.InstanceNorm1d(4)(torch.randn(2, 4, 10)).shape
    torch.Size([2, 4, 10])
    """
    _unbatched_dims = 2


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm of (N, C, H, W) or (C, H, W).

    Each channel of each sample by its own mean and variance: Ulyanov et al., 2016. No parameters unless `affine`.
    ValueError for other numbers of dimensions.

    >>> nn.InstanceNorm2d(3)(torch.randn(2, 3, 4, 5)).shape
    torch.Size([2, 3, 4, 5])
    """
    _unbatched_dims = 3


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm of (N, C, D, H, W) or (C, D, H, W).

    Each channel of each sample by its own mean and variance: Ulyanov et al., 2016. No parameters unless `affine`.
    ValueError for other numbers of dimensions.

    >>> nn.InstanceNorm3d(3)(torch.randn(2, 3, 4, 5, 2)).shape
    torch.Size([2, 3, 4, 5, 2])
    """
    _unbatched_dims = 4
