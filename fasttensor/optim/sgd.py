"""Stochastic gradient descent."""
import fasttensor as torch

from ._perparameter import PerParameter, put, zeros_like
from .optimizer import check_fused

__all__ = ["SGD"]


class SGD(PerParameter):
    """Stochastic gradient descent with momentum (Sutskever et al. 2013) and Nesterov's variant.

    buf = momentum * buf + (1 - dampening) * g, starting at the first gradient;
    p -= lr * buf, or lr * (g + momentum * buf) with `nesterov`.

    Args:
        params: iterable of floating point or complex Tensors, or of dicts (see `Optimizer`).
        lr: learning rate, a float or a one-element Tensor.
        momentum, dampening: factors of the running gradient.
        weight_decay: L2 penalty, added to the gradient.
        nesterov: needs a momentum and zero dampening, else ValueError.
        maximize: ascends instead.
        foreach, fused: accepted; the fused kernel always runs where it can.
        differentiable: the step itself is recorded by autograd.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    >>> opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> w.sum().backward(); opt.step(); w.tolist()
    [0.8999999761581421, 1.899999976158142]
    """

    _as_real = False

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
            "fused": fused})

    def _group_defaults(self):
        return {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}

    def _kernel(self, group):
        if group["momentum"] == 0:
            return "sgd", (), ()
        return "sgd_momentum", ("momentum_buffer",), ()

    def _hyper(self, group):
        return float(group["momentum"]), float(group["dampening"]), float(group["nesterov"])

    def _has_state(self, group):
        return group["momentum"] != 0

    def _new_state(self, p, group):
        return {}

    def _kernel_state(self, p, group):
        # The kernel knows from its making that the buffer is new: dampening skips the first step.
        state = self.state[p]
        state["momentum_buffer"] = zeros_like(p)
        return state

    def _update(self, p, g, state, group):
        momentum = group["momentum"]
        g = self._decay(p, g, group)
        if momentum != 0:
            buf = state.get("momentum_buffer")
            if buf is None:
                buf = state["momentum_buffer"] = g.detach().clone()
            else:
                buf = put(buf, buf * momentum + g * (1 - group["dampening"]))
            g = g + buf * momentum if group["nesterov"] else buf
        p.sub_(g * self._lr(group))
