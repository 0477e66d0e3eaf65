"""Variance and standard deviation, alone and with the mean."""

import math
import warnings

from fasttensor._core.tensor import description
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import reduce as rules
from fasttensor.autograd.sums import mean
from fasttensor.functional.dims import deliver, flag, numpy_names, tensor_argument, wrap_all

__all__ = ["var", "std", "var_mean", "std_mean"]


def moment_arguments(name, args, dim, unbiased, correction, keepdim):
    """var(x, unbiased), var(x, dim, unbiased, keepdim) and var(x, dim, *, correction, keepdim)."""
    args = list(args)
    if args and isinstance(args[0], bool):
        unbiased = args.pop(0)
    elif args:
        dim = args.pop(0)
        if args:
            unbiased = args.pop(0)
        if args:
            keepdim = args.pop(0)
    if args:
        raise TypeError(f"{name}(): too many positional arguments")
    if unbiased is not None:
        if correction is not None:
            raise TypeError(f"{name}(): give either unbiased or correction, not both")
        flag(name, "unbiased", unbiased)
        correction = int(unbiased)
    return dim, 1 if correction is None else correction, keepdim


def moment(name, rule, root, with_mean, input, dim, correction, keepdim):
    tensor_argument(name, input, keepdim)
    if input.dtype.is_complex:
        return complex_moment(name, root, with_mean, input, dim, correction, keepdim)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"{name}: only support floating point and complex dtypes, got {description(input)}; convert with .float()")
    dims = wrap_all(input, dim, name)
    count = input.numel() if dims is None else math.prod(map(input.shape.__getitem__, dims))
    if count <= correction:
        warnings.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor: {count} elements and"
                      f" correction {correction} for {description(input)}", stacklevel=4)
    return apply(rule, input, dims, float(correction), keepdim, root, with_mean)


def complex_moment(name, root, with_mean, input, dim, correction, keepdim):
    # The variance of a complex number is that of its real and imaginary parts together.
    real, imag = input.real, input.imag
    total = var(real, dim, correction=correction, keepdim=keepdim) + var(imag, dim, correction=correction, keepdim=keepdim)
    total = total.sqrt() if root else total
    return (total, mean(input, dim, keepdim)) if with_mean else total


def var(input, *args, dim=None, unbiased=None, correction=None, keepdim=False, out=None, **names):
    """Variance over all dimensions or `dim`, with divisor n - correction (default 1), by two passes.

    Shape: `dim` dropped, or with keepdim of size 1. dtypes: floating point, or complex, which gives its real dtype. A divisor of 0 gives NaN
    with a warning. Raises RuntimeError for integers, IndexError for a dimension out of range.

    >>> torch.var(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    if unbiased is not None:
        flag("var", "unbiased", unbiased)
    if names:
        dim, keepdim = numpy_names("var", names, dim, keepdim)
    dim, correction, keepdim = moment_arguments("var", args, dim, unbiased, correction, keepdim)
    return deliver("var", out, moment("var", rules.Var, False, False, input, dim, correction, keepdim))


def std(input, *args, dim=None, unbiased=None, correction=None, keepdim=False, out=None, **names):
    """Standard deviation, the root of `var`; its gradient is 0 where it is 0.

    Arguments, shapes, dtypes and errors are those of :func:`var`.

    >>> torch.std(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    if unbiased is not None:
        flag("std", "unbiased", unbiased)
    if names:
        dim, keepdim = numpy_names("std", names, dim, keepdim)
    dim, correction, keepdim = moment_arguments("std", args, dim, unbiased, correction, keepdim)
    return deliver("std", out, moment("std", rules.Std, True, False, input, dim, correction, keepdim))


def var_mean(input, *args, dim=None, unbiased=None, correction=None, keepdim=False, **names):
    """(variance, mean) in one go.

    Both have the shape of :func:`var`, whose arguments, dtypes and errors these are.

    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    if names:
        dim, keepdim = numpy_names("var_mean", names, dim, keepdim)
    if unbiased is not None:
        flag("var_mean", "unbiased", unbiased)
    dim, correction, keepdim = moment_arguments("var_mean", args, dim, unbiased, correction, keepdim)
    return moment("var_mean", rules.VarMean, False, True, input, dim, correction, keepdim)


def std_mean(input, *args, dim=None, unbiased=None, correction=None, keepdim=False, **names):
    """(standard deviation, mean) in one go.

    Both have the shape of :func:`var`, whose arguments, dtypes and errors these are.

    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    if names:
        dim, keepdim = numpy_names("std_mean", names, dim, keepdim)
    if unbiased is not None:
        flag("std_mean", "unbiased", unbiased)
    dim, correction, keepdim = moment_arguments("std_mean", args, dim, unbiased, correction, keepdim)
    return moment("std_mean", rules.StdMean, True, True, input, dim, correction, keepdim)


METHODS = {"var": var, "std": std}
