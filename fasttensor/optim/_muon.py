"""Muon: momentum whose update is made orthogonal."""
import math

import fasttensor as torch

from .optimizer import Optimizer, check_lr

__all__ = ["Muon"]


def orthogonalise(g, coefficients, steps, eps):
    """About the closest matrix to `g` with all singular values 1, by Newton and Schulz's iteration.

    X = a X + (b A + c A^2) X with A = X X^T, in bfloat16 (Jordan et al. 2024, "Muon: An optimizer for hidden
    layers in neural networks"). The coefficients push small singular values up fast and leave all of
    them within about 0.5 to 1.5.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if g.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    # The product X X^T is smaller when X is wide.
    tall = g.size(0) > g.size(1)
    x = g.bfloat16()
    if tall:
        x = x.t()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        poly = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.addmm(x, poly, x, beta=a)
    return x.t() if tall else x


class Muon(Optimizer):
    """Muon (Jordan et al. 2024) for the weight matrices of hidden layers.

    buf = momentum * buf + (1 - momentum) * g;  p = (1 - lr * weight_decay) p - lr' * orthogonalised update

    Args:
        params: iterable of real 2-d Tensors, or of dicts (see `Optimizer`); ValueError for other ranks.
        lr, weight_decay, momentum, nesterov: as above; Nesterov's update is lerp(g, buf, momentum).
        ns_coefficients, eps, ns_steps: of the iteration (see `orthogonalise`).
        adjust_lr_fn: "original" (the default) scales lr by sqrt(max(1, rows / columns)),
            "match_rms_adamw" by 0.2 sqrt(max(rows, columns)).

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.eye(2))
    >>> opt = torch.optim.Muon([w], lr=0.1)
    >>> w.sum().backward(); opt.step(); tuple(w.shape)
    (2, 2)
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})

    def add_param_group(self, param_group):
        super().add_param_group(param_group)
        for p in param_group["params"]:
            if p.dim() != 2:
                self.param_groups.pop()
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def step(self, closure=None):
        """Updates every parameter that has a gradient; returns the closure's result."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._update(p, p.grad, group)
        return loss

    def _update(self, p, g, group):
        if torch.is_complex(p):
            raise RuntimeError("Muon does not support complex parameters")
        lr, momentum = float(group["lr"]), group["momentum"]
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(g, memory_format=torch.preserve_format)
        buf = state["momentum_buffer"]
        buf.lerp_(g, 1 - momentum)
        update = g.lerp(buf, momentum) if group["nesterov"] else buf
        update = orthogonalise(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * math.sqrt(max(rows, columns))
        else:
            scale = math.sqrt(max(1, rows / max(columns, 1)))
        p.mul_(1 - lr * group["weight_decay"])
        p.sub_(update.to(p.dtype) * (lr * scale))
