"""``torch.backends.opt_einsum``: `einsum` chooses the order of products itself."""
__all__ = ["is_available", "get_opt_einsum"]

enabled, strategy = False, None


def is_available():
    """False: it is not needed."""
    return False


def get_opt_einsum():
    """None: it is not used."""
    return None
