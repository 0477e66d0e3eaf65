"""Hooks of modules: handles, hooks of every module, and the call that runs them."""
import itertools
import warnings
import weakref
from collections import OrderedDict

import fasttensor as ft

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook away again: `handle.remove()`, or at the end of a `with` block.

    Dicts in `extra_dict` hold facts about the same hook and lose them with it.
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(_ids)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict] if extra_dict is not None else []
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self):
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref))

    def __setstate__(self, state):
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(hooks if hooks is not None else OrderedDict())
        self.extra_dict_ref = tuple(weakref.ref(d if d is not None else OrderedDict()) for d in extra)


class _WrappedHook:
    """A hook that is called with the module first, where it has one: weakly held, and kept by pickles and copies."""

    def __init__(self, hook, module=None):
        self.hook, self.with_module = hook, module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# Hooks that hold for every module.
forward_pre_hooks = OrderedDict()
forward_hooks = OrderedDict()
forward_hooks_with_kwargs = OrderedDict()
forward_hooks_always_called = OrderedDict()
backward_pre_hooks = OrderedDict()
backward_hooks = OrderedDict()
_backward_hooks_are_full = None
module_registration_hooks = OrderedDict()
buffer_registration_hooks = OrderedDict()
parameter_registration_hooks = OrderedDict()


