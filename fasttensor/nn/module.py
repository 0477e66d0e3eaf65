"""Module, the base of all layers: attributes, calls and hooks.

The rest of Module is in module_tree.py (walking children), module_state.py
(state_dict) and module_convert.py (devices and dtypes).
"""
from collections import OrderedDict
from types import FunctionType
from typing import Any, TypeVar

import fasttensor as ft

from . import hooks as _hooks
from ._call import ModuleBase, attribute_found, set_dict, set_hooks, speed_up
from .hooks import RemovableHandle
from .module_convert import ConvertMixin
from .module_state import StateMixin
from .module_tree import TreeMixin, typename
from .parameter import Buffer, Parameter

set_hooks((_hooks.forward_hooks, _hooks.forward_pre_hooks, _hooks.backward_hooks, _hooks.backward_pre_hooks),
          _hooks.call_with_hooks)
_FUNCTIONS = (FunctionType, type(ft.relu))
_PLAIN = frozenset((bool, int, float, str, tuple, type(None)))


def _discard(name, *registries):
    for registry in registries:
        if registry is None:
            continue
        if isinstance(registry, set):
            registry.discard(name)
        else:
            registry.pop(name, None)


def _check_name(self, name, kind, registry):
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(self, name) and name not in registry:
        raise KeyError(f"attribute '{name}' already exists")


def _keep_functions_free(cls):
    """PyTorch's functions do not become methods where a class has them as attributes: `act = torch.tanh`."""
    for name, value in list(vars(cls).items()):
        # a method that functools.wraps one of these has its __module__, and globals of its own
        written = getattr(value, "__globals__", {}).get("__name__", "fasttensor.")
        if isinstance(value, _FUNCTIONS) and all((home or "").startswith("fasttensor.") for home in (getattr(value, "__module__", None), written)):
            setattr(cls, name, staticmethod(value))


class _Signature:
    """What ``inspect.signature(module)`` finds: any arguments, as the call itself is compiled. Of a class it finds that of its __init__."""

    def __get__(self, module, owner):
        if module is None or type(module).__call__ is not ModuleBase.__call__:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature
        return Signature([Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)])


