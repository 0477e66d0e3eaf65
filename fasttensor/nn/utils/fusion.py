"""Folding batch normalization into the layer before it, for inference."""
import copy

import fasttensor as ft

from ..parameter import Parameter


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of one convolution that does what convolution and batch norm did.

    `conv_w` (out, in / groups, *), or (in, out / groups, *) with `transpose`; the others (out,) or None.

    >>> w, b = nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 1), None, torch.zeros(1), torch.tensor([3.]), 1.0, None, None)
    >>> w.data, b.data
    (tensor([[[0.5000]]]), tensor([0.]))
    """
    conv_b = ft.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ft.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = ft.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * ft.rsqrt(bn_rv + bn_eps)
    shape = [1, -1] + [1] * (conv_w.dim() - 2) if transpose else [-1, 1] + [1] * (conv_w.dim() - 2)
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(conv_b.dtype)
    return Parameter(weight.detach(), conv_w.requires_grad), Parameter(bias.detach(), conv_b.requires_grad)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of `conv` that includes `bn`; AssertionError unless both are in eval mode.

    >>> conv, bn = nn.Conv2d(2, 3, 1).eval(), nn.BatchNorm2d(3).eval()
    >>> x = torch.randn(1, 2, 4, 4)
    >>> torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True
    """
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("fuse_conv_bn_eval: the batch norm has no running statistics")
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias, transpose)
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of one linear layer that does what linear and batch norm did.

    `linear_w` (out, in), the others (out,), `linear_b` may be None.

    >>> w, b = nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), None, torch.ones(1), torch.tensor([3.]), 1.0, torch.ones(1), torch.zeros(1))
    >>> w.data, b.data
    (tensor([[0.5000, 0.5000]]), tensor([-0.5000]))
    """
    linear_b = ft.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * ft.rsqrt(bn_rv + bn_eps)
    weight = (linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(linear_b.dtype)
    return Parameter(weight.detach(), linear_w.requires_grad), Parameter(bias.detach(), linear_b.requires_grad)


def fuse_linear_bn_eval(linear, bn):
    """A copy of `linear` that includes `bn`; AssertionError unless both are in eval mode.

    The batch norm has as many features as the layer has outputs, or 1.

    >>> linear, bn = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
    >>> x = torch.randn(4, 3)
    >>> torch.allclose(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))
    True
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                      bn.weight, bn.bias)
    return fused
