"""Adadelta."""
from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_lr

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """Adadelta (Zeiler 2012, arXiv:1212.5701).

    v = rho v + (1 - rho) g^2;  d = sqrt(u + eps) / sqrt(v + eps) * g;  u = rho u + (1 - rho) d^2;  p -= lr * d

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr, rho, eps: as above, rho in [0, 1]; lr may be a one-element Tensor.
        weight_decay: L2 penalty, added to the gradient.
        foreach, capturable, maximize, differentiable: as in `Adam`.

    Raises ValueError for options out of range.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.Adadelta([w])
    >>> (w - 1).square().sum().backward(); opt.step(); bool((w > 0).all())
    True
    """

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False, differentiable=False):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least_zero(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _kernel(self, group):
        return "adadelta", ("square_avg", "acc_delta"), ("step",)

    def _hyper(self, group):
        return group["rho"], group["eps"]

    def _new_state(self, p, group):
        return {"step": new_step(), "square_avg": zeros_like(p), "acc_delta": zeros_like(p)}

    def _update(self, p, g, state, group):
        rho, eps = group["rho"], group["eps"]
        advance(state)
        g = self._decay(p, g, group)
        v = put(state["square_avg"], state["square_avg"] * rho + g * g * (1 - rho))
        delta = (state["acc_delta"] + eps).sqrt() / (v + eps).sqrt() * g
        put(state["acc_delta"], state["acc_delta"] * rho + delta * delta * (1 - rho))
        p.sub_(delta * self._lr(group))
