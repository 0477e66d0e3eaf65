"""What a tensor answers about kinds, places and names: most of PyTorch's there are none of here."""
from fasttensor._core.layout import internal_overlap_kind
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import need_tensor

__all__ = ["is_distributed", "_debug_has_internal_overlap"]
# Kinds of tensors and of devices that do not exist here, by the attribute that programs ask.
NEVER = {
    "sparse": "a sparse tensor", "sparse_csr": "a sparse tensor in compressed rows", "quantized": "a quantized tensor",
    "mkldnn": "a tensor in oneDNN's layout", "nested": "a nested tensor", "mps": "on Apple's GPU", "xpu": "on Intel's GPU", "xla": "on an XLA device",
    "ipu": "on Graphcore's IPU", "maia": "on a Maia device", "mtia": "on an MTIA device", "vulkan": "on a Vulkan device",
}


def element_size(self):
    """The bytes of one element.

    >>> torch.ones(2, dtype=torch.float64).element_size()
    8
    """
    return self.itemsize


def is_distributed(input):
    """False: there are no distributed tensors.

    >>> torch.is_distributed(torch.ones(2))
    False
    """
    return False


def is_shared(self):
    """Whether the memory is shared with other processes: see :func:`share_memory_`.

    >>> torch.ones(2).is_shared()
    False
    """
    return self.untyped_storage().is_shared()


def is_pinned(self, device=None):
    """False: memory is not locked for a GPU.

    >>> torch.ones(2).is_pinned()
    False
    """
    return False


def pin_memory(self, device=None):
    """This tensor in page-locked memory, from which copies to a GPU are fast.

    RuntimeError, as in PyTorch, where there is no device that it would serve. `device` is not needed.

    >>> torch.cuda.is_available() or torch.ones(2).is_pinned()
    False
    """
    from fasttensor import cuda
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self


def record_stream(self, s):
    """Nothing: memory is used by no other stream of work.

    >>> torch.ones(2).record_stream(None)
    """


def is_coalesced(self):
    """Raises RuntimeError: it is asked of sparse tensors, of which there are none.

    >>> try:
    ...     torch.ones(2).is_coalesced()
    ... except RuntimeError:
    ...     print("not sparse")
    not sparse
    """
    raise RuntimeError(f"is_coalesced expected sparse coordinate tensor layout but got Strided: {description(self)}")


def is_set_to(self, tensor):
    """Whether the other tensor shows the same memory by the same sizes and strides.

    >>> x = torch.ones(2, 2)
    >>> x.is_set_to(x[:]), x.is_set_to(x.t())
    (True, False)
    """
    need_tensor(tensor, "is_set_to", "tensor")
    same = self is tensor or self.untyped_storage()._cdata == tensor.untyped_storage()._cdata and self.storage_offset() == tensor.storage_offset()
    return same and self.shape == tensor.shape and self.stride() == tensor.stride()


def _debug_has_internal_overlap(input):
    """Whether elements of a tensor share memory: 0 they do not, 1 they do, as a dimension has a stride of 0, 2 that would take a search.

    >>> torch._debug_has_internal_overlap(torch.ones(1, 2).expand(3, 2))
    1
    """
    need_tensor(input, "_debug_has_internal_overlap", "input", 1)
    return internal_overlap_kind(input)


def _never(name, words):
    return property(lambda self: False, doc=f"False: no tensor is {words} here.\n\n>>> torch.ones(2).{name}\nFalse\n")


def _name(self):
    """None: tensors have no names.

    >>> print(torch.ones(2).name)
    None
    """
    return None


METHODS = {
    **{"is_" + kind: _never("is_" + kind, words) for kind, words in NEVER.items()},
    **{f.__name__: f for f in (element_size, is_distributed, is_shared, is_pinned, pin_memory, record_stream, is_coalesced, is_set_to)},
    "name": property(_name), "_cdata": property(id, doc="A number that no other tensor has while this one lives."),
}
