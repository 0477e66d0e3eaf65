"""Anomaly mode: where the first NaN comes from, forward or backward, and where a failing backward was called."""

import linecache
import sys
import threading
import traceback
import warnings

from fasttensor._core.tensor import Node, Tensor, description
from fasttensor.autograd.recording import anomaly_enabled, set_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly", "is_anomaly_enabled", "is_anomaly_check_nan_enabled"]

_settings = {"check_nan": True, "forward": "warn"}


class _Modules(threading.local):
    """The modules that this thread is inside of, outermost first."""

    def __init__(self):
        self.inside = []
        self.names = {}
        self.busy = False


_modules = _Modules()


def _enter_module(module, args):
    if not _modules.inside:
        _modules.names = {id(part): name for name, part in module.named_modules()}
    _modules.inside.append(module)


def _leave_module(module, args, output):
    if _modules.inside:
        _modules.inside.pop()


def _module_path():
    """The innermost module as "Net.layers.2 (Linear)", or None outside of modules."""
    if not _modules.inside:
        return None
    root, inner = _modules.inside[0], _modules.inside[-1]
    if inner is root:
        return type(root).__name__
    return f"{type(root).__name__}.{_modules.names.get(id(inner), '?')} ({type(inner).__name__})"


class Place:
    """Where the program was: the frames outside of this package, and the module."""
    __slots__ = ("frames", "module")

    def __init__(self):
        self.module, self.frames = _module_path(), []
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_globals.get("__name__", "").partition(".")[0] != "fasttensor":
                self.frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back

    def __str__(self):
        """ "train.py:12 (loss = x.log()), in module Net.head (Linear)"."""
        if not self.frames:
            return "an unknown line"
        name, line, _ = self.frames[0]
        text = linecache.getline(name, line).strip()
        return f"{name}:{line}" + (f" ({text})" if text else "") + (f", in module {self.module}" if self.module else "")

    def traceback(self):
        """The frames as Python prints them, the innermost last."""
        frames = [traceback.FrameSummary(name, line, function) for name, line, function in reversed(self.frames)]
        return "".join(traceback.format_list(frames))


def _tensors(values):
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _has_nan(value):
    return (value.is_floating_point() or value.is_complex()) and value.device.type == "cpu" and bool(value.isnan().any())


class Watch:
    """Listens to operations until one gives a NaN."""

    def __init__(self):
        self.first = None       # a sentence on the first NaN

    def before(self, name, inputs):
        if _modules.busy or self.first is not None or (inputs and isinstance(inputs[0], Node)):
            return None
        if name.endswith("_"):      # what is overwritten must be looked at first
            return name, inputs, self._find(inputs)
        return name, inputs, None

    def after(self, token, result):
        if token is None or result is None or self.first is not None:
            return
        name, inputs, holder = token
        if not self._find((result,)):
            return
        tensors = list(_tensors(inputs))
        if not tensors or name in ("empty_like", "new_empty"):
            return      # the program asked for these values
        if not name.endswith("_"):
            holder = self._find(inputs)
        place = Place()
        if holder:
            self.first = f"aten::{name} was given a NaN in {holder}, which no operation had produced before, at {place}"
        else:
            given = ", ".join(self._range(t) for t in tensors)
            self.first = f"aten::{name} produced the first NaN, from {given}, at {place}"
        if _settings["forward"] == "raise":
            raise RuntimeError(f"{self.first}.")
        if _settings["forward"] == "warn":
            warnings.warn(f"NaN in forward: {self.first}.", stacklevel=2)

    def _find(self, values):
        """A description of the first tensor with a NaN, or ""."""
        _modules.busy = True
        try:
            return next((description(t) for t in _tensors(values) if _has_nan(t)), "")
        finally:
            _modules.busy = False

    def _range(self, t):
        """A description with the extremes, which often explain the NaN."""
        _modules.busy = True
        try:
            t = t.detach()
            if t.numel() == 0 or not t.is_floating_point():
                return description(t)
            return f"{description(t)} of {t.min().item():.6g} to {t.max().item():.6g}"
        finally:
            _modules.busy = False


