"""Methods that make a tensor of another's dtype and device."""
from fasttensor._core import construct
from fasttensor._core.dispatch import backend
from fasttensor.functional.creation import empty_strided, need_pinning, no_more, number, only_strided, sizes_of


def _new(self, sizes, dtype, device, requires_grad, op, value=None, **named):
    size = sizes
    if named or not sizes:
        size = sizes_of(op, sizes, named.pop("size", None))
        no_more(op, named)
    made = construct.empty(op, size, self.dtype if dtype is None else dtype, self.device if device is None else device)
    if value is not None:
        backend(made).fill_(made, value)
    if requires_grad:
        made.requires_grad = True
    return made


def new_empty(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **named):
    """Uninitialised, of the given sizes (ints, or one sequence) and, unless given, this tensor's dtype and device.

    >>> torch.ones(1, dtype=torch.float64).new_empty(2, 3).dtype
    torch.float64
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("new_empty", layout)
    return _new(self, size, dtype, device, requires_grad, "new_empty", **named)


def new_zeros(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **named):
    """Zeros of the given sizes (ints, or one sequence) and, unless given, this tensor's dtype and device.

    >>> torch.tensor([1]).new_zeros(2)
    tensor([0, 0])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("new_zeros", layout)
    return _new(self, size, dtype, device, requires_grad, "new_zeros", 0, **named)


def new_ones(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False, **named):
    """Ones of the given sizes (ints, or one sequence) and, unless given, this tensor's dtype and device.

    >>> torch.tensor([0.5]).new_ones(2)
    tensor([1., 1.])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("new_ones", layout)
    return _new(self, size, dtype, device, requires_grad, "new_ones", 1, **named)


def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """One value everywhere, of the given sizes and, unless given, this tensor's dtype and device.

    Raises RuntimeError where the dtype cannot hold the value, TypeError where that is no number.

    >>> torch.tensor([0.5]).new_full((2,), 3)
    tensor([3., 3.])
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("new_full", layout)
    return _new(self, (tuple(size),), dtype, device, requires_grad, "new_full", number("new_full", "fill_value", fill_value))


def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Uninitialised, of the given sizes and strides (in elements) and, unless given, this tensor's dtype and device.

    Raises RuntimeError where sizes and strides differ in number, or one is negative.

    >>> torch.tensor([0.5]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if pin_memory:
        need_pinning()
    if layout is not None:
        only_strided("new_empty_strided", layout)
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype,
                         device=self.device if device is None else device, requires_grad=requires_grad)


METHODS = {"new_empty": new_empty, "new_zeros": new_zeros, "new_ones": new_ones, "new_full": new_full,
           "new_empty_strided": new_empty_strided}
__all__ = []
