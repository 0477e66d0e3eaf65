"""Switches of ``nn.Module``'s conversions, remembered as PyTorch does."""
__all__ = ["set_overwrite_module_params_on_conversion", "get_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
           "get_swap_module_params_on_conversion"]

_state = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value):
    """Whether ``module.to()`` makes new parameters instead of changing ``param.data``."""
    _state["overwrite"] = bool(value)


def get_overwrite_module_params_on_conversion():
    """What set_overwrite_module_params_on_conversion was told."""
    return _state["overwrite"]


def set_swap_module_params_on_conversion(value):
    """Whether conversions swap parameters in place."""
    _state["swap"] = bool(value)


def get_swap_module_params_on_conversion():
    """What set_swap_module_params_on_conversion was told."""
    return _state["swap"]
