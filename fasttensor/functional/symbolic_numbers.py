"""``torch.sym_int`` and its kin: arithmetic of numbers that may stand for sizes. Traced numbers are recorded, others are computed."""
import functools
import math

__all__ = ["sym_int", "sym_float", "sym_max", "sym_min", "sym_not", "sym_ite", "sym_sum", "sym_sqrt", "_sym_sqrt"]
METHODS = {}


def sym_int(a):
    """A number as an int, towards zero.

    >>> import fasttensor as torch
    >>> torch.sym_int(-2.5)
    -2
    """
    return math.trunc(a)


def sym_float(a):
    """A number as a float.

    >>> import fasttensor as torch
    >>> torch.sym_float(2)
    2.0
    """
    return a if isinstance(a, float) else float(a)


def _larger(a, b, pick):
    kind = float if isinstance(a, float) or isinstance(b, float) else int
    return kind(pick(a, b))


def sym_max(a, b):
    """The larger of two numbers, a float where one of them is.

    >>> import fasttensor as torch
    >>> torch.sym_max(3, 2.5)
    3.0
    """
    return _larger(a, b, max)


def sym_min(a, b):
    """The smaller of two numbers, a float where one of them is.

    >>> import fasttensor as torch
    >>> torch.sym_min(3, 2)
    2
    """
    return _larger(a, b, min)


def sym_not(a):
    """Whether a truth value is false.

    >>> import fasttensor as torch
    >>> torch.sym_not(False)
    True
    """
    return not a


def sym_ite(b, t, f):
    """`t` where `b` holds, else `f`, which is of the same type. TypeError otherwise.

    >>> import fasttensor as torch
    >>> torch.sym_ite(True, 1, 2)
    1
    """
    if type(b) is not bool or type(t) is not type(f):
        raise TypeError(f"sym_ite(): expected a bool and two values of one type, got {type(b).__name__}, {type(t).__name__} and {type(f).__name__}")
    return t if b else f


def sym_sum(args):
    """The sum of a list of ints.

    >>> import fasttensor as torch
    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return functools.reduce(lambda a, b: a + b, args) if args else 0


def sym_sqrt(a):
    """The square root of a number.

    >>> import fasttensor as torch
    >>> torch.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


_sym_sqrt = sym_sqrt          # by which graphs name it
