"""Limited-memory BFGS."""
import fasttensor as torch

from ._line_search import strong_wolfe
from .optimizer import Optimizer, check_lr

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Limited-memory BFGS (Nocedal 1980; two-loop recursion of Nocedal and Wright, algorithm 7.4).

    One parameter group; `step` needs a closure, which it calls several times.

    Args:
        params: iterable of Tensors of one dtype, complex ones taken as pairs of reals.
        lr: step length, of the first step divided by the gradient's 1-norm where that is above 1.
        max_iter, max_eval: iterations and closure calls a step; max_eval is 1.25 max_iter by default.
        tolerance_grad: stops when no element of the gradient is larger.
        tolerance_change: stops when no element moves more, or the loss changes less.
        history_size: pairs of differences kept.
        line_search_fn: None, or "strong_wolfe".

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
    >>> opt = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     opt.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = opt.step(closure)
    >>> [round(v, 3) for v in w.tolist()]
    [1.0, 1.0]
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
                 history_size=100, line_search_fn=None):
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    def _flat_grad(self):
        parts = []
        for p in self._params:
            g = torch.zeros_like(p) if p.grad is None else p.grad
            parts.append((torch.view_as_real(g) if torch.is_complex(g) else g).reshape(-1))
        return torch.cat(parts)

    def _move(self, length, direction):
        at = 0
        for p in self._params:
            real = torch.view_as_real(p) if torch.is_complex(p) else p
            n = real.numel()
            real.add_(direction[at:at + n].reshape(real.shape), alpha=float(length))
            at += n

    def step(self, closure):
        """Runs up to `max_iter` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls backward on it and returns it.

        Returns the loss of the first call.
        """
        with torch.no_grad():
            return self._step(closure)

    def _step(self, closure):
        group = self.param_groups[0]
        lr = float(group["lr"])
        change, flat_limit = group["tolerance_change"], group["tolerance_grad"]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

        def evaluate():
            with torch.enable_grad():
                return closure()

        # PyTorch keeps the state of all parameters under the first one.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss = float(first_loss)
        calls = 1
        state["func_evals"] += 1
        g = self._flat_grad()
        if _largest(g) <= flat_limit:
            return first_loss

        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(g, state, group["history_size"])
            state["prev_flat_grad"] = g.clone()
            state["prev_loss"] = previous = loss
            t = lr
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / g.abs().sum()) * lr
            state["d"], state["t"] = d, t
            slope = g.dot(d)
            if slope > -change:
                break
            last = iteration == group["max_iter"]
            used = 0
            if search is not None:
                loss, g, t, used = self._search(evaluate, t, d, loss, g, slope, group["max_eval"] - calls)
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                if not last:
                    loss = float(evaluate())
                    g = self._flat_grad()
                    used = 1
            calls += used
            state["func_evals"] += used
            if (last or calls >= group["max_eval"] or _largest(g) <= flat_limit
                    or _largest(d) * abs(float(t)) <= change or abs(loss - previous) < change):
                break
        return first_loss

    def _direction(self, g, state, history_size):
        """-H g of the inverse Hessian H that the kept differences describe."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return g.neg()
        ys, ss, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y = g.sub(state["prev_flat_grad"])
        s = state["d"].mul(state["t"])
        curvature = y.dot(s)
        # A pair without positive curvature would make H indefinite.
        if curvature > 1e-10:
            if len(ys) == history_size:
                del ys[0], ss[0], ro[0]
            ys.append(y)
            ss.append(s)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / y.dot(y)
        q = g.neg()
        # As long as PyTorch's list, which takes a file up where this left off.
        al = [None] * max(history_size, len(ys))
        for i in reversed(range(len(ys))):
            al[i] = ss[i].dot(q) * ro[i]
            q.add_(ys[i], alpha=-al[i].item())
        state["al"] = al
        r = q * state["H_diag"]
        for i in range(len(ys)):
            r.add_(ss[i], alpha=(al[i] - ys[i].dot(r) * ro[i]).item())
        return r

    def _search(self, evaluate, t, d, loss, g, slope, max_calls):
        start = [p.clone() for p in self._params]

        def at(length):
            self._move(length, d)
            value = float(evaluate())
            gradient = self._flat_grad()
            for p, saved in zip(self._params, start):
                p.copy_(saved)
            return value, gradient

        return strong_wolfe(at, t, d, loss, g, slope, max_calls)


def _largest(v):
    return v.abs().max().item() if v.numel() else 0.0
