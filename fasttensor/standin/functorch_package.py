"""The package ``functorch``, which comes with PyTorch: `torch.func` under its old names."""
import copy
import warnings

import fasttensor as torch
from fasttensor.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from fasttensor.func.modules import stack_module_state
from fasttensor.nn.utils.stateless import functional_call

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian",
           "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap"]


def _says_old(name, new):
    warnings.warn(f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated. "
                  f"Please use `torch.func.{new}` instead", FutureWarning, stacklevel=3)


def _without_state(model, disable_autograd_tracking):
    """(a copy on the device meta, the parameters by name, the buffers by name)"""
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    places = {id(t): torch.empty_like(t, device="meta") for t in buffers.values()}
    for t in parameters.values():
        places[id(t)] = torch.nn.Parameter(torch.empty_like(t, device="meta"), t.requires_grad)
    stateless = copy.deepcopy(model, places)
    if disable_autograd_tracking:
        parameters = {name: t.detach() for name, t in parameters.items()}
    return stateless, parameters, buffers


class FunctionalModule(torch.nn.Module):
    """A module as a function: ``f(parameters, *inputs)``, the parameters a tuple in the order of `named_parameters`."""

    def __init__(self, stateless_model, param_names, names_map=None):
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    def forward(self, params, *args, **kwargs):
        return functional_call(self.stateless_model, dict(zip(self.param_names, params)), args, kwargs)


class FunctionalModuleWithBuffers(torch.nn.Module):
    """A module as a function: ``f(parameters, buffers, *inputs)``."""

    def __init__(self, stateless_model, param_names, buffer_names, param_names_map=None, buffer_names_map=None):
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params, buffers, *args, **kwargs):
        named = {**dict(zip(self.param_names, params)), **dict(zip(self.buffer_names, buffers))}
        return functional_call(self.stateless_model, named, args, kwargs)


def make_functional(model, disable_autograd_tracking=False):
    """(function, parameters) of a module without buffers.

    Raises ValueError for a module with buffers.

    >>> f, params = make_functional(torch.nn.Linear(2, 1))
    >>> f(params, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    _says_old("make_functional", "functional_call")
    if list(model.buffers()):
        raise ValueError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    stateless, parameters, _ = _without_state(model, disable_autograd_tracking)
    return FunctionalModule(stateless, parameters), tuple(parameters.values())


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(function, parameters, buffers) of a module.

    >>> f, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2))
    >>> f(params, buffers, torch.ones(3, 2)).shape
    torch.Size([3, 2])
    """
    _says_old("make_functional_with_buffers", "functional_call")
    stateless, parameters, buffers = _without_state(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(stateless, parameters, buffers), tuple(parameters.values()), tuple(buffers.values())


def combine_state_for_ensemble(models):
    """(function, stacked parameters, stacked buffers) of models of one class, for `vmap`.

    Raises RuntimeError for no models, models of several classes or modes.

    >>> f, params, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> vmap(f, (0, 0, None))(params, buffers, torch.ones(4, 2)).shape
    torch.Size([3, 4, 1])
    """
    _says_old("combine_state_for_ensemble", "stack_module_state")
    parameters, buffers = stack_module_state(models)
    stateless, _, _ = _without_state(models[0], False)
    return FunctionalModuleWithBuffers(stateless, parameters, buffers), tuple(parameters.values()), tuple(buffers.values())
