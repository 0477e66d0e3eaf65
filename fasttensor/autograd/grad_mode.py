"""Contexts that switch recording off and on, usable as decorators too; the classes are in ``_core/modes``."""

from fasttensor._core.dispatch import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_hook,
)

from fasttensor._core.tensor import Tensor
from fasttensor.autograd.recording import set_version

OFF = 3         # in a level of dual numbers too, where no_grad lets tangents pass

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled"]


def decorate(mode, function):
    """`function`, or the constructor of a class, run inside of `mode`; generators are switched at each step."""
    import functools        # only decorators need these, and importing them costs more than all else here
    import inspect
    if inspect.isclass(function):
        function.__init__ = decorate(mode, function.__init__)
        return function
    if inspect.isgeneratorfunction(function):
        return _wrap_generator(mode, function, functools)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with mode.clone():
            return function(*args, **kwargs)
    return wrapped


def _wrap_generator(mode, function, functools):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with mode.clone():
                item = next(generator)
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    with mode.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    with mode.clone():
                        item = generator.throw(error)
                else:
                    with mode.clone():
                        item = generator.send(sent)
        except StopIteration as stop:
            return stop.value
    return wrapped


set_hook("decorate_mode", decorate)


class _unsafe_preserve_version_counter:
    """Context: writes inside to one tensor, or to each of a tuple, are not counted.

    Backward then does not notice that what it saved was overwritten; PyTorch's optimizers use it where it does not matter.
    """

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        for t, version in zip(self.tensors, self.versions):
            set_version(t, version)


class set_multithreading_enabled:
    """Accepted as a call or a context: a backward sweep runs its nodes in one thread here, and kernels use several."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None
