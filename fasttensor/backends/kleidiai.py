"""``torch.backends.kleidiai``: not used here."""
__all__ = ["is_available"]


def is_available():
    """False."""
    return False
