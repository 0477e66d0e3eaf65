"""Scaling of losses, so that small gradients do not vanish in float16."""

import warnings
from collections import defaultdict
from enum import Enum

import fasttensor as ft

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer is in this iteration."""
    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state():
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Multiplies losses by a factor, divides gradients by it, and skips steps with infinite or NaN gradients.

    The factor starts at init_scale, is multiplied by backoff_factor after a skipped step, and by growth_factor after
    growth_interval steps in a row that were not skipped. With ``enabled=False`` every method passes its argument
    through. device "cuda" warns and is disabled without a GPU.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> with torch.autocast("cpu", dtype=torch.float16):
    ...     loss = model(torch.ones(4, 2)).float().mean()
    >>> scaler.scale(loss).backward()
    >>> model.bias.grad
    tensor([8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> model.bias.grad, scaler.get_scale()
    (tensor([1.]), 8.0)
    """

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self._device, self._enabled = device, bool(enabled)
        if enabled and device == "cuda" and not ft.cuda.is_available():
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError(f"GradScaler: the growth factor must be > 1.0, got {growth_factor}")
            if backoff_factor >= 1.0:
                raise AssertionError(f"GradScaler: the backoff factor must be < 1.0, got {backoff_factor}")
            self._init_scale, self._scale = init_scale, None
            self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
            self._init_growth_tracker, self._growth_tracker = 0, None
            self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _check_scale(self, name):
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or"
                                 " outputs) earlier in the iteration.")
        return self._scale

    def _start(self):
        if self._scale is None:
            self._scale = ft.full((), self._init_scale, dtype=ft.float32)
            self._growth_tracker = ft.full((), self._init_growth_tracker, dtype=ft.int32)

    def scale(self, outputs):
        """A tensor, or the tensors in a list, tuple or other iterable, times the factor."""
        if not self._enabled:
            return outputs
        self._start()
        if isinstance(outputs, ft.Tensor):
            return outputs * self._scale.to(outputs.device)
        if hasattr(outputs, "__iter__"):
            made = [self.scale(value) for value in outputs]
            return type(outputs)(made) if isinstance(outputs, (list, tuple)) else iter(made)
        raise ValueError(f"outputs must be a Tensor or an iterable of Tensors, not {type(outputs).__name__}")

    def _unscale_grads_(self, optimizer, inverse, allow_fp16):
        """Divide the gradients by the factor; {device: 1.0 if one of them is not finite}."""
        found = {}
        with ft.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    grad = parameter.grad
                    if grad is None:
                        continue
                    if grad.dtype is ft.float16 and not allow_fp16:
                        raise ValueError("Attempting to unscale FP16 gradients. Keep the parameters in float32 and run the model under"
                                         " autocast.")
                    bad = not bool(grad.isfinite().all())
                    if inverse != 1.0:
                        grad.mul_(inverse)
                    device = grad.device
                    if device not in found or bad:
                        found[device] = ft.full((), float(bad or bool(found.get(device, 0.0))))
        return found

    def unscale_(self, optimizer):
        """Divide an optimizer's gradients by the factor, for example before they are clipped; `step` does it otherwise.

        Once per optimizer and `update`: RuntimeError after that.
        """
        if not self._enabled:
            return
        scale = self._check_scale("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, 1.0 / float(scale), False)
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(*args, **kwargs)`` on unscaled gradients, or nothing where one of them is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or (args and callable(args[0])):
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer: none of its parameters has a gradient.")
        result = None
        if not any(bool(bad) for bad in state["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """End an iteration: adapt the factor to what the steps found, or set it to a number or a float32 tensor."""
        if not self._enabled:
            return
        scale = self._check_scale("update")
        if new_scale is not None:
            if isinstance(new_scale, ft.Tensor):
                if new_scale.numel() != 1 or new_scale.requires_grad or new_scale.dtype is not ft.float32:
                    raise AssertionError("new_scale should be a float or a 1-element float32 Tensor with requires_grad=False.")
                scale.copy_(new_scale.reshape(()))
            else:
                scale.fill_(new_scale)
        else:
            found = [bad for state in self._per_optimizer_states.values() for bad in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(any(bool(bad) for bad in found))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _adapt(self, skipped):
        if skipped:
            self._scale.mul_(self._backoff_factor)
            self._growth_tracker.zero_()
            return
        successes = int(self._growth_tracker) + 1
        if successes == self._growth_interval:
            grown = self._scale * self._growth_factor
            if bool(grown.isfinite()):      # an infinite factor could never be undone
                self._scale.copy_(grown)
            successes = 0
        self._growth_tracker.fill_(successes)

    def _get_scale_async(self):
        return self._scale

    def get_scale(self):
        """The factor; 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """What the factor is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the factor is multiplied by after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """How many steps in a row must succeed before the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker)

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    def state_dict(self):
        """The factor, how it changes, and the steps since it did; {} when disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict):
        """Take up what `state_dict` gave; RuntimeError for the empty state of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self):
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after"
                                     " scaler.update().")
            # the tensors are made again when they are needed
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None, _growth_tracker=None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer):
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = self._unscale_grads_(optimizer, 1.0, True)
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def _found_inf_per_device(self, optimizer):
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
