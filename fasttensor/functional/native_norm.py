"""Normalisations under the names and argument orders of the ``torch`` namespace."""
from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.checks import int_of, need_tensor, optional_tensor, real_number
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.norm import BatchNormStatistics, LayerNormStatistics
from fasttensor.functional import norm as functions
from fasttensor.functional.arguments import with_out
from fasttensor.functional.norm import check_channels, group_norm, layer_norm, normalized, row_shape
from fasttensor.functional.moments import var_mean

__all__ = ["batch_norm", "instance_norm", "native_layer_norm", "native_batch_norm", "native_group_norm"]
METHODS = {}


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """``nn.functional.batch_norm`` with weight and bias before the running statistics.

    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    need_tensor(input, "batch_norm")
    return normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True):
    """``nn.functional.instance_norm`` with weight and bias before the running statistics.

    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """
    return functions.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """layer_norm with its statistics: (output, mean, 1 / standard deviation).

    >>> torch.native_layer_norm(torch.tensor([1.0, 3.0]), (2,), None, None, 0.0)[1]
    tensor([2.])
    """
    optional_tensor(weight, "native_layer_norm", "weight", 3)
    optional_tensor(bias, "native_layer_norm", "bias", 4)
    real_number(eps, "native_layer_norm", "eps")
    if isinstance(input, Tensor) and input.is_floating_point() and input.numel():
        dims, n = row_shape("native_layer_norm", input, normalized_shape, weight, bias)
        return apply(LayerNormStatistics, input, weight, bias, dims, n, eps)
    y = layer_norm(input, normalized_shape, weight, bias, eps)          # without elements, or the errors
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    var, mean = statistics(input.detach(), dims, True)
    return y, mean, (var + eps).rsqrt()


def statistics(x, dims, keepdim):
    return var_mean(x, dim=dims, correction=0, keepdim=keepdim)


@with_out
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """batch_norm with its statistics: (output, mean, 1 / standard deviation), the last two empty unless training.

    >>> torch.native_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1]
    tensor([2.])
    """
    need_tensor(input, "native_batch_norm")
    if input.numel() == 0 and training:
        raise RuntimeError(f"native_batch_norm(): input tensor must have at least one element, but got {description(input)}")
    if training and input.ndim > 1:
        return normalized(input, weight, bias, running_mean, running_var, True, momentum, eps, BatchNormStatistics)
    y = normalized(input, weight, bias, running_mean, running_var, training, momentum, eps) if input.numel() else input.clone()
    if not training:
        empty = input.detach().reshape(-1)[:0].clone()
        return y, empty, empty.clone()
    var, mean = statistics(input.detach(), [d for d in range(input.ndim) if d != 1], False)
    return y, mean, (var + eps).rsqrt()


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """group_norm with its statistics: (output, mean, 1 / standard deviation) of [N, group].

    >>> torch.native_group_norm(torch.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1]
    tensor([[2.]])
    """
    need_tensor(input, "native_group_norm", "input", 1)
    optional_tensor(weight, "native_group_norm", "weight", 2)
    optional_tensor(bias, "native_group_norm", "bias", 3)
    N = int_of(N, "native_group_norm", "N")
    C = int_of(C, "native_group_norm", "C")
    HxW = int_of(HxW, "native_group_norm", "HxW")
    group = int_of(group, "native_group_norm", "group")
    real_number(eps, "native_group_norm", "eps")
    if input.numel() != N * C * HxW:
        raise RuntimeError(f"native_group_norm(): input {description(input)} does not have N={N}, C={C} and {HxW} elements a channel")
    recorded = any(t is not None and t.requires_grad for t in (input, weight, bias))
    if input.numel() and not recorded and input.ndim > 1 and input.shape[0] == N and input.shape[1] == C and group > 0 and C % group == 0:
        check_channels("native_group_norm", C, weight=weight, bias=bias)
        y, mean, rstd = backend(input).group_norm(input, weight, bias, group, eps)
        return y, mean.to(input.dtype), rstd.to(input.dtype)
    y = group_norm(input, group, weight, bias, eps)
    var, mean = statistics(input.reshape(N, group, C // group * HxW), [2], False)
    return y, mean if input.numel() else mean.nan_to_num(), (var + eps).rsqrt()
