"""What a profiler writes down while operations run."""

import functools
import os
import sys
import threading
import time
import weakref

import fasttensor as ft
from fasttensor.autograd.graph import Node
from fasttensor.functional import interpose

from .flops import flops_of

__all__ = ["Recorder", "record_function"]

PACKAGE = os.path.dirname(ft.__file__) + os.sep

# PyTorch's operations for rows of the table that are parts of public functions.
ROWS = {"gelu_erf": "gelu", "gelu_tanh": "gelu", "div_trunc": "div", "div_floor": "div", "logit_eps": "logit", "clamp_scalar": "clamp",
        "clamp_min_scalar": "clamp_min", "clamp_max_scalar": "clamp_max", "mul_scale": "mul", "masked_scale": "dropout",
        "squared_error": "mse_loss", "absolute_error": "l1_loss", "huber": "huber_loss", "smooth_l1": "smooth_l1_loss",
        "bce": "binary_cross_entropy", "bce_logits": "binary_cross_entropy_with_logits", "kl_div_log": "kl_div",
        "bce_logits_weighted": "binary_cross_entropy_with_logits", "soft_margin": "soft_margin_loss", "logsigmoid": "log_sigmoid",
        "trigamma": "polygamma"}

_active = []        # recorders that run now; record_function looks here


class Span:
    """One operation or named range, open until it has an end (nanoseconds)."""
    __slots__ = ("name", "start", "end", "thread", "parent", "kind", "shapes", "kinds", "stack", "memory", "flops", "sequence")

    def __init__(self, name, thread, parent, kind):
        self.name, self.thread, self.parent, self.kind = name, thread, parent, kind
        self.shapes = self.kinds = self.stack = None
        self.memory, self.flops, self.sequence, self.end = 0, None, -1, None


class Recorder:
    """Listens to operations and keeps a Span for each.

    record_shapes, profile_memory, with_stack, with_flops: what else to write down. The spans are in `spans`, in the order
    in which they began.
    """

    def __init__(self, record_shapes=False, profile_memory=False, with_stack=False, with_flops=False):
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops = with_flops
        self.spans, self.forward_of = [], weakref.WeakKeyDictionary()
        self.local = threading.local()
        self.on, self.operations = False, 0

    def start(self):
        """Begin to listen."""
        if not self.on:
            self.on = True
            self.began = time.perf_counter_ns()
            _active.append(self)
            _watch_steps()
            interpose.listen(self)

    def stop(self):
        """Stop listening; spans that are still open end now."""
        if self.on:
            self.on = False
            interpose.stop_listening(self)
            _active.remove(self)
            self.ended = time.perf_counter_ns()
            for span in self.spans:
                if span.end is None:
                    span.end = self.ended

    def clear(self):
        """Forget what was written down so far."""
        self.spans, self.forward_of = [], weakref.WeakKeyDictionary()
        self.local = threading.local()
        self.began = time.perf_counter_ns()

    def _stack(self):
        stack = getattr(self.local, "stack", None)
        if stack is None:
            stack = self.local.stack = []
            self.local.thread = threading.get_native_id()
        return stack

    def open(self, name, kind, inputs=()):
        """Begin a range."""
        stack = self._stack()
        span = Span(name, self.local.thread, stack[-1] if stack else None, kind)
        if self.record_shapes:
            span.shapes = [list(v.shape) if isinstance(v, ft.Tensor) else [] for v in inputs]
            span.kinds = [str(v.dtype).removeprefix("torch.") if isinstance(v, ft.Tensor) else type(v).__name__ for v in inputs]
        if self.with_flops:
            span.flops = flops_of(name, inputs)
        if self.with_stack:
            span.stack = python_stack()
        if self.profile_memory:
            span.memory = ft.memory_stats()["current"]
        stack.append(span)
        span.start = time.perf_counter_ns()
        if self.on:             # another thread may still be telling of an operation that began before the end
            self.spans.append(span)
        return span

    def close(self, span):
        """End a range, and those inside it that an error left open."""
        span.end = time.perf_counter_ns()
        if self.profile_memory:
            span.memory = ft.memory_stats()["current"] - span.memory
        stack = self._stack()
        while stack:
            inner = stack.pop()
            if inner is span:
                break
            if inner.end is None:
                inner.end = span.end

    def before(self, name, inputs):
        """An operation begins (called by the watched functions)."""
        if inputs and isinstance(inputs[0], Node):
            node, gradient = inputs
            inputs = gradient if isinstance(gradient, tuple) else (gradient,)
            outer = self.open(f"autograd::engine::evaluate_function: {name}", "backward", inputs)
            outer.sequence = self.forward_of.get(node, -1)
            inner = self.open(name, "backward", inputs)
            inner.sequence = outer.sequence
            return inner, outer
        kind = "op"
        if "#" in name:
            name, kind = spelled(name, inputs[0])
        else:
            name = "aten::" + ROWS.get(name, name)
        stack = self._stack()
        # a function of Python that ends in an operation of the same name is one operation
        if stack and stack[-1].name == name and stack[-1].end is None:
            return ()
        return (self.open(name, kind, inputs),)

    def after(self, token, result):
        """An operation ends."""
        for span in token:
            self.close(span)
        if token and token[0].kind == "op" and isinstance(result, ft.Tensor) and result.requires_grad:
            node = result.grad_fn
            if node is not None and node not in self.forward_of:
                token[0].sequence = self.forward_of[node] = self.operations
                self.operations += 1


def python_stack():
    """The program's calls, innermost first, as "file(line): function"."""
    frame, lines = sys._getframe(2), []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines


def spelled(name, owner):
    """PyTorch's name, and the kind, of what is no operation: an optimizer's step, a loader's batch, a user's Function."""
    if name == "Function.apply#":
        return owner.__name__, "op"
    if name.startswith("enumerate"):
        local = type(owner.batches).__name__ == "_Local"
        return name.replace("#", "#_SingleProcessDataLoaderIter" if local else "#_MultiProcessingDataLoaderIter"), "user"
    return name.replace("#", "#" + type(owner).__name__), "user"


_steps = set()      # classes whose methods are announced


def _watch_steps():
    """Announce the steps of the optimizers that exist now, the batches of data loaders and users' Functions."""
    from types import FunctionType
    loaders = sys.modules.get("fasttensor.utils.data.dataloader")
    found = [(cls, method, f"Optimizer.{method}#.{method}") for cls in (ft.optim.Optimizer, *_subclasses(ft.optim.Optimizer))
             for method in ("step", "zero_grad")]
    if loaders is not None:
        found.append((loaders._BaseDataLoaderIter, "__next__", "enumerate(DataLoader)#.__next__"))
    found.append((ft.autograd.Function, "apply", "Function.apply#"))
    for cls, method, name in found:
        function = getattr(vars(cls).get(method), "__func__", vars(cls).get(method))
        if isinstance(function, FunctionType) and (cls, method) not in _steps:
            _steps.add((cls, method))
            interpose.also_announce(function, name)


def _subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


class record_function:
    """A named range in the profile, as a context or a decorator. Costs next to nothing while no profiler runs.

    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("twice"):
    ...         y = torch.ones(3) * 2
    >>> "twice" in [event.name for event in prof.events()]
    True
    """

    def __init__(self, name, args=None):
        self.name, self.args, self.open = name, args, ()

    def __enter__(self):
        if _active:
            self.open = [(recorder, recorder.open(self.name, "user")) for recorder in list(_active)]
        return self

    def __exit__(self, *exc):
        for recorder, span in self.open:
            recorder.close(span)
        self.open = ()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)
        return wrapped
