"""``torch.backends.mha``: whether modules may take fused paths in inference, remembered."""
from .switches import remembered

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

set_fastpath_enabled, get_fastpath_enabled = remembered(True)
