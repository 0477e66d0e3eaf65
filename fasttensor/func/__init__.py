"""Function transforms: gradients, products with Jacobians, and vectorisation of functions (PyTorch's ``torch.func``).

The transforms compose. `vmap` runs a function once for a whole batch (`fasttensor.autograd.batching`); the
others are sweeps of the ordinary engine over fresh leaves, so that they nest with each other, with `vmap` and
with ``backward``.
"""
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearrange import rearrange
from .transforms import debug_unwrap, functionalize, grad, grad_and_value, jvp, linearize, vjp
from .vmap import vmap

__all__ = ["grad", "grad_and_value", "vjp", "jvp", "linearize", "jacrev", "jacfwd", "hessian", "vmap", "functional_call",
           "stack_module_state", "functionalize", "debug_unwrap", "replace_all_batch_norm_modules_", "rearrange"]
