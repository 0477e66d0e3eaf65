"""``torch.cuda.FloatTensor`` and its kin: names of tensor types on the GPU. Nothing is an instance of them without one."""
from .availability import _require

__all__ = []


class _TensorType(type):
    def __call__(cls, *args, **kwargs):
        if cls.__name__.endswith("Storage"):
            _require()
        raise TypeError(f"type torch.cuda.{cls.__name__} not available: use torch.tensor(..., device='cuda') where there is a GPU")


def __getattr__(name):
    if name.startswith("_") or not name.endswith(("Tensor", "Storage")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _TensorType(name, (), {"__module__": "torch.cuda", "is_cuda": True,
                                                     "__doc__": "A type on the GPU; calling it without one is an error."})
    return found
