"""The base class of all optimizers: parameter groups, state, hooks, state_dict."""
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain

import fasttensor as torch
from fasttensor.cpu.optim_step import drop_grads

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook", "required"]

_global_pre_hooks = OrderedDict()
_global_post_hooks = OrderedDict()
_HOOK_KINDS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post",
               "load_state_dict_pre", "load_state_dict_post")


class _Required:
    """Stands for an option that has no default value."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


class RemovableHook:
    """What a `register_..._hook` method returns; `remove()` takes the hook off again."""

    _next = 0

    def __init__(self, hooks):
        self.hooks = hooks
        self.id = RemovableHook._next
        RemovableHook._next += 1

    def remove(self):
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _add_hook(hooks, hook, prepend=False):
    handle = RemovableHook(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Runs `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _add_hook(_global_post_hooks, hook)


def to_scalar(value):
    """A one-element Tensor as a 0-d Tensor, anything else as it is."""
    return value.squeeze() if isinstance(value, torch.Tensor) and value.dim() else value


def scalar_dtype():
    """The dtype of step counters: counts stay exact further in float64 where that is the default."""
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


def check_lr(lr, what="Invalid learning rate: {}"):
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(what.format(lr))


def check_at_least_zero(**values):
    """Raises PyTorch's ValueError for the first option that is negative."""
    for name, value in values.items():
        if not 0.0 <= value:
            label = {"eps": "epsilon"}.get(name, name)
            raise ValueError(f"Invalid {label} value: {value}")


def check_betas(betas):
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused(fused, foreach, differentiable):
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _with_hooks(step):
    @functools.wraps(step)
    def hooked_step(self, *args, **kwargs):
        self._opt_called = True     # schedulers warn when they are stepped before their optimizer
        if not (_global_pre_hooks or _global_post_hooks
                or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks):
            return step(self, *args, **kwargs)
        call = (self, *args)
        for hook in list(chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values())):
            result = hook(self, call, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                call, kwargs = result
        out = step(*call, **kwargs)
        for hook in list(chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values())):
            hook(self, call, kwargs)
        return out
    hooked_step.hooked = True
    return hooked_step


class Optimizer:
    """Base class of all optimizers.

    A subclass calls `super().__init__(params, defaults)` and writes `step(closure=None)`.

    Args:
        params: iterable of Tensors, of (name, Tensor) pairs, or of dicts, each a parameter
            group with "params" and its own options. The order must not change between runs.
        defaults: dict of options, for groups that do not give their own.

    Raises:
        TypeError: `params` is a single Tensor, or holds something that is not a Tensor.
        ValueError: no parameters, a parameter in two groups, a non-leaf Tensor.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.ones(3))
    >>> opt = torch.optim.SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError("params argument given to the optimizer should be "
                            "an iterable of Tensors or dicts, but got " + torch.typename(params))
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _patch_step_function(self):
        for kind in _HOOK_KINDS:
            self.__dict__.setdefault(f"_optimizer_{kind}_hooks", OrderedDict())
        # Users' subclasses define `step` too, so the class is patched and not this one method.
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * bool(i) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ---- hooks

    def register_step_pre_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` before each step; it may return new (args, kwargs)."""
        return _add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Runs `hook(optimizer, args, kwargs)` after each step."""
        return _add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` before `state_dict`."""
        return _add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` after `state_dict`; it may return another dict."""
        return _add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Runs `hook(optimizer, state_dict)` before `load_state_dict`; it may return another dict."""
        return _add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Runs `hook(optimizer)` after `load_state_dict`."""
        return _add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ---- state

    def state_dict(self):
        """The optimizer's state as {"state": {index: ...}, "param_groups": [...]}.

        Parameters are replaced by their index in order of the groups. Tensors are not copied.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index = {}
        groups = []
        count = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], count):
                index.setdefault(id(p), i)
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [index[id(p)] for p in group["params"]]
            groups.append(packed)
            count += len(packed["params"])
        state = {index[id(k)] if isinstance(k, torch.Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            other = hook(self, result)
            if other is not None:
                result = other
        return result

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` of an optimizer with groups of the same sizes returned.

        State Tensors are converted to their parameter's dtype and device, step counters are not.
        Raises ValueError where the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            other = hook(self, state_dict)
            if other is not None:
                state_dict = other
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError("loaded state dict contains a parameter group "
                             "that doesn't match the size of optimizer's group")
        owner = {}
        for group, new in zip(groups, saved):
            for i, p in zip(new["params"], group["params"]):
                owner[i] = (p, new)
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owner:
                p, group = owner[key]
                state[p] = _fit(value, p, group)
            else:
                state[key] = value
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or fills them with zeros if `set_to_none` is False."""
        for group in self.param_groups:
            if set_to_none:
                drop_grads(group["params"])
                continue
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def step(self, closure=None):
        """Updates the parameters once. `closure`, where given, computes the loss and gradients again."""
        raise NotImplementedError

    def add_param_group(self, param_group):
        """Adds a group {"params": [...], option: value, ...}; missing options take the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering "
                            "of tensors in sets will change between runs. Please use a list instead.")
        params = list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, torch.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + torch.typename(p))
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        mine = {id(p) for p in params}
        if len(mine) != len(params):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; "
                          "each of them is updated once for each time that it appears", stacklevel=3)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                text = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. "
                                 f"cannot add param group {text} to the optimizer")
            if not mine.isdisjoint(id(p) for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def _fit(value, p, group, key=None):
    """A loaded state value for parameter `p`: Tensors on its device and, floats, of its dtype."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            if group.get("capturable") or group.get("fused"):
                return value.to(dtype=torch.float32, device=p.device)
            return value
        if p.is_floating_point():
            return value.to(dtype=p.dtype, device=p.device)
        return value.to(device=p.device)
    if isinstance(value, dict):
        return {k: _fit(v, p, group, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_fit(v, p, group) for v in value)
    return value