_watch = None       # the Watch of the current mode
_handles = []


def _switch(on):
    """Anomaly mode on or off; returns what it was."""
    global _watch
    before = anomaly_enabled()
    if on and _watch is None:
        from fasttensor.functional import interpose
        from fasttensor.nn import hooks
        _watch = Watch()
        interpose.listen(_watch)
        _handles[:] = [hooks.register_module_forward_pre_hook(_enter_module),
                       hooks.register_module_forward_hook(_leave_module, always_call=True)]
    elif not on and _watch is not None:
        from fasttensor.functional import interpose
        interpose.stop_listening(_watch)
        _watch = None
        for handle in _handles:
            handle.remove()
        _modules.inside.clear()
    set_anomaly(on, Place)
    return before


def check_gradients(name, place, grads):
    """Raise RuntimeError where a node's backward gave a NaN."""
    if not _settings["check_nan"]:
        return
    _modules.busy = True
    try:
        bad = next((i for i, g in enumerate(grads) if g is not None and _has_nan(g)), None)
    finally:
        _modules.busy = False
    if bad is None:
        return
    text = f"Function '{name}' returned nan values in its {bad}th output."
    if place is not None:
        text += f" Its forward was called at {place}."
    if _watch is not None and _watch.first:
        text += f" The first NaN of forward: {_watch.first}."
    if place is not None:
        text += f" Traceback of the forward call that caused the error:\n{place.traceback()}"
    raise RuntimeError(text)


def explain(name, place):
    """Warn with the forward call of a node whose backward raised."""
    if place is not None:
        warnings.warn(f"Error detected in {name}, whose forward was called at {place}. Traceback of forward call that caused the"
                      f" error:\n{place.traceback()}", stacklevel=2)


class detect_anomaly:
    """Context that finds where NaN comes from.

    A backward that gives NaN raises RuntimeError with the line, module and traceback of its forward call. In forward, the
    first operation that gives NaN from inputs without one is named, with its line, its module and its inputs' extremes: as a
    warning, or, with ``forward="raise"``, as a RuntimeError ("ignore" looks at backward only). ``check_nan=False`` only
    explains errors. Errors in backward, such as a saved tensor that was overwritten, come with their forward call too.
    Operations take several times as long inside.

    >>> import fasttensor as torch
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except RuntimeError as error:
    ...         print(str(error)[:70])
    Function 'SqrtBackward0' returned nan values in its 0th output. Its fo
    """

    def __init__(self, check_nan=True, *, forward="warn"):
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
                      stacklevel=2)
        self._prepare(True, check_nan, forward)

    def _prepare(self, mode, check_nan, forward):
        if forward not in ("warn", "raise", "ignore"):
            raise ValueError(f"anomaly mode: forward must be 'warn', 'raise' or 'ignore', got {forward!r}")
        self.mode, self.wanted = mode, {"check_nan": bool(check_nan), "forward": forward if check_nan else "ignore"}

    def __enter__(self):
        self.settings = dict(_settings)
        _settings.update(self.wanted)
        self.before = _switch(self.mode)

    def __exit__(self, *exc):
        _switch(self.before)
        _settings.update(self.settings)


class set_detect_anomaly(detect_anomaly):
    """Anomaly mode on or off by a flag, as a call or as a context; see `detect_anomaly`.

    >>> with torch.autograd.set_detect_anomaly(False):
    ...     print(torch.is_anomaly_enabled())
    False
    """

    def __init__(self, mode, check_nan=True, *, forward="warn"):
        self._prepare(bool(mode), check_nan, forward)
        super().__enter__()

    def __enter__(self):
        pass


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return anomaly_enabled()


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for NaN."""
    return _settings["check_nan"]


def set_anomaly_enabled(mode, check_nan=True):
    """`set_detect_anomaly` as a plain call."""
    set_detect_anomaly(mode, check_nan)
