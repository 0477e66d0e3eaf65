"""``torch.fx.experimental.proxy_tensor``."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode():
    """None: no program is traced below autograd at this moment."""
    return None
