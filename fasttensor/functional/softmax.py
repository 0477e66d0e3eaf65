"""softmax and its relatives."""
import warnings

from fasttensor._core.tensor import description
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.softmax import LogSoftmax, Softmax
from fasttensor.functional.dims import deliver, numpy_axis, tensor_argument, wrap


def implicit_dim(name, ndim):
    """The dimension that old programs meant by leaving it out."""
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  stacklevel=4)
    return 0 if ndim in (0, 1, 3) else 1


def prepare(name, input, dim, stacklevel, dtype):
    tensor_argument(name, input)
    if not isinstance(stacklevel, int):        # torch.softmax takes the dtype as its third argument
        dtype = stacklevel
    if dim is None:
        dim = implicit_dim(name, input.ndim)
    x = input if dtype is None else input.to(dtype)
    if not x.dtype.is_floating_point:
        raise NotImplementedError(f"{name}(): not implemented for {description(x)}; give a floating-point dtype=")
    return x, wrap(x, dim, name)


def softmax(input, dim=None, _stacklevel=3, dtype=None, *, out=None):
    """exp(x) / sum(exp(x)) along `dim`, in one pass over each row. Floating-point dtypes, or any with `dtype`.

    The result has the input's shape. Raises IndexError for a dimension out of range, RuntimeError for integers without `dtype`.

    >>> torch.softmax(torch.zeros(4), 0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    x, d = prepare("softmax", input, dim, _stacklevel, dtype)
    return deliver("softmax", out, apply(Softmax, x, d), True)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None, *, out=None):
    """x - log(sum(exp(x))) along `dim`.

    The result has the input's shape. dtypes: floating point, or any with `dtype`. Raises IndexError for a dimension out of range.

    >>> torch.log_softmax(torch.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    x, d = prepare("log_softmax", input, dim, _stacklevel, dtype)
    return deliver("log_softmax", out, apply(LogSoftmax, x, d), True)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input.

    Shapes, dtypes and errors are those of :func:`softmax`.

    >>> torch.nn.functional.softmin(torch.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    x, d = prepare("softmin", input, dim, _stacklevel, dtype)
    return apply(Softmax, -x, d)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution along `dim` (Jang et al. 2017); with `hard` a one-hot
    vector whose gradient is that of the soft sample.

    The result has the logits' shape and floating dtype. IndexError for a dimension out of range.

    >>> torch.nn.functional.gumbel_softmax(torch.zeros(3), hard=True).sum()
    tensor(1.)
    """
    tensor_argument("gumbel_softmax", logits)
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -(logits.detach() * 0 + 1).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    best = soft.max(dim, keepdim=True)[1]
    shape = [1] * soft.ndim
    shape[dim] = -1
    from fasttensor.functional.ranges import arange
    one_hot = (arange(soft.size(dim)).reshape(shape) == best).to(soft.dtype)
    return one_hot - soft.detach() + soft


def _needs_dim(function):
    """`function` as torch and Tensor have it: `dim` is required, and the dtype comes third."""
    name = function.__name__

    def of_dim(input, dim=None, dtype=None, *, out=None, **names):
        if names:
            dim = numpy_axis(name, names, dim)
        if dim is None:
            raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not NoneType")
        return function(input, dim, 3, dtype, out=out)
    of_dim.__name__ = of_dim.__qualname__ = name
    of_dim.__module__ = "fasttensor"        # where pickle finds it by name
    of_dim.__doc__ = function.__doc__
    return of_dim


METHODS = {"softmax": _needs_dim(softmax), "log_softmax": _needs_dim(log_softmax)}
__all__ = SPECIAL = METHODS           # nn.functional's are others: there dim may be missing
NN_FUNCTIONAL = ["softmax", "log_softmax", "softmin", "gumbel_softmax"]
