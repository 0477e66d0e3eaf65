"""Mixed precision: ``autocast`` picks the dtype of each operation, ``GradScaler`` keeps small gradients from vanishing."""

from . import autocast_mode, grad_scaler
from .autocast_mode import _enter_autocast, _exit_autocast, autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["autocast", "custom_bwd", "custom_fwd", "GradScaler", "is_autocast_available"]
