"""``__torch_dispatch__``: calls of public functions as operators of ``torch.ops.aten``, which modes and classes of tensors take over.

The gates of `overriding` lead here where nobody asks with ``__torch_function__``. A function that PyTorch makes of smaller
operators is made of them (`aten_forms`); any other is an operator itself. A handler runs with gradients off. What it returns gets
its history here: from the operation as the handler called it, or, where the handler computed with other tensors, a node that takes
the gradient by a formula of public functions, or by an operator ``NAME_backward``, which the handlers are asked for too.
"""
import re
import threading
from importlib import import_module

from fasttensor._core import dispatch
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.function import Function
from fasttensor.autograd.rule import _note
from fasttensor.autograd.tensor_hooks import adopt_history
from fasttensor.functional import interpose, overriding
from fasttensor.functional.creation import empty_strided

__all__ = []

_running = threading.local()
_names = {}             # functions -> the names of their operators; None where nobody is asked
NATIVE = frozenset("tensor as_tensor asarray from_numpy frombuffer backward requires_grad_ retain_grad register_hook vmap size stride"
                   " share_memory_ is_shared pin_memory numpy tolist type get_device dequantize align_to names rename refine_names"
                   " compile result_type can_cast promote_types broadcast_shapes cartesian_prod set_ multi_head_attention_forward".split())
NO_GRADIENT = frozenset("detach lift_fresh ones_like zeros_like empty_like full_like rand_like randn_like eq ne lt le gt ge argmax argmin"
                        " sign isnan isinf isfinite new_empty new_zeros new_ones new_full _local_scalar_dense".split())


def name_of(function):
    """The name of the operator that a public function is, None for questions and settings."""
    try:
        return _names[function]
    except KeyError:
        pass
    full = overriding.function_name(function) or ""
    parts = full.split(".")
    forms = import_module("fasttensor.functional.aten_forms")
    if parts[-1] in ("__get__", "__set__", "__delete__"):
        name = "get_" + parts[-2] if parts[-1] == "__get__" and "get_" + parts[-2] in forms.FORMS else None
    else:
        name = forms.SPELLED.get(parts[-1], parts[-1])
        if len(parts) > 2 and parts[-2] in ("linalg", "fft", "special"):
            name = f"{parts[-2]}_{name}"
        known = name in forms.FORMS
        if not known and (not full.startswith("torch.") or name in NATIVE or interpose.quiet(name) or not name):
            name = None
    _names[function] = name
    return name


def call(function, args, kwargs):
    """What modes and classes make of a call of a public function."""
    forms = import_module("fasttensor.functional.aten_forms")
    name = name_of(function)
    if name is None:
        return dispatch.run_past(function, args, kwargs)
    form = forms.FORMS.get(name)
    if form is not None:
        return form(*args, **kwargs)
    try:
        packet = getattr(import_module("fasttensor.ops").aten, name)
    except AttributeError:
        return dispatch.run_past(function, args, kwargs)
    if kwargs:
        args, kwargs = forms.positional(function, args, kwargs)
    if "inplace" in kwargs:
        inplace = kwargs.pop("inplace")
        if inplace:
            return getattr(import_module("fasttensor.ops").aten, name + "_")(*args, **kwargs)
    return take_over(packet.default_of(args), args, kwargs)


def tensors_in(values):
    """The tensors among values and in lists of them, in order."""
    found = []
    for x in values:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (tuple, list)):
            found.extend(tensors_in(x))
    return found


class Entry:
    """A handler that runs: for which operator, whether its call is recorded, and what that gave."""
    __slots__ = ("op", "grad", "recorded")

    def __init__(self, op, grad):
        self.op, self.grad, self.recorded = op, grad, None


def entries():
    """The handlers that run in this thread, the innermost last."""
    if not hasattr(_running, "entries"):
        _running.entries = []
    return _running.entries


def call_operator(op, args, kwargs):
    """A program's call of an operator."""
    running = entries()
    if not running or running[-1].op is not op:
        return take_over(op, args, kwargs)
    entry = running[-1]
    before = dispatch._set_grad_enabled(entry.grad)
    try:
        entry.recorded = take_over(op, args, kwargs)
    finally:
        dispatch._set_grad_enabled(before)
    return entry.recorded


def handler_of(op, who):
    """A mode's or class's ``__torch_dispatch__``, or what an operator has registered in its place."""
    registered = getattr(op._function, "taken_over", None)
    kind = who if isinstance(who, type) else type(who)
    if registered and kind in registered:
        return lambda *call: registered[kind](who, *call)
    return who.__torch_dispatch__


