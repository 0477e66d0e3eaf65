"""``torch.backends.cusparselt``: not used here."""
__all__ = ["is_available", "version", "get_max_alg_id"]


def is_available():
    """False."""
    return False


def version():
    """None: there is none."""
    return None


get_max_alg_id = version
