"""Automatic differentiation: the graph, the backward sweep, and what users write on top of them."""

from fasttensor.autograd.api import backward, grad
from fasttensor.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = ["Function", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "graph",
           "inference_mode", "is_grad_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled", "functional"]

# Found on first use: name -> module below fasttensor.autograd.
_LAZY = {"Function": "function", "once_differentiable": "function", "FunctionCtx": "function",
         "gradcheck": "numeric_check", "gradgradcheck": "numeric_check", "GradcheckError": "numeric_check",
         "detect_anomaly": "anomaly", "set_detect_anomaly": "anomaly", "is_anomaly_enabled": "anomaly", "is_anomaly_check_nan_enabled": "anomaly",
         "Variable": "function", "set_multithreading_enabled": "grad_mode",
         "_unsafe_preserve_version_counter": "grad_mode"}
_MODULES = ("graph", "forward_ad", "function", "anomaly", "functional", "profiler", "profiler_util", "grad_mode")


def __getattr__(name):
    from importlib import import_module
    if name in _LAZY:
        module = import_module("fasttensor.autograd." + _LAZY[name])
        value = getattr(module, name)
    elif name in _MODULES:
        try:
            value = import_module("fasttensor.autograd." + name)
        except ModuleNotFoundError as error:
            if error.name != "fasttensor.autograd." + name:
                raise
            raise AttributeError(f"module 'fasttensor.autograd' has no attribute {name!r}") from None
    else:
        raise AttributeError(f"module 'fasttensor.autograd' has no attribute {name!r}")
    globals()[name] = value
    return value