def take_over(op, args, kwargs):
    """Ask the innermost mode, then the classes of the arguments; without any the operator itself runs."""
    values = [*args, *kwargs.values()]
    asked = dispatch.dispatched_for(values)
    if asked is None:
        before = dispatch.set_dispatch_off(1)
        try:
            return op._function(*args, **kwargs)
        finally:
            dispatch.set_dispatch_off(before)
    base = op.overloadpacket.__name__
    inplace = base[-1] == "_" and base[:2] != "__"
    record = dispatch.is_recording() and base not in NO_GRADIENT and not op.for_gradients and any(t.requires_grad for t in tensors_in(values))
    # the value before it is overwritten is what a gradient may need
    kept = args if not inplace or not record or not asked else (args[0].clone(), *args[1:])
    types = tuple(type(x) for x in asked)
    running, result, entry, who = entries(), NotImplemented, None, []
    asking = dispatch.set_asking(max(dispatch.asking(), 1))
    grad = dispatch._set_grad_enabled(0)
    try:
        if dispatch.dispatch_modes_entered():
            entry = Entry(op, grad)
            mode = dispatch.set_aside_mode()
            running.append(entry)
            try:
                result = handler_of(op, mode)(op, types, args, kwargs)
            finally:
                running.pop()
                dispatch.put_back_mode(mode)
            who.append(f"mode object {mode!r}")
        for x in asked:
            if result is not NotImplemented:
                break
            entry = Entry(op, 0)
            running.append(entry)
            try:
                result = handler_of(op, type(x))(op, types, args, kwargs)
            finally:
                running.pop()
            who.append(f"tensor subclass {type(x)!r}")
    finally:
        dispatch._set_grad_enabled(grad)
        dispatch.set_asking(asking)
    if result is NotImplemented:
        raise TypeError(f"Multiple dispatch failed for '{op}'; all __torch_dispatch__ handlers returned NotImplemented:\n  - " + "\n  - ".join(who))
    if record:
        return with_history(op, kept, kwargs, result, entry, inplace)
    return result


def with_history(op, args, kwargs, result, entry, inplace):
    """The result of a handler, recorded."""
    outs = [t for t in tensors_in((result,)) if t.is_floating_point() or t.is_complex()]
    bare = [t for t in outs if t.grad_fn is None and not any(t is a for a in args)]
    recorded = [t for t in tensors_in((entry.recorded,)) if t.is_floating_point() or t.is_complex()]
    if bare and len(recorded) == len(outs):
        for t, r in zip(outs, recorded):
            if t.grad_fn is None and r.shape == t.shape and not any(t is a for a in args):
                adopt_history(t, r)
        bare = [t for t in bare if t.grad_fn is None]
        if not bare:
            keep_call(op, args, kwargs, outs)
            return result
    if entry.recorded is not None and not bare:
        keep_call(op, args, kwargs, outs)
        return result
    if inplace and outs:
        Recorded.apply((op, args, kwargs), [outs[0]], True, *tensors_in([*args, *kwargs.values()])[1:], outs[0])
    elif bare:
        Recorded.apply((op, args, kwargs), bare, False, *tensors_in([*args, *kwargs.values()]))
    return result


def keep_call(op, args, kwargs, outs):
    """Products say in backward which products they are made of: their nodes keep what they were called with."""
    if op.overloadpacket.__name__ in PRODUCTS and len(outs) == 1 and outs[0].grad_fn is not None:
        outs[0].grad_fn.metadata["call"] = (args, kwargs)


class Recorded(Function):
    """The node of what a handler returned."""

    @staticmethod
    def forward(ctx, made_by, results, inplace, *tensors):
        ctx.call, ctx.inplace = made_by, inplace
        ctx.set_materialize_grads(False)
        _note(ctx, "wraps", True)
        if inplace:
            ctx.mark_dirty(*results)
        return tuple(results) if len(results) > 1 else results[0]

    @staticmethod
    def backward(ctx, *grads):
        op, args, kwargs = ctx.call
        if all(g is None for g in grads):
            return (None,) * len(ctx.needs_input_grad)
        formula = import_module("fasttensor.functional.aten_gradients").FORMULAS.get(op.overloadpacket.__name__.rstrip("_"))
        if formula is not None and not kwargs.keys() - {"alpha"} and len(grads) == 1:
            values = [*args]
            found = formula(grads[0], *args, **kwargs)
            found = [g for x, g in zip(values, found) if isinstance(x, Tensor)]
        else:
            found = list(gradient_operator(op)(list(grads), *args, **kwargs))
        if ctx.inplace:         # the tensor that was written to is the last input
            found = [*found[1:], found[0]]
        return None, None, None, *found