def _register(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_module_forward_pre_hook(hook):
    """Call `hook(module, args)` before the forward of every module."""
    return _register(forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call `hook(module, args, output)` after the forward of every module."""
    handle = RemovableHandle(forward_hooks, extra_dict=[forward_hooks_with_kwargs, forward_hooks_always_called])
    forward_hooks[handle.id] = hook
    if with_kwargs:
        forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        forward_hooks_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook):
    """Call `hook(module, grad_output)` before the gradients of every module's inputs are computed."""
    return _register(backward_pre_hooks, hook)


def _register_backward(hook, full):
    global _backward_hooks_are_full
    if backward_hooks and full is not _backward_hooks_are_full:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them.")
    _backward_hooks_are_full = full
    return _register(backward_hooks, hook)


def register_module_full_backward_hook(hook):
    """Call `hook(module, grad_input, grad_output)` in the backward of every module.

    Raises RuntimeError beside hooks of `register_module_backward_hook`.
    """
    return _register_backward(hook, True)


def register_module_backward_hook(hook):
    """Call `hook(module, grad_input, grad_output)` of the last operation of every module: the old kind, which sees that operation's gradients.

    Raises RuntimeError beside hooks of `register_module_full_backward_hook`.
    """
    return _register_backward(hook, False)


def register_module_module_registration_hook(hook):
    """Call `hook(module, name, submodule)` when a submodule is added anywhere; it may return a replacement."""
    return _register(module_registration_hooks, hook)


def register_module_buffer_registration_hook(hook):
    """Call `hook(module, name, buffer)` when a buffer is added anywhere; it may return a replacement."""
    return _register(buffer_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Call `hook(module, name, parameter)` when a parameter is added anywhere; it may return a replacement."""
    return _register(parameter_registration_hooks, hook)


def replaced(hooks, module, name, value):
    """`value`, or what the last registration hook that answered made of it."""
    for hook in hooks.values():
        answer = hook(module, name, value)
        if answer is not None:
            value = answer
    return value


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


class BackwardGate:
    """Watches gradients pass through one call of a module.

    Two identity functions enclose the module: the one on its outputs runs first in the
    backward pass and sees `grad_output`; the one on its inputs sees `grad_input`.
    """

    def __init__(self, module, pre_hooks, hooks):
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.grad_output = None
        self.n_inputs = 0
        self.input_places = None

    def _gate(self, function, values):
        places = [i for i, v in enumerate(values) if isinstance(v, ft.Tensor)]
        if not any(values[i].requires_grad for i in places) or not ft.is_grad_enabled():
            return values, None
        passed = as_tuple(function.apply(self, *(values[i] for i in places)))
        values = list(values)
        for i, v in zip(places, passed):
            values[i] = v
        return tuple(values), places

    def enter(self, args):
        self.n_inputs = len(args)
        if self.hooks:
            args, self.input_places = self._gate(_gates()[0], args)
        return args

    def leave(self, result):
        values = as_tuple(result)
        if not isinstance(values[0] if values else None, (ft.Tensor, type(None))):
            warnings.warn("a backward hook needs a module that returns a Tensor or a tuple of Tensors; "
                          f"{type(self.module).__name__} returned {type(result).__name__}, so the hook will not run",
                          stacklevel=4)
            return result
        self.n_outputs = len(values)
        self.output_kinds = [{"size": v.shape, "dtype": v.dtype, "device": v.device} for v in values if isinstance(v, ft.Tensor)]
        values, self.output_places = self._gate(_gates()[1], values)
        return values if isinstance(result, tuple) else values[0]

    def _spread(self, n, places, grads):
        full = [None] * n
        for i, g in zip(places, grads):
            full[i] = g
        return tuple(full)

    def on_output(self, grads):
        full = self._spread(self.n_outputs, self.output_places, grads)
        for hook in self.pre_hooks:
            answer = hook(self.module, full)
            if answer is not None:
                answer = as_tuple(answer)
                if len(answer) != len(full):
                    raise RuntimeError(f"Backward pre hook returned an invalid number of grad_output, "
                                       f"got {len(answer)}, but expected {len(full)}")
                full = answer
        self.grad_output = full
        if self.hooks and self.input_places is None:
            # No input wants a gradient: the hook runs here, with nothing to see of inputs.
            warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                          "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                          "register_full_backward_hook for more details.", stacklevel=4)
            self._run_hooks((None,) * self.n_inputs)
        # Hooks see None where nothing was derived from an output; what is below sees zeros.
        return tuple(ft.zeros(**kind) if full[i] is None else full[i] for i, kind in zip(self.output_places, self.output_kinds))

    def on_input(self, grads):
        full = self._run_hooks(self._spread(self.n_inputs, self.input_places, grads))
        self.grad_output = None
        return tuple(full[i] for i in self.input_places)

    def _run_hooks(self, full):
        for hook in self.hooks:
            answer = hook(self.module, full, self.grad_output)
            if answer is not None:
                answer = as_tuple(answer)
                if len(answer) != len(full):
                    raise RuntimeError(f"Backward hook returned an invalid number of grad_input, "
                                       f"got {len(answer)}, but expected {len(full)}")
                full = answer
        return full


_gate_classes = None


def _gates():
    # Made on first use: importing nn must not load the autograd package.
    global _gate_classes
    if _gate_classes is None:
        class Gate(ft.autograd.Function):
            @staticmethod
            def forward(ctx, gate, *values):
                ctx.gate = gate
                ctx.mark_non_differentiable(*(v for v in values if not v.requires_grad))
                return tuple(v.view_as(v) for v in values)

        class InputGate(Gate):
            @staticmethod
            def backward(ctx, *grads):
                return (None, *ctx.gate.on_input(grads))

        class OutputGate(Gate):
            @staticmethod
            def forward(ctx, gate, *values):
                ctx.set_materialize_grads(False)
                return Gate.forward(ctx, gate, *values)

            @staticmethod
            def backward(ctx, *grads):
                return (None, *ctx.gate.on_output(grads))

        _gate_classes = (InputGate, OutputGate)
    return _gate_classes


def first_tensor(value):
    while not isinstance(value, ft.Tensor):
        value = next((v for v in value.values() if isinstance(v, ft.Tensor)), None) if isinstance(value, dict) \
            else value[0] if isinstance(value, (list, tuple)) and value else None
        if value is None:
            return None
    return value


def call_with_hooks(module, args, kwargs):
    """The call of a module when some hook is set."""
    done = set()
    try:
        return _call(module, args, kwargs, done)
    except Exception:
        # Hooks that always run get the chance that an error took from them.
        for whose, hooks, with_kwargs, always in (
                ("global module", forward_hooks, forward_hooks_with_kwargs, forward_hooks_always_called),
                ("module", module._forward_hooks, module._forward_hooks_with_kwargs, module._forward_hooks_always_called)):
            for key, hook in hooks.items():
                if key in always and key not in done:
                    try:
                        hook(module, args, kwargs, None) if key in with_kwargs else hook(module, args, None)
                    except Exception as error:
                        warnings.warn(f"{whose} forward hook with ``always_call=True`` raised an exception that was "
                                      f"silenced as another error was raised in forward: {error}", stacklevel=2)
        raise


def _call(module, args, kwargs, done):
    for hook in forward_pre_hooks.values():
        answer = hook(module, args)
        if answer is not None:
            args = as_tuple(answer)
    for key, hook in list(module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            answer = hook(module, args, kwargs)
            if answer is not None:
                if not (isinstance(answer, tuple) and len(answer) == 2):
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                       f"but got {answer}.")
                args, kwargs = answer
        else:
            answer = hook(module, args)
            if answer is not None:
                args = as_tuple(answer)
    full, plain = (list(backward_hooks.values()), []) if _backward_hooks_are_full else ([], list(backward_hooks.values()))
    if module._backward_hooks:
        (full if module._is_full_backward_hook else plain).extend(module._backward_hooks.values())
    pre = [*backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
    gate = BackwardGate(module, pre, full) if full or pre else None
    if gate is not None:
        args = gate.enter(args)
    result = module.forward(*args, **kwargs)
    for hooks, with_kwargs in ((forward_hooks, forward_hooks_with_kwargs),
                               (module._forward_hooks, module._forward_hooks_with_kwargs)):
        for key, hook in list(hooks.items()):
            done.add(key)
            answer = hook(module, args, kwargs, result) if key in with_kwargs else hook(module, args, result)
            if answer is not None:
                result = answer
    if gate is not None:
        result = gate.leave(result)
    if plain:
        t = first_tensor(result)
        if t is not None and t.grad_fn is not None:
            for hook in plain:
                def on_node(grad_input, grad_output, hook=hook):
                    return hook(module, grad_input, grad_output)
                t.grad_fn.register_hook(on_node)
    return result
