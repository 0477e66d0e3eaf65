"""Adagrad."""
import fasttensor as torch

from ._perparameter import PerParameter, advance, new_step, put
from .optimizer import check_at_least_zero, check_fused, check_lr

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """Adagrad (Duchi et al. 2011).

    sum += g^2;  p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(sum) + eps)

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr, lr_decay, eps: as above; lr may be a one-element Tensor.
        weight_decay: L2 penalty, added to the gradient.
        initial_accumulator_value: where `sum` starts.
        maximize, foreach, differentiable, fused: as in `Adam`.

    Raises ValueError for negative options.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> opt = torch.optim.Adagrad([w], lr=0.1)
    >>> (w - 1).square().sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.1, 0.1]
    """

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
                 foreach=None, *, maximize=False, differentiable=False, fused=None):
        check_lr(lr)
        check_at_least_zero(lr_decay=lr_decay, weight_decay=weight_decay,
                            initial_accumulator_value=initial_accumulator_value, eps=eps)
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused})
        # Unlike the others, PyTorch's Adagrad has its state before the first step.
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(p, group)

    def _group_defaults(self):
        return {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def _kernel(self, group):
        return "adagrad", ("sum",), ("step",)

    def _hyper(self, group):
        return group["lr_decay"], group["eps"]

    def _new_state(self, p, group):
        value = group["initial_accumulator_value"]
        if torch.is_complex(p):
            value = complex(value, value)
        return {"step": new_step(), "sum": torch.full_like(p, value, memory_format=torch.preserve_format)}

    def share_memory(self):
        """Moves the accumulators to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _update(self, p, g, state, group):
        t = advance(state)
        g = self._decay(p, g, group)
        total = put(state["sum"], state["sum"] + g * g)
        p.sub_(g / (total.sqrt() + group["eps"]) * (self._lr(group) / (1 + (t - 1) * group["lr_decay"])))