PRODUCTS = frozenset(("mm", "addmm", "bmm", "convolution"))


def gradient_operator(op):
    """The operator of an operator's gradient: ``f(gradients, *args)`` gives a gradient or None for each tensor among the arguments."""
    forward = op._function

    def vjp(grads, *args, **kwargs):
        leaves = []

        def leaf(x):
            if isinstance(x, Tensor):
                x = x.detach()
                if x.is_floating_point() or x.is_complex():
                    x.requires_grad_()
                leaves.append(x)
            elif isinstance(x, (tuple, list)):
                return type(x)(map(leaf, x))
            return x
        before = dispatch._set_grad_enabled(1)
        try:
            outs = tensors_in((forward(*map(leaf, args), **{k: leaf(v) for k, v in kwargs.items()}),))
            outs = [t for t in outs if t.is_floating_point() or t.is_complex()]
            pairs = [(o, g) for o, g in zip(outs, grads) if g is not None and o.requires_grad]
        finally:
            dispatch._set_grad_enabled(before)
        wanted = [t for t in leaves if t.requires_grad]
        got = iter(import_module("fasttensor.autograd").grad([o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True))
        return tuple(next(got) if t.requires_grad else None for t in leaves)
    made = operator_like(op.overloadpacket.__name__.rstrip("_") + "_backward", vjp)
    made.gradient_of = op
    return made


def operator_like(name, function):
    """An operator of torch.ops.aten that is not looked up."""
    ops = import_module("fasttensor.ops")
    op = ops.OpOverloadPacket("aten", name, function).default
    op.for_gradients = True
    return op


def node(node, grads, run):
    """What modes make of a node's backward."""
    tracing = getattr(dispatch.dispatch_modes_entered()[-1], "trace_gradient", None) if dispatch.dispatch_modes_entered() else None
    if tracing is not None:
        return tracing(node, grads)
    name = node.name()
    if "call" in node.metadata and not isinstance(grads, tuple):
        args, kwargs = node.metadata["call"]
        return import_module("fasttensor.functional.aten_gradients").product(node, name, grads, args, run)
    base = BACKWARD.get(name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"Backward\d*$", "", name)).lower() + "_backward"
    parts = grads if isinstance(grads, tuple) else (grads,)
    try:
        saved = [t for t in node.saved_tensors if isinstance(t, Tensor)]
    except RuntimeError:
        saved = []
    op = operator_like(base, lambda *given: run(node, given[:len(parts)] if isinstance(grads, tuple) else given[0]))
    result = take_over(op, (*parts, *saved), {})
    return tuple(result) if isinstance(result, list) else result


BACKWARD = {"ReluBackward0": "threshold_backward", "EmbeddingBackward0": "embedding_dense_backward", "LogSoftmaxBackward0": "_log_softmax_backward_data",
            "SoftmaxBackward0": "_softmax_backward_data", "MaxPool2DWithIndicesBackward0": "max_pool2d_with_indices_backward"}


def _make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, layout=None, device=None,
                           pin_memory=False, requires_grad=False, dispatch_sizes_strides_policy=None, dispatch_device=False,
                           dispatch_layout=False, _extra_dispatch_keys=None, storage_size=None):
    """A tensor of a class with ``__torch_dispatch__`` that has a shape and a dtype, and no memory: the class says what operations do."""
    torch = import_module("fasttensor")
    if not isinstance(cls, type) or not issubclass(cls, Tensor) or cls.__torch_dispatch__ is Tensor.__torch_dispatch__:
        raise RuntimeError(f"{getattr(cls, '__name__', cls)} is no class of tensors with __torch_dispatch__: _make_wrapper_subclass needs it")
    size = tuple(size)
    if strides is None:
        strides, step = [], 1
        for n in reversed(size):
            strides.insert(0, step)
            step *= max(n, 1)
    before = dispatch.set_dispatch_off(1)
    asking = dispatch.set_asking(2)
    try:
        made = Tensor._make_subclass(cls, empty_strided(size, tuple(strides), dtype=dtype, device="meta"))
        made._wrapped_device = torch.device(device) if device is not None else torch.get_default_device()
        if requires_grad:
            made.requires_grad = True
    finally:
        dispatch.set_asking(asking)
        dispatch.set_dispatch_off(before)
    return made


METHODS = {"_make_wrapper_subclass": staticmethod(_make_wrapper_subclass)}
HOOKS = {"dispatch_call": call, "dispatch_operator": call_operator, "dispatch_node": node}
