"""Views in place (`t_`, `squeeze_` ...), and views that are copied (`t_copy`, `squeeze_copy` ...)."""

import warnings

from fasttensor._core.dispatch import is_grad_enabled
from fasttensor._core.tensor import Size
from fasttensor.autograd import cutting, permuting, tensor_hooks, views, writing
from fasttensor.autograd.copying import preserve_format
from fasttensor.autograd.rule import Rule, apply
from fasttensor.functional.basics import split, split_with_sizes, unbind
from fasttensor.functional.common import check_tensor, give
from fasttensor.functional.creation import empty_like
from fasttensor.functional.retelling import as_method, renamed

__all__ = ["resize_as_", "broadcast_shapes"]
METHODS = {}


def _in_place(view, name):
    """The method that makes a tensor its own view."""
    def method(self, *args, **kwargs):
        return writing.become(self, view(self, *args, **kwargs), name)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = as_method(view, f"In-place form of :func:`{name[:-1]}`: this tensor takes the view's shape and strides, and is returned; its memory is"
                               " the same.\n\nRaises what the view raises, and RuntimeError for a leaf that requires grad.", name)
    return method


for _name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims"):
    METHODS[_name + "_"] = _in_place(permuting.METHODS[_name], _name + "_")
METHODS["as_strided_"] = _in_place(cutting.as_strided, "as_strided_")


def _any_view(input, *size, **named):
    """A view, or a copy where strides allow none: a copy is made of it anyway."""
    if named or len(size) == 1 and not isinstance(size[0], (int, tuple, list)):
        return views.view(input, *size, **named)
    return views.reshape(input, *size)


# Where the view is a method only.
EXAMPLES = {
    "alias": (">>> torch.alias_copy(torch.tensor([1, 2]))", "tensor([1, 2])"),
    "slice": (">>> torch.slice_copy(torch.arange(6), 0, 1, 6, 2)", "tensor([1, 3, 5])"),
    "unfold": (">>> torch.unfold_copy(torch.arange(5), 0, 3, 2)", "tensor([[0, 1, 2],", "        [2, 3, 4]])"),
    "expand": (">>> torch.expand_copy(torch.tensor([[1], [2]]), (2, 3))", "tensor([[1, 1, 1],", "        [2, 2, 2]])"),
    "view": (">>> torch.view_copy(torch.arange(4), (2, 2))", "tensor([[0, 1],", "        [2, 3]])"),
    "detach": (">>> torch.detach_copy(torch.ones(2))", "tensor([1., 1.])"),
}


def _copy(view, name):
    if name == "detach_copy":
        return view
    made = view.clone().contiguous()
    if view.requires_grad and is_grad_enabled():
        tensor_hooks.relabel(made, "NarrowCopyBackward0" if name == "narrow_copy" else view.grad_fn.name() + "_copy")
    return made


def copied(view, name):
    """The function that gives a contiguous copy of a view."""
    def function(input, *args, out=None, **kwargs):
        check_tensor(name, input)
        try:
            got = view(input, *args, **kwargs)
        except (RuntimeError, IndexError, TypeError) as error:     # the view's messages have its own name
            raise type(error)(f"{name}(): {error}") from None
        copies = tuple(_copy(v, name) for v in got) if isinstance(got, (tuple, list)) else _copy(got, name)
        if out is not None and isinstance(copies, tuple):
            give(out, copies, name, True)
            return None
        return give(out, copies, name, True)
    function.__name__ = function.__qualname__ = name
    short = name.removesuffix("_copy")
    words = f"A contiguous copy, with memory of its own, of what :func:`{short}` gives as a view; its arguments and errors are the view's."
    function.__doc__ = "\n".join([words, "", *EXAMPLES[short], ""]) if short in EXAMPLES else renamed(view, words, name, short)
    return function


def _alias(input):
    return tensor_hooks.relabel(input.view(input.shape), "AliasBackward0")


class _DetachCopy(Rule):
    """PyTorch records this one, and has no derivative of it."""
    name = "torch::autograd::NotImplemented"

    @staticmethod
    def forward(ctx, input):
        return input.clone().contiguous()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("derivative for aten::detach_copy is not implemented: use detach().clone(), which has no history")


_VIEWS = {
    "alias": _alias, "detach": lambda input: apply(_DetachCopy, input), "as_strided": cutting.as_strided,
    "diagonal": cutting.diagonal, "narrow": cutting.narrow, "select": cutting.select, "slice": cutting.slice_dim,
    "unfold": cutting.unfold, "expand": permuting.expand, "permute": permuting.permute, "squeeze": permuting.squeeze,
    "t": permuting.t, "transpose": permuting.transpose, "unsqueeze": permuting.unsqueeze, "view": _any_view,
    "split": split, "split_with_sizes": split_with_sizes, "unbind": unbind,
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
    """The elements in another shape of as many; deprecated, see ``reshape`` and ``resize_``.

    Raises RuntimeError for another number of elements, and for a tensor that requires grad.

    >>> torch.arange(4).resize(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return _resized(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)


def resize_as(self, tensor):
    """The elements in the shape of another tensor of as many; deprecated, see ``reshape_as``.

    >>> torch.arange(4).resize_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return _resized(self, tensor.shape)


def resize_as_(input, the_template, *, memory_format=None):
    """Give `input` the shape of another tensor, with new memory where it needs more; see ``Tensor.resize_`` for what it raises.

    >>> torch.resize_as_(torch.arange(4), torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    check_tensor("resize_as_", input, the_template)
    if memory_format is preserve_format:
        input.resize_(the_template.shape)
        return input.as_strided_(the_template.shape, empty_like(the_template).stride(), input.storage_offset())
    return input.resize_(the_template.shape, memory_format=memory_format)


METHODS.update(resize_as_=resize_as_, resize=resize, resize_as=resize_as)


def broadcast_shapes(*shapes):
    """The shape that operands of these shapes (tuples or ints) broadcast to; RuntimeError where they do not fit.

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
