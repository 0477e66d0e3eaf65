"""Adam with Nesterov momentum."""
from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_betas, check_lr

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """NAdam (Dozat 2016, "Incorporating Nesterov Momentum into Adam").

    mu_t = b1 (1 - 0.5 * 0.96^(t * momentum_decay)); with P_t = mu_1 ... mu_t,
    p -= lr * ((1 - mu_t) / (1 - P_t) * g + mu_{t+1} / (1 - P_{t+1}) * m) / (sqrt(v / (1 - b2^t)) + eps)

    Arguments and errors are those of `Adam`, without `amsgrad`; `momentum_decay` as above.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.NAdam([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); bool((w > 0).all())
    True
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable})

    def _group_defaults(self):
        return {**super()._group_defaults(), "decoupled_weight_decay": False}

    def _kernel(self, group):
        return "nadam", ("exp_avg", "exp_avg_sq"), ("step", "mu_product")

    def _hyper(self, group):
        return *group["betas"], group["eps"], float(group["decoupled_weight_decay"]), group["momentum_decay"]

    def _new_state(self, p, group):
        return {"step": new_step(), "mu_product": new_step(1.0), "exp_avg": zeros_like(p),
                "exp_avg_sq": zeros_like(p)}

    def _update(self, p, g, state, group):
        beta1, beta2 = group["betas"]
        lr = self._lr(group)
        t = advance(state)
        if group["decoupled_weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        else:
            g = self._decay(p, g, group)
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (k * group["momentum_decay"])) for k in (t, t + 1))
        product = state["mu_product"].mul_(mu).item()
        m = put(state["exp_avg"], state["exp_avg"] + (g - state["exp_avg"]) * (1 - beta1))
        v = put(state["exp_avg_sq"], state["exp_avg_sq"] * beta2 + g * g * (1 - beta2))
        denominator = (v / (1 - beta2 ** t)).sqrt() + group["eps"]
        p.sub_(g / denominator * (lr * (1.0 - mu) / (1.0 - product)))
        p.sub_(m / denominator * (lr * mu_next / (1.0 - product * mu_next)))
