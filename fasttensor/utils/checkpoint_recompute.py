"""The checkpoint that is not reentrant: each saved tensor is a placeholder, filled by running the function again."""

import contextlib
import os
import traceback
import weakref

import fasttensor as ft
from fasttensor.autograd import Function
from fasttensor.autograd.graph import saved_tensors_hooks
from fasttensor.functional import interpose

__all__ = ["CheckpointError", "recomputed_later", "set_checkpoint_early_stop"]

_early_stop = None      # what set_checkpoint_early_stop said

HELP = ("\n\nTip: To see a more detailed error message, either pass `debug=True` to `torch.utils.checkpoint.checkpoint(...)` or wrap"
        " the code block with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`.")


class CheckpointError(RuntimeError):
    """The recomputation saved other tensors than forward did."""


class _Enough(Exception):
    """The recomputation has filled every placeholder."""


class Placeholder:
    """Stands for a saved tensor until it is needed."""
    __slots__ = ("value", "__weakref__")

    def __init__(self):
        self.value = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Context: checkpoints inside stop (True) or do not stop (False) their recomputation at the last tensor that is needed.

    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     torch.utils.checkpoint.checkpoint(torch.sin, torch.zeros(1), use_reentrant=False)
    tensor([0.])
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


class SavedInputs(Function):
    """Holds a checkpoint's arguments as saved tensors, so that an outer checkpoint can drop them too."""

    @staticmethod
    def forward(ctx, anchor, *tensors):
        ctx.save_for_backward(*tensors)
        return anchor.new_empty(0)

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("SavedInputs holds tensors; nothing is computed from it")


class Frame:
    """One call of a checkpoint: how to run it again, and the placeholders that are still alive."""

    def __init__(self, function, kwargs, context, surroundings, compare, debug, early_stop):
        self.function, self.kwargs, self.context, self.surroundings = function, kwargs, context, surroundings
        self.compare, self.early_stop = compare, early_stop
        self.placeholders, self.saved_meta = [], []
        self.running = False
        self.selective = None       # the context that decides what is kept, in a selective checkpoint
        self.forward_log, self.again_log = (Log(), Log()) if debug else (None, None)

    def keep_inputs(self, args):
        self.places = [i for i, value in enumerate(args) if isinstance(value, ft.Tensor)]
        self.others = [None if isinstance(value, ft.Tensor) else value for value in args]
        tensors = [args[i] for i in self.places]
        self.required = [t.requires_grad for t in tensors]
        self.inputs = SavedInputs.apply(ft.empty(0, requires_grad=True), *tensors).grad_fn

    def arguments(self):
        args = list(self.others)
        for place, value, required in zip(self.places, self.inputs.saved_tensors, self.required):
            args[place] = value.detach().requires_grad_(required)
        return args

    def pack(self, tensor):
        made = Placeholder()
        self.placeholders.append(weakref.ref(made))
        self.saved_meta.append(meta(tensor) if self.compare else None)
        if self.selective is not None:
            self.selective.saved(made, tensor)
        return made

    def unpack(self, placeholder):
        if placeholder.value is None:
            if self.running:
                raise CheckpointError("torch.utils.checkpoint: the checkpointed function asks for its own saved tensors while it is computed"
                                      " again: do not call backward on its inner values inside it.")
            self.recompute()
        value, placeholder.value = placeholder.value, None
        if value is None:
            raise self.with_log(CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original forward"
                                                " and recomputation." + HELP))
        return value

    def recompute(self):
        seen = 0
        wanted = len(self.placeholders)
        different = []

        def capture(tensor):
            nonlocal seen
            place, seen = seen, seen + 1
            if place < wanted:
                if self.compare and meta(tensor) != self.saved_meta[place]:
                    different.append((place, self.saved_meta[place], meta(tensor)))
                waiting = self.placeholders[place]()
                if waiting is not None:
                    waiting.value = tensor.detach()
            if self.early_stop and seen == wanted and not different:
                raise _Enough
            return tensor.detach()

        args = self.arguments()
        self.running = True
        try:
            with (self.surroundings.again(), self.context, listening(self.again_log), ft.enable_grad(),
                  saved_tensors_hooks(capture, lambda value: value)):
                self.function(*args, **self.kwargs)
        except _Enough:
            pass
        finally:
            self.running = False
        if self.compare and seen != wanted:
            raise self.with_log(CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {wanted}\nNumber of tensors saved during recomputation: {seen}." + HELP))
        if different:
            lines = "".join(f"tensor at position {place}:\nsaved metadata: {before}\nrecomputed metadata: {after}\n"
                            for place, before, after in different)
            raise self.with_log(CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata"
                                                f" than during the forward pass.\n{lines}." + HELP))

    def with_log(self, error):
        if self.forward_log is None:
            return error
        return CheckpointError(f"{error}\n\nOperations of the original forward:\n{self.forward_log}\n\nOperations of the recomputation:\n"
                               f"{self.again_log}\n\nThe first line that differs is where the two runs part.")


def meta(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


# Where frames of this library lie; compiled ones name their file from the root of its sources.
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "fasttensor/"


class Log:
    """Operations and the lines that called them."""

    def __init__(self):
        self.lines = []

    def before(self, name, inputs):
        if name == "detach":        # the checkpoint's own
            return
        frame = next((f for f in reversed(traceback.extract_stack()) if not f.filename.startswith(OWN)), None)
        self.lines.append(f"  aten::{name}" + (f"  at {frame.filename}:{frame.lineno}" if frame else ""))

    def after(self, token, result):
        pass

    def __str__(self):
        return "\n".join(self.lines) or "  none"


@contextlib.contextmanager
def listening(log):
    if log is None:
        yield
        return
    log.lines.clear()
    interpose.listen(log)
    try:
        yield
    finally:
        interpose.stop_listening(log)


def recomputed_later(function, args, kwargs, contexts, surroundings, compare, debug, early_stop):
    """``function(*args, **kwargs)`` with placeholders for what it saves."""
    frame = Frame(function, kwargs, contexts[1], surroundings, compare, debug, early_stop if _early_stop is None else _early_stop)
    frame.keep_inputs(args)
    frame.selective = contexts[0] if hasattr(contexts[0], "keeps") else None
    with saved_tensors_hooks(frame.pack, frame.unpack), contexts[0], listening(frame.forward_log):
        result = function(*args, **kwargs)
    return result