class Module(StateMixin, ConvertMixin, TreeMixin, ModuleBase):
    """Base class of all layers and networks.

    Parameters, buffers and modules set as attributes are registered under their names.
    Subclasses call `super().__init__()` first and define `forward`.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = nn.Linear(4, 2)
    ...     def forward(self, x):
    ...         return self.fc(x).relu()
    >>> Net()(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    T_destination = TypeVar("T_destination", bound=dict[str, Any])     # libraries annotate with it
    dump_patches = False
    call_super_init = False
    training: bool
    __constants__ = []

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # Past __setattr__, which looks into these.
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={},
            _backward_pre_hooks=OrderedDict(), _backward_hooks=OrderedDict(), _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(), _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(), _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(), _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(), _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args, **kwargs):
        """Compute the module's result; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        speed_up(cls, Module)
        if not cls.__module__.startswith("fasttensor."):
            _keep_functions_free(cls)

    __signature__ = _Signature()

    def _call_impl(self, *args, **kwargs):
        return ModuleBase.__call__(self, *args, **kwargs)

    # Attributes

    def __getattr__(self, name):
        # Runs only for names that ordinary lookup has not found.
        d = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            found = d.get(registry)
            if found is not None and name in found:
                return attribute_found(self, name, found[name])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        d = self.__dict__
        params = d.get("_parameters")
        if name == "__dict__":
            set_dict(self, value)
            return
        if type(value) in _PLAIN and params is not None and name not in params \
                and name not in d["_modules"] and name not in d["_buffers"]:
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _discard(name, d, d["_buffers"], d["_modules"], d["_non_persistent_buffers_set"])
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' "
                                "(torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
            return
        modules = d.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _discard(name, d, params, d["_buffers"], d["_non_persistent_buffers_set"])
            modules[name] = _hooks.replaced(_hooks.module_registration_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' "
                                "(torch.nn.Module or None expected)")
            modules[name] = _hooks.replaced(_hooks.module_registration_hooks, self, name, value)
            return
        buffers = d.get("_buffers")
        if isinstance(value, ft.Tensor) and (isinstance(value, Buffer) or buffers is not None and name in buffers):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            keep = name not in d["_non_persistent_buffers_set"]
            persistent = value.persistent if isinstance(value, Buffer) else keep
            _discard(name, d, params, modules)
            if name in buffers:
                buffers[name] = _hooks.replaced(_hooks.buffer_registration_hooks, self, name, value)
                d["_non_persistent_buffers_set"].discard(name)
                if not persistent:
                    d["_non_persistent_buffers_set"].add(name)
            else:
                self.register_buffer(name, value, persistent)
            return
        if buffers is not None and name in buffers:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' "
                                "(torch.nn.Buffer, torch.Tensor or None expected)")
            buffers[name] = _hooks.replaced(_hooks.buffer_registration_hooks, self, name, value)
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(n for n in names if not n[0].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(state)
        # A pickle of an older class may lack what later versions added.
        for name in ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs",
                     "_forward_hooks_always_called", "_state_dict_hooks", "_state_dict_pre_hooks",
                     "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_backward_pre_hooks"):
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def register_parameter(self, name, param):
        """Add a Parameter, or None to keep the name free, under `name`.

        Raises TypeError for other values, KeyError for a name that is taken, empty or dotted,
        ValueError for a tensor that is not a leaf.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' "
                                "(torch.nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                                 f"explicitly. To express '{name}' as a function of another Tensor, compute the value "
                                 "in the forward() method.")
            if _hooks.parameter_registration_hooks:
                param = _hooks.replaced(_hooks.parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Add a Tensor that is state but not trained; `persistent=False` keeps it out of `state_dict()`."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, ft.Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                            "(torch Tensor or None required)")
        self._buffers[name] = _hooks.replaced(_hooks.buffer_registration_hooks, self, name, tensor)
        self._non_persistent_buffers_set.discard(name)
        if not persistent:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """Add a child module, or None, under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, name, "module", self._modules)
        self._modules[name] = _hooks.replaced(_hooks.module_registration_hooks, self, name, module)

    def register_module(self, name, module):
        """The same as `add_module`."""
        self.add_module(name, module)

    # Hooks

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs)
        self._forward_pre_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output."""
        handle = RemovableHandle(self._forward_hooks, extra_dict=[self._forward_hooks_with_kwargs,
                                                                  self._forward_hooks_always_called])
        self._forward_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def _set_backward_kind(self, full):
        if self._is_full_backward_hook is not None and self._is_full_backward_hook is not full:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. "
                               "Please use only one of them.")
        self._is_full_backward_hook = full

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known.

        A tuple that it returns takes the place of `grad_input`.
        """
        self._set_backward_kind(True)
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` first in the module's backward; it may return a replacement."""
        handle = RemovableHandle(self._backward_pre_hooks)
        self._backward_pre_hooks[handle.id] = hook
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_backward_hook(self, hook):
        """Deprecated: sees only the last node of the module. Use `register_full_backward_hook`."""
        self._set_backward_kind(False)
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        return handle

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict()` filled its part."""
        hook._from_public_api = True
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before `state_dict()`."""
        handle = RemovableHandle(self._state_dict_pre_hooks)
        self._state_dict_pre_hooks[handle.id] = hook
        return handle

    def _register_state_dict_hook(self, hook):
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        handle = RemovableHandle(self._load_state_dict_pre_hooks)
        self._load_state_dict_pre_hooks[handle.id] = _hooks._WrappedHook(hook, self if with_module else None)
        return handle

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys)` after loading; it may change the two lists in place."""
        handle = RemovableHandle(self._load_state_dict_post_hooks)
        self._load_state_dict_post_hooks[handle.id] = hook
        return handle

    # What compilers would do: programs that ask for it run as they are.

    def compile(self, *args, **kwargs):
        """Accepted for programs that call it: the module runs as it is."""


speed_up(Module, Module)

# Messages and annotations say where programs find it and its methods.
Module.__module__ = __name__.replace(".module", ".modules.module")
for _part in (StateMixin, ConvertMixin, TreeMixin):
    for _name, _method in vars(_part).items():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"Module.{_name}"
