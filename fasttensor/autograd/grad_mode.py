"""Contexts that switch recording off and on, usable as decorators too."""

from fasttensor._core.dispatch import (
    _set_grad_enabled,
    _set_inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
)

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled"]


class _Mode:
    """A context manager and decorator; generators are switched at each step."""

    def __call__(self, function):
        import functools        # only decorators need these, and importing them costs more than all else here
        import inspect
        if inspect.isclass(function):
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function, functools)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)
        return wrapped

    def _wrap_generator(self, function, functools):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            try:
                with self.clone():
                    item = next(generator)
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            item = generator.throw(error)
                    else:
                        with self.clone():
                            item = generator.send(sent)
            except StopIteration as stop:
                return stop.value
        return wrapped

    def clone(self):
        return type(self)()


class no_grad(_Mode):
    """Operations inside are not recorded.

    >>> import fasttensor as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function=None):
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self):
        self.before = _set_grad_enabled(False)

    def __exit__(self, *exc):
        _set_grad_enabled(self.before)


class enable_grad(_Mode):
    """Operations inside are recorded, inside a ``no_grad`` block too."""

    def __new__(cls, function=None):
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self):
        self.before = _set_grad_enabled(True)

    def __exit__(self, *exc):
        _set_grad_enabled(self.before)


class set_grad_enabled(_Mode):
    """Recording on or off by a flag: at once as a function call, until the end of a ``with`` block as a context."""

    def __init__(self, mode):
        self.mode = bool(mode)
        self.before = _set_grad_enabled(self.mode)

    def __call__(self, function):
        _set_grad_enabled(self.before)
        return super().__call__(function)

    def __enter__(self):
        _set_grad_enabled(self.mode)

    def __exit__(self, *exc):
        _set_grad_enabled(self.before)

    def clone(self):
        return type(self)(self.mode)


class inference_mode(_Mode):
    """Like ``no_grad``, and the tensors made inside can never be recorded: no version counting, no views to track."""

    def __new__(cls, mode=True):
        made = super().__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        made.mode = bool(mode)
        return made

    def __enter__(self):
        self.before = _set_inference_mode(self.mode), _set_grad_enabled(not self.mode)

    def __exit__(self, *exc):
        _set_inference_mode(self.before[0])
        _set_grad_enabled(self.before[1])

    def clone(self):
        return type(self)(self.mode)


class set_multithreading_enabled:
    """Accepted as a call or a context: a backward sweep runs its nodes in one thread here, and kernels use several."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None
