"""Gradients of convolutions, given the gradient of their result."""
import fasttensor as ft

from . import functional as F


def _gradient(conv, which, input, weight, grad_output, stride, padding, dilation, groups):
    with ft.enable_grad():
        result = conv(input, weight, None, stride, padding, dilation, groups)
    return ft.autograd.grad(result, which, grad_output)[0]


def _make(n):
    conv = f"conv{n}d"

    def of_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        # Convolution is linear: the input's values do not matter, its shape does.
        input = weight.new_zeros(input_size).requires_grad_()
        return _gradient(getattr(F, conv), input, input, weight.detach(), grad_output, stride, padding, dilation, groups)

    def of_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = input.new_zeros(weight_size).requires_grad_()
        return _gradient(getattr(F, conv), weight, input.detach(), weight, grad_output, stride, padding, dilation, groups)

    of_input.__name__, of_weight.__name__ = f"{conv}_input", f"{conv}_weight"
    of_input.__doc__ = f"The gradient of {conv} with respect to its input, whose shape is `input_size`."
    of_weight.__doc__ = f"The gradient of {conv} with respect to its weight, whose shape is `weight_size`."
    return of_input, of_weight


conv1d_input, conv1d_weight = _make(1)
conv2d_input, conv2d_weight = _make(2)
conv3d_input, conv3d_weight = _make(3)
