"""Adam with a rectified learning rate."""
from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_betas, check_lr

__all__ = ["RAdam"]


class RAdam(PerParameter):
    """RAdam (Liu et al. 2020, arXiv:1908.03265): plain momentum until the variance of v is tractable.

    With r = 2 / (1 - b2) - 1 and r_t = r - 2 t b2^t / (1 - b2^t), steps with r_t > 5 divide by
    sqrt(v / (1 - b2^t)) + eps' and multiply by sqrt((r_t-4)(r_t-2) r / ((r-4)(r-2) r_t)).

    Arguments and errors are those of `Adam`, without `amsgrad`.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.RAdam([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.2, 0.2]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False,
                 *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable})

    def _group_defaults(self):
        return {**super()._group_defaults(), "decoupled_weight_decay": False}

    def _kernel(self, group):
        return "radam", ("exp_avg", "exp_avg_sq"), ("step",)

    def _hyper(self, group):
        return *group["betas"], group["eps"], float(group["decoupled_weight_decay"])

    def _new_state(self, p, group):
        return {"step": new_step(), "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        lr = self._lr(group)
        t = advance(state)
        if group["decoupled_weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        else:
            g = self._decay(p, g, group)
        m = put(state["exp_avg"], state["exp_avg"] + (g - state["exp_avg"]) * (1 - beta1))
        v = put(state["exp_avg_sq"], state["exp_avg_sq"] * beta2 + g * g * (1 - beta2))
        correction = 1 - beta2 ** t
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2 ** t / correction
        update = m / (1 - beta1 ** t) * lr
        if length > 5.0:
            rectified = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5
            update = update * (correction ** 0.5 / (v.sqrt() + group["eps"])) * rectified
        p.sub_(update)
