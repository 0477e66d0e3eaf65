"""Averaged stochastic gradient descent."""
import fasttensor as torch

from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_lr, scalar_dtype, to_scalar

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992).

    p = (1 - lambd * eta) p - eta g;  ax += mu (p - ax);
    eta = lr / (1 + lambd * lr * t)^alpha;  mu = 1 / max(1, t - t0)

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr, lambd, alpha, t0: as above; lr may be a one-element Tensor. state[p]["ax"] is the average.
        weight_decay: L2 penalty, added to the gradient.
        foreach, maximize, differentiable, capturable: as in `Adam`.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.ASGD([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.2, 0.2]
    """

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None,
                 maximize=False, differentiable=False, capturable=False):
        check_lr(lr)
        check_at_least_zero(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def __setstate__(self, state):
        super().__setstate__(state)
        for own in self.state.values():
            for name in ("eta", "mu"):
                if name in own and not isinstance(own[name], torch.Tensor):
                    own[name] = torch.tensor(float(own[name]), dtype=scalar_dtype())

    def _kernel(self, group):
        return "asgd", ("ax",), ("step", "eta", "mu")

    def _hyper(self, group):
        return group["lambd"], group["alpha"], group["t0"]

    def _new_state(self, p, group):
        return {"step": new_step(), "eta": new_step(float(to_scalar(group["lr"]))), "mu": new_step(1.0),
                "ax": zeros_like(p)}

    def _update(self, p, g, state, group):
        lambd, lr = group["lambd"], float(self._lr(group))
        t = advance(state)
        g = self._decay(p, g, group)
        eta, mu = state["eta"].item(), state["mu"].item()
        p.mul_(1 - lambd * eta)
        p.sub_(g * eta)
        put(state["ax"], p if mu == 1 else state["ax"] + (p - state["ax"]) * mu)
        state["eta"].fill_(lr / (1 + lambd * lr * t) ** group["alpha"])
        state["mu"].fill_(1 / max(1, t - group["t0"]))
