"""Adam with the infinity norm."""
import fasttensor as torch

from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_betas, check_lr

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """Adamax (Kingma and Ba 2015, arXiv:1412.6980, section 7.1).

    m = b1 m + (1 - b1) g;  u = max(b2 u, |g| + eps);  p -= lr / (1 - b1^t) * m / u

    Arguments and errors are those of `Adam`, without `amsgrad`.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.Adamax([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.1, 0.1]
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *,
                 maximize=False, differentiable=False, capturable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _kernel(self, group):
        return "adamax", ("exp_avg", "exp_inf"), ("step",)

    def _hyper(self, group):
        return *group["betas"], group["eps"]

    def _new_state(self, p, group):
        return {"step": new_step(), "exp_avg": zeros_like(p), "exp_inf": zeros_like(p)}

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        t = advance(state)
        g = self._decay(p, g, group)
        m = put(state["exp_avg"], state["exp_avg"] + (g - state["exp_avg"]) * (1 - beta1))
        u = put(state["exp_inf"], torch.maximum(state["exp_inf"] * beta2, g.abs() + group["eps"]))
        p.sub_(m / u * (self._lr(group) / (1 - beta1 ** t)))
