"""``autocast`` as a block and as a decorator, and autograd Functions in a lower precision."""

import collections.abc
import functools
import warnings

import fasttensor as ft

from . import settings
from .casting import state, update
from .settings import check_device

__all__ = ["autocast", "custom_fwd", "custom_bwd", "is_autocast_available", "autocast_decorator"]


def is_autocast_available(device_type):
    """Whether autocast knows a device, also when the machine has none.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return device_type != "meta" and bool(check_device(device_type))


def autocast_decorator(autocast_instance, func):
    """`func` run inside `autocast_instance`."""
    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)
    return decorate_autocast


class autocast:
    """Inside, products and convolutions run in a lower precision, and what needs float32 runs in float32.

    device_type: "cpu" here; "cuda" is accepted, and warns and does nothing without a GPU. dtype: bfloat16 (the CPU's
    default) or float16. Weights are converted once in a block unless cache_enabled is False. Blocks nest, and
    ``enabled=False`` switches autocast off inside. Backward runs in the dtypes that forward used: call it outside.
    Raises RuntimeError for an unknown device type, ValueError for one that is no string.

    >>> with torch.autocast("cpu"):
    ...     y = nn.Linear(4, 4)(torch.randn(2, 4))
    ...     loss = F.mse_loss(y, torch.zeros(2, 4))
    >>> y.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    >>> @torch.autocast("cpu", dtype=torch.float16)
    ... def product(a, b):
    ...     return a @ b
    >>> product(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.float16
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = check_device(device_type)
        self.fast_dtype = settings.get_autocast_dtype(self.device) if dtype is None else dtype
        self._enabled = bool(enabled)
        self._cache_enabled = state.cache_enabled if cache_enabled is None else bool(cache_enabled)
        self._before = []
        if self._enabled:
            self._check()

    def _check(self):
        """Switch off, with a warning, what this machine cannot do."""
        if self.device == "cpu":
            if self.fast_dtype not in (ft.bfloat16, ft.float16):
                warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                              "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.", stacklevel=3)
                self._enabled = False
        elif self.device != "cuda" or not ft.cuda.is_available():
            what = "CUDA" if self.device == "cuda" else f"the device {self.device!r}"
            warnings.warn(f"{what} is not available. Disabling autocast.", stacklevel=3)
            self._enabled = False

    def __enter__(self):
        self._before.append((state.enabled.get(self.device, False), state.dtype.get(self.device), state.cache_enabled))
        state.enabled[self.device], state.dtype[self.device] = self._enabled, self.fast_dtype
        state.cache_enabled = self._cache_enabled
        state.nesting += 1
        update()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        state.enabled[self.device], state.dtype[self.device], state.cache_enabled = self._before.pop()
        state.nesting -= 1
        if state.nesting == 0:
            state.cache.clear()
        update()
        return False

    def __call__(self, func):
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a"
                            " context manager? For example:\n    with torch.autocast(device_type=...):\n        output = model(input)")
        return autocast_decorator(self, func)


def _enter_autocast(*vals):
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    mode.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """`value` with every floating-point tensor in it, but float64, as `dtype`."""
    if isinstance(value, ft.Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not ft.float64
        return value.to(dtype) if fits else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        made = [_cast(item, device_type, dtype) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates ``forward`` of an autograd Function for autocast.

    With cast_inputs, a dtype, floating-point tensors that come in are converted to it inside an autocast block, and
    forward runs with autocast off; without, forward runs under the autocast state of the caller, which
    `custom_bwd` gives to backward too.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * g
    >>> with torch.autocast("cpu"):
    ...     Double.apply(torch.ones(1, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        args[0]._dtype = settings.get_autocast_dtype(device_type)
        on = settings.is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """Decorates ``backward`` of an autograd Function whose forward has `custom_fwd`: it runs under the same autocast state.

    Raises ValueError where `device_type` is no str.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> Double.apply(torch.ones(1))
    tensor([2.])
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return decorate_bwd
