"""Floating-point operations of what is worth counting: a multiplication and an addition each count as one."""

import math

import fasttensor as ft

__all__ = ["flops_of"]


def _tensors(inputs, n):
    return len(inputs) >= n and all(isinstance(value, ft.Tensor) for value in inputs[:n])


RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")


def _flat(values):
    """The weights among the arguments: tensors, but not the states, which come first as a tensor or a tuple."""
    for value in values[1:] if values and not isinstance(values[0], list) else values:
        if isinstance(value, ft.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (item for item in value if isinstance(item, ft.Tensor))


def _product(a, b):
    if a.ndim == 0 or b.ndim == 0:
        return None
    rows = math.prod(a.shape)
    columns = b.shape[-1] if b.ndim > 1 else 1
    batch = math.prod(b.shape[:-2]) if b.ndim > 2 and a.ndim <= 2 else 1
    return 2 * rows * columns * batch


def _convolution(x, weight, options):
    """Each output element is one product of a window with the weights of its group."""
    dims = weight.ndim - 2
    if dims < 1 or x.ndim < weight.ndim - 1:
        return None

    def option(place, default):
        value = options[place] if len(options) > place and options[place] is not None else default
        return [value] * dims if isinstance(value, int) else list(value)
    stride, padding, dilation = option(0, 1), option(1, 0), option(2, 1)
    sizes = x.shape[-dims:]
    if isinstance(padding[0], str):     # "same" keeps the size, "valid" pads nothing
        out = sizes if options[1] == "same" else [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, weight.shape[2:], stride, dilation)]
    else:
        out = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(sizes, weight.shape[2:], stride, padding, dilation)]
    batch = x.shape[0] if x.ndim == weight.ndim else 1
    return 2 * batch * math.prod(out) * math.prod(weight.shape)


def flops_of(name, inputs):
    """The count for an operation and its arguments; None for operations that are not counted.

    >>> flops_of("aten::mm", (torch.ones(2, 3), torch.ones(3, 4)))
    48
    """
    kind = name.removeprefix("aten::")
    if kind in ("mm", "bmm", "matmul", "mv") and _tensors(inputs, 2):
        return _product(inputs[0], inputs[1])
    if kind in ("addmm", "baddbmm") and _tensors(inputs, 3):
        return _product(inputs[1], inputs[2])
    if kind == "linear" and _tensors(inputs, 2):
        return _product(inputs[0], inputs[1].t() if inputs[1].ndim == 2 else inputs[1])
    if kind in ("conv1d", "conv2d", "conv3d") and _tensors(inputs, 2):
        return _convolution(inputs[0], inputs[1], inputs[3:])
    if kind in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d") and _tensors(inputs, 2):
        # each input element is multiplied with its channel's weights
        return 2 * inputs[0].numel() * math.prod(inputs[1].shape[1:])
    if kind == "scaled_dot_product_attention" and _tensors(inputs, 3):
        query, key, value = inputs[:3]
        return 2 * math.prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    if kind in RECURRENT and inputs and isinstance(inputs[0], ft.Tensor):
        rows = inputs[0].numel() // max(inputs[0].shape[-1], 1)
        return 2 * rows * sum(t.numel() for t in _flat(inputs[1:]) if t.ndim == 2)
    if kind in ("add", "mul") and inputs and isinstance(inputs[0], ft.Tensor):
        return inputs[0].numel()
    return None
