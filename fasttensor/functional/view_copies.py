"""Views in place (`t_`, `squeeze_` ...), and views that are copied (`t_copy`, `squeeze_copy` ...)."""

import warnings

from fasttensor._core.tensor import Size
from fasttensor.autograd import cutting, permuting, tensor_hooks, views, writing
from fasttensor.functional.basics import chunk, split, split_with_sizes, unbind
from fasttensor.functional.common import check_tensor, give

__all__ = ["resize_as_", "broadcast_shapes"]
METHODS = {}


def _in_place(view, name):
    """The method that makes a tensor its own view."""
    def method(self, *args, **kwargs):
        return writing.become(self, view(self, *args, **kwargs), name)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of :func:`{name[:-1]}`: this tensor takes the view's shape and strides."
    return method


for _name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims"):
    METHODS[_name + "_"] = _in_place(permuting.METHODS[_name], _name + "_")
METHODS["as_strided_"] = _in_place(cutting.as_strided, "as_strided_")


def _any_view(input, *size, **named):
    """A view, or a copy where strides allow none: a copy is made of it anyway."""
    if named or len(size) == 1 and not isinstance(size[0], (int, tuple, list)):
        return views.view(input, *size, **named)
    return views.reshape(input, *size)


def copied(view, name):
    """The function that gives a contiguous copy of a view."""
    def function(input, *args, out=None, **kwargs):
        check_tensor(name, input)
        try:
            got = view(input, *args, **kwargs)
        except (RuntimeError, IndexError, TypeError) as error:     # the view's messages have its own name
            raise type(error)(f"{name}(): {error}") from None
        copies = tuple(v.clone().contiguous() for v in got) if isinstance(got, (tuple, list)) else got.clone().contiguous()
        if out is not None and isinstance(copies, tuple):
            give(out, copies, name, True)
            return None
        return give(out, copies, name, True)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A copy of what :func:`{name.removesuffix('_copy')}` gives as a view."
    return function


def _alias(input):
    return input.view(input.shape)


_VIEWS = {
    "alias": _alias, "detach": tensor_hooks.detach, "as_strided": cutting.as_strided,
    "diagonal": cutting.diagonal, "narrow": cutting.narrow, "select": cutting.select, "slice": cutting.slice_dim,
    "unfold": cutting.unfold, "expand": permuting.expand, "permute": permuting.permute, "squeeze": permuting.squeeze,
    "t": permuting.t, "transpose": permuting.transpose, "unsqueeze": permuting.unsqueeze, "view": _any_view,
    "split": split, "split_with_sizes": split_with_sizes, "unbind": unbind, "chunk": chunk,
}
for _name, _view in _VIEWS.items():
    globals()[_name + "_copy"] = copied(_view, _name + "_copy")
    __all__.append(_name + "_copy")
METHODS["narrow_copy"] = globals()["narrow_copy"]


def _resized(self, size):
    if self.requires_grad:
        raise RuntimeError("resize: cannot resize a tensor that requires grad: detach() it, or use reshape()")
    if Size(size).numel() != self.numel():
        raise RuntimeError(f"resize: requested resize to {tuple(size)} ({Size(size).numel()} elements in total), but the given tensor has a size of "
                           f"{tuple(self.shape)} ({self.numel()} elements). It can only change the shape of a given tensor: use resize_()")
    return self.contiguous().view(size)


def resize(self, *sizes):
    """The elements in another shape of as many; deprecated, see ``reshape`` and ``resize_``."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return _resized(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)


def resize_as(self, tensor):
    """The elements in the shape of another tensor of as many; deprecated."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return _resized(self, tensor.shape)


def resize_as_(input, the_template, *, memory_format=None):
    """Give `input` the shape of another tensor; see ``Tensor.resize_``."""
    check_tensor("resize_as_", input, the_template)
    return input.resize_(the_template.shape)


METHODS.update(resize_as_=resize_as_, resize=resize, resize_as=resize_as)


def broadcast_shapes(*shapes):
    """The shape that operands of these shapes (tuples or ints) broadcast to; RuntimeError where they do not fit.

    >>> import fasttensor as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    rows = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max(map(len, rows), default=0)
    for row in rows:
        for k, n in enumerate(row, len(out) - len(row)):
            if n < 0:
                raise RuntimeError(f"broadcast_shapes: Trying to create tensor with negative dimension ({n}): ({n})")
            if n != 1 and out[k] not in (1, n):
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, rows))}")
            out[k] = n if n != 1 else out[k]
    return Size(out)
