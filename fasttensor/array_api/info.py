"""What the namespace can do: ``__array_namespace_info__()``."""
import fasttensor as torch

from .data_types import isdtype

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128")


class Info:
    """Capabilities, dtypes and devices of the namespace."""

    def capabilities(self):
        """Optional behaviours: boolean indexing, shapes that depend on values, and the most dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of new arrays."""
        return torch.get_default_device()

    def default_dtypes(self, *, device=None):
        """The dtypes of new arrays and of indices."""
        real = torch.get_default_dtype()
        return {"real floating": real, "complex floating": torch.complex128 if real is torch.float64 else torch.complex64,
                "integral": torch.int64, "indexing": torch.int64}

    def dtypes(self, *, device=None, kind=None):
        """{name: dtype}, all of them or those of a kind as for `isdtype`."""
        found = {name: getattr(torch, name) for name in DTYPES}
        return found if kind is None else {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}

    def devices(self):
        """The devices that arrays can be on."""
        return (torch.device("cpu"), *(torch.device("cuda", i) for i in range(torch.cuda.device_count())))


def __array_namespace_info__():
    """The namespace's :class:`Info`.

    >>> list(__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return Info()
