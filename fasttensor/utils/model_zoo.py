"""``torch.utils.model_zoo``: the older names of `torch.hub`'s downloads."""
from fasttensor.hub import HASH_REGEX, load_state_dict_from_url as load_url, urlparse

__all__ = ["load_url", "HASH_REGEX", "urlparse"]


def __getattr__(name):
    if name == "tqdm":
        from tqdm import tqdm
        return tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
