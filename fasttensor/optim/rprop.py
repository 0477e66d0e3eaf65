"""Resilient backpropagation."""
import fasttensor as torch

from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_lr, to_scalar

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """Resilient backpropagation (Riedmiller and Braun 1993); for full batches.

    Each element has its own step size, multiplied by etas[1] while the gradient keeps its sign and by
    etas[0] when it turns, within step_sizes; p moves by -sign(g) * step size, and not at all on a turn.

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr: the first step size, a float or a one-element Tensor.
        etas: 0 < etas[0] < 1 < etas[1], else ValueError.
        step_sizes: the smallest and largest step size.
        capturable, foreach, maximize, differentiable: as in `Adam`.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.Rprop([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.1, 0.1]
    """

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def _kernel(self, group):
        return "rprop", ("prev", "step_size"), ("step",)

    def _hyper(self, group):
        return *group["etas"], *group["step_sizes"]

    def _new_state(self, p, group):
        size = float(to_scalar(group["lr"]))
        value = complex(size, size) if torch.is_complex(p) else size
        return {"step": new_step(), "prev": zeros_like(p),
                "step_size": torch.full_like(p, value, memory_format=torch.preserve_format)}

    def _update(self, p, g, state, group):
        shrink, grow = group["etas"]
        advance(state)
        product = g * state["prev"]
        factor = torch.ones_like(product).masked_fill(product > 0, grow).masked_fill(product < 0, shrink)
        size = put(state["step_size"], (state["step_size"] * factor).clamp(*group["step_sizes"]))
        g = put(state["prev"], g.masked_fill(product < 0, 0.0))
        p.sub_(g.sign() * size)
