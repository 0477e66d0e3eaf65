"""PyTorch's place for Module."""
from ..hooks import (register_module_backward_hook, register_module_buffer_registration_hook,  # noqa: F401
                     register_module_forward_hook, register_module_forward_pre_hook,
                     register_module_full_backward_hook, register_module_full_backward_pre_hook,
                     register_module_module_registration_hook, register_module_parameter_registration_hook)
from ..module import Module  # noqa: F401
from ..module_state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys  # noqa: F401
