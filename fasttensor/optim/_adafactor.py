"""Adafactor: second moments kept as a row and a column."""
import fasttensor as torch

from ._perparameter import advance, new_step
from .optimizer import Optimizer, check_lr, scalar_dtype

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern 2018, arXiv:1804.04235), in PyTorch's variant.

    The running mean of g^2 of a matrix is rebuilt from its row and column means, R C / mean(R),
    so that the state of an (n, m) parameter takes n + m numbers. The update is scaled by the
    parameter's own root mean square and clipped at root mean square `d`.

    Args:
        params: iterable of real floating point Tensors, or of dicts (see `Optimizer`).
        lr: upper bound of the relative step, min(lr, 1 / sqrt(t)).
        beta2_decay: the decay rate of step t is 1 - t^beta2_decay.
        eps: (floor of the second moments, by default the dtype's eps; floor of the parameter's scale).
        d: clipping threshold, at least 1.
        weight_decay: decoupled weight decay.
        foreach, maximize: as in `Adam`.

    Raises ValueError for options out of range, RuntimeError for complex parameters.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.ones(2, 3))
    >>> opt = torch.optim.Adafactor([w], lr=0.1)
    >>> w.sum().backward(); opt.step(); [round(v, 4) for v in w.flatten().tolist()[:2]]
    [0.9, 0.9]
    """

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *,
                 foreach=None, maximize=False):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize})

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                own = self.state.get(p)
                if own and not isinstance(own["step"], torch.Tensor):
                    own["step"] = torch.tensor(float(own["step"]), dtype=scalar_dtype())

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

    def _new_state(self, g):
        if g.dim() < 2:
            return {"step": new_step(), "variance": torch.zeros_like(g)}
        shape = list(g.shape)
        return {"step": new_step(), "row_var": g.new_zeros(shape[:-1] + [1]),
                "col_var": g.new_zeros(shape[:-2] + [1, shape[-1]])}

    def _update(self, p, g, group):
        if torch.is_complex(p):
            raise RuntimeError("Adafactor does not support complex parameters")
        state = self.state[p]
        if not state:
            state.update(self._new_state(g))
        lr = float(group["lr"])
        floor, scale_floor = group["eps"]
        if floor is None:
            floor = torch.finfo(p.dtype).eps
        if group["maximize"]:
            g = -g
        t = advance(state)
        fresh = t ** group["beta2_decay"]
        size = max(p.numel(), 1)
        step = max(scale_floor, p.norm(2).item() / size ** 0.5) * min(lr, 1 / t ** 0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        squares = g * g
        if g.dim() > 1:
            row, col = state["row_var"], state["col_var"]
            row.lerp_(squares.mean(-1, True), fresh)
            col.lerp_(squares.mean(-2, True), fresh)
            variance = row @ col / row.mean(-2, True).clamp(min=floor)
        else:
            variance = state["variance"].lerp_(squares, fresh)
        update = variance.clamp(min=floor * floor).rsqrt() * g
        p.sub_(update * (step / max(1.0, update.norm(2).item() / (size ** 0.5 * group["d"]))))
