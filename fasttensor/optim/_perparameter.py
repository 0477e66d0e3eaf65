"""Optimizers whose update of one element needs that element's values alone.

A subclass names its kernels and writes the update once more as Tensor operations, which serve
half precision, other devices and `differentiable=True`:

    class SGD(PerParameter):
        def _kernel(self, group): return "sgd_momentum", ("momentum_buffer",), ()
        def _hyper(self, group): return (momentum, ...)
        def _new_state(self, p, group): return {"momentum_buffer": zeros_like(p)}
        def _update(self, p, g, state, group): ...
"""
import fasttensor as torch
from fasttensor._core.dispatch import backend

from .optimizer import Optimizer, scalar_dtype, to_scalar


class PerParameter(Optimizer):
    """Runs a group through one fused kernel call, and what the kernel cannot take one by one."""

    _as_real = True     # complex parameters are updated as pairs of real ones

    def __init__(self, params, defaults):
        self._plans = {}
        super().__init__(params, defaults)

    def __setstate__(self, state):
        self._plans = {}
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._group_defaults().items():
                group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p)
                # Checkpoints of old PyTorch versions hold plain numbers.
                if own and "step" in own and not isinstance(own["step"], torch.Tensor):
                    own["step"] = torch.tensor(float(own["step"]), dtype=scalar_dtype())

    def _group_defaults(self):
        return {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def _kernel(self, group):
        """(kernel name, names of the state Tensors in its order, names of its 0-d states)"""
        raise NotImplementedError

    def _hyper(self, group):
        """The kernel's own options, after lr, weight_decay and maximize."""
        raise NotImplementedError

    def _new_state(self, p, group):
        raise NotImplementedError

    def _update(self, p, g, state, group):
        """One parameter by Tensor operations; complex ones arrive as their real views."""
        raise NotImplementedError

    def step(self, closure=None):
        """Updates every parameter that has a gradient.

        Args:
            closure: where given, it is called first, with gradients enabled; its result is returned.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if group.get("differentiable"):
                rest = group["params"]
            else:
                rest = self._fused(group)
            if rest:
                with torch.set_grad_enabled(bool(group.get("differentiable"))):
                    self._one_by_one(rest, group)
        return loss

    def _fused(self, group):
        """Runs the kernel; returns the parameters left over."""
        kernel = self._kernel(group)
        key = id(group)
        plan = self._plans.get(key)
        if plan is None or not plan.serves(group["params"], kernel):
            try:
                plan = self._plans[key] = backend(group["params"][0]).OptimPlan(group["params"], kernel)
            except (IndexError, NotImplementedError):       # an empty group, or a device without this kernel
                return group["params"]
        hyper = (float(group["lr"]), float(group.get("weight_decay", 0.0)), float(group["maximize"]),
                 *self._hyper(group))
        return plan.step(self.state, hyper, self._kernel_state, group)

    def _state_of(self, p, group):
        """The state of p; what is missing of it is made."""
        if not self._has_state(group):
            return {}
        state = self.state[p]
        if not state:
            state.update(self._new_state(p, group))
        return state

    def _has_state(self, group):
        return True

    def _kernel_state(self, p, group):
        """As `_state_of`, for a parameter that lacks a state Tensor that the kernel needs."""
        state = self.state[p]
        for name, value in self._new_state(p, group).items():
            if state.get(name) is None:
                state[name] = value
        return state

    def _one_by_one(self, params, group):
        for p in params:
            g = p.grad
            if g is None:
                continue
            state = self._state_of(p, group)
            if group["maximize"]:
                g = -g
            if self._as_real and torch.is_complex(p):
                self._update(torch.view_as_real(p), torch.view_as_real(g), _real_views(state), group)
            else:
                self._update(p, g, state, group)

    def _decay(self, p, g, group):
        """The gradient with weight decay added."""
        decay = group["weight_decay"]
        return g + p * decay if isinstance(decay, torch.Tensor) or decay != 0 else g

    def _lr(self, group):
        return to_scalar(group["lr"])


def advance(state):
    """Counts a step and returns the new number."""
    step = state["step"]
    step += 1
    return step.item()


def zeros_like(p):
    return torch.zeros_like(p, memory_format=torch.preserve_format)


def new_step(value=0.0):
    return torch.tensor(value, dtype=scalar_dtype())


def put(target, value):
    """target[...] = value; returns `value`, which the update reads on: with gradients
    recorded, it is not the Tensor that the next step writes into."""
    target.copy_(value)
    return value


def _real_views(state):
    return {k: torch.view_as_real(v) if isinstance(v, torch.Tensor) and torch.is_complex(v) else v
            for k, v in state.items()}
