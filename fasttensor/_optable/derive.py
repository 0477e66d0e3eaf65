"""The table's gradient expressions at run time, for double backward and forward mode."""

import functools

from . import expr
from .table import OPS


@functools.lru_cache(maxsize=None)
def derivatives(index):
    """Per input of operation `index` a callable `f(ns, g, inputs, y, params)` over Tensors, or None.

    ns: a mapping from function names to functions over Tensors (`conj` and `is_complex` among them).
    inputs: the operands (what is not saved may be None); y: the result; params: values by position.

    >>> import math
    >>> from .table import INDEX
    >>> ns = {"is_complex": lambda t: False}
    >>> derivatives(INDEX["tanh"])[0](ns, 1.0, (0.5,), 0.5, ())
    0.75
    """
    op = OPS[index]
    return tuple(_derivative(op, real, cplx) for real, cplx in zip(op.gradients, op.complex_gradients))


def second_of(index):
    """The name of the node that a recorded gradient of operation `index` gets (see ``Op.second``), or an empty text."""
    return OPS[index].second and OPS[index].second + "Backward0"


def _derivative(op, real, cplx):
    if real is None and cplx is None:
        return None
    plain = expr.to_python(real or cplx)
    special = expr.to_python(cplx) if cplx else None
    names = op.inputs + ("y",)

    def gradient(ns, g, inputs, y, params):
        values = dict(zip(op.params, params), g=g)
        saved = dict(zip(names, tuple(inputs) + (y,)))
        # the gradient tells the dtype where nothing was saved
        known = [v for v in saved.values() if v is not None] or [g]
        if not any(ns["is_complex"](v) for v in known):
            return plain(ns, {**values, **saved})
        if special is not None:
            return special(ns, {**values, **saved})
        # PyTorch's convention: the gradient of a holomorphic function is g * conj(f').
        conj = {n: ns["conj"](v) if v is not None and ns["is_complex"](v) else v for n, v in saved.items()}
        return plain(ns, {**values, **conj})

    return gradient
