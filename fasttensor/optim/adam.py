"""Adam, AMSGrad and decoupled weight decay."""
import fasttensor as torch

from ._perparameter import PerParameter, advance, new_step, put, zeros_like
from .optimizer import check_at_least_zero, check_betas, check_fused, check_lr, to_scalar

__all__ = ["Adam"]


class Adam(PerParameter):
    """Adam (Kingma and Ba 2015, arXiv:1412.6980), with AMSGrad (Reddi et al. 2018) as an option.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
    p -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps)

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr: learning rate, a float or a one-element Tensor.
        betas: decay rates of the two running averages, each in [0, 1).
        eps: added to the denominator.
        weight_decay: L2 penalty, or AdamW's decay with `decoupled_weight_decay`.
        amsgrad: divides by the largest v so far.
        maximize: ascends instead.
        foreach, fused, capturable: accepted; the fused kernel always runs where it can.
        differentiable: the step itself is recorded by autograd.

    Raises ValueError for options out of range.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.Adam([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.1, 0.1]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False, fused=None,
                 decoupled_weight_decay=False):
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check_at_least_zero(weight_decay=weight_decay)
        kinds = [isinstance(beta, torch.Tensor) for beta in betas]
        if not (all(kinds) or all(isinstance(beta, float) for beta in betas)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if kinds[i] and foreach and not capturable:
                raise ValueError(
                    f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if kinds[i] and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "betas": tuple(map(to_scalar, betas)), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})

    def _group_defaults(self):
        return {**super()._group_defaults(), "amsgrad": False, "decoupled_weight_decay": False, "fused": None}

    def _kernel(self, group):
        if group["amsgrad"]:
            return "amsgrad", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), ("step",)
        return "adam", ("exp_avg", "exp_avg_sq"), ("step",)

    def _hyper(self, group):
        beta1, beta2 = group["betas"]
        return float(beta1), float(beta2), group["eps"], float(group["decoupled_weight_decay"])

    def _new_state(self, p, group):
        state = {"step": new_step(), "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)
        return state

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
        if group["amsgrad"]:
            v = put(state["max_exp_avg_sq"], torch.maximum(state["max_exp_avg_sq"].clone(), v))
        denominator = v.sqrt() / (1 - beta2 ** t) ** 0.5 + group["eps"]
        p.sub_(m / denominator * (lr / (1 - beta1 ** t)))
