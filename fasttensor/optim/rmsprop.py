"""RMSprop."""
from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_lr

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """RMSprop (Hinton, lecture 6 of his 2012 course; centered: Graves 2013, arXiv:1308.0850).

    v = alpha v + (1 - alpha) g^2;  p -= lr * g / (sqrt(v) + eps)

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr, alpha, eps: as above; lr may be a one-element Tensor.
        weight_decay: L2 penalty, added to the gradient.
        momentum: above 0 the quotients are accumulated, buf = momentum * buf + g / (...).
        centered: subtracts the squared running mean of g from v.
        maximize, foreach, capturable, differentiable: as in `Adam`.

    Raises ValueError for negative options.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.RMSprop([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [1.0, 1.0]
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        check_lr(lr)
        check_at_least_zero(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable})

    def _group_defaults(self):
        return {**super()._group_defaults(), "momentum": 0, "centered": False}

    def _kernel(self, group):
        name, states = "rmsprop", ("square_avg",)
        if group["centered"]:
            name, states = name + "_centered", (*states, "grad_avg")
        if group["momentum"] > 0:
            name, states = name + "_momentum", (*states, "momentum_buffer")
        return name, states, ("step",)

    def _hyper(self, group):
        return group["alpha"], group["eps"], float(group["momentum"])

    def _new_state(self, p, group):
        state = {"step": new_step(), "square_avg": zeros_like(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)
        return state

    def _update(self, p, g, state, group):
        alpha = group["alpha"]
        advance(state)
        g = self._decay(p, g, group)
        v = put(state["square_avg"], state["square_avg"] * alpha + g * g * (1 - alpha))
        if group["centered"]:
            mean = put(state["grad_avg"], state["grad_avg"] + (g - state["grad_avg"]) * (1 - alpha))
            v = v - mean * mean
        update = g / (v.sqrt() + group["eps"])
        if group["momentum"] > 0:
            update = put(state["momentum_buffer"], state["momentum_buffer"] * group["momentum"] + update)
        p.sub_(update * self._lr(group))
