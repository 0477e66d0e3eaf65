"""PyTorch's place for Module."""
from ..hooks import (register_module_backward_hook, register_module_buffer_registration_hook,  # noqa: F401
                     register_module_forward_hook, register_module_forward_pre_hook,
                     register_module_full_backward_hook, register_module_full_backward_pre_hook,
                     register_module_module_registration_hook, register_module_parameter_registration_hook)
from ..module import Module  # noqa: F401
from ..module_state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys  # noqa: F401
from ..hooks import (backward_hooks as _global_backward_hooks, backward_pre_hooks as _global_backward_pre_hooks,  # noqa: F401
                     buffer_registration_hooks as _global_buffer_registration_hooks, forward_hooks as _global_forward_hooks,
                     forward_hooks_always_called as _global_forward_hooks_always_called,
                     forward_hooks_with_kwargs as _global_forward_hooks_with_kwargs, forward_pre_hooks as _global_forward_pre_hooks,
                     module_registration_hooks as _global_module_registration_hooks,
                     parameter_registration_hooks as _global_parameter_registration_hooks)
