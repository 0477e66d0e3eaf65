"""How structured operations run inside vmap.

Each entry of `RULES` says, for one derivative class, how the operation on every sample is one operation on the
tensor of all samples, whose batch is dimension 0. Where there is no entry, or an entry does not cover the
arguments (it returns NotImplemented), the operation runs once a sample and the results are stacked, which is
always right.
"""
from fasttensor._core.dispatch import install, set_batched_backend
from fasttensor._core.tensor import Tensor
from fasttensor.autograd import batched, products, rule

from . import conv, fold, indexing, kernels, linalg, loop, making, matmul, norm, randomness, rearranging, reductions
from .common import wrapped

RULES = {}
for _module in (reductions, rearranging, matmul, linalg, conv, fold, norm, indexing):
    RULES.update(_module.RULES)


def run(rule, args, user):
    """What `apply(rule, *args)` does inside vmap; NotImplemented where no argument is batched."""
    name = rule.__name__
    if name in randomness.RULES and not user:
        return randomness.run(rule, args)
    level = batched.find_level(*args)
    if level is None:
        return NotImplemented
    if user:
        return loop.user_function(rule, args, level)
    handler = RULES.get(name)
    made = NotImplemented if handler is None else handler(level, rule, *args)
    if made is NotImplemented:
        made = loop.over_samples(lambda *a: rule_module_apply(rule, *a), args, level, name)
    return wrapped(made, level)


rule_module_apply = rule.apply


def linear(x, weight, bias):
    """linear() of batched tensors; None where the general function should check or decompose the arguments."""
    if weight.dim() != 2 or x.dim() == 0 or x.dtype is not weight.dtype or x.shape[-1] != weight.shape[1]:
        return None
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != weight.shape[0] or bias.dtype is not x.dtype):
        return None
    level = batched.find_level(x, weight, bias)
    return batched.batch(matmul.linear(level, x, weight, bias), level)


rule.set_batched_rule(run)
products.set_batched_linear(linear)
set_batched_backend(kernels.Kernels())
install(batched.Batched, making.METHODS)
