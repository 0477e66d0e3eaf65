"""Results that may come later: `Future`, `collect_all`, `wait_all`."""
from types import GenericAlias
import threading

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value, or an exception, that another thread sets.

    >>> f = Future()
    >>> f.set_result(3)
    >>> f.then(lambda f: f.value() + 1).wait()
    4
    """

    __class_getitem__ = classmethod(GenericAlias)        # annotations say Future[Tensor]

    def __init__(self, *, devices=None):
        self._condition = threading.Condition()
        self._set, self._value, self._error, self._callbacks = False, None, None, []

    def done(self):
        """Whether the value or the exception is set."""
        return self._set

    def wait(self):
        """The value, once it is set; raises the exception where one was set."""
        with self._condition:
            self._condition.wait_for(self.done)
        return self.value()

    def value(self):
        """The value, which must be set."""
        if not self._set:
            raise RuntimeError("Future.value(): the future has no value yet: use wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value, error):
        with self._condition:
            if self._set:
                raise RuntimeError("Future can only be marked completed once: attempting to mark a completed Future as complete again")
            self._set, self._value, self._error = True, value, error
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result):
        """Set the value and run the callbacks."""
        self._finish(result, None)

    def set_exception(self, result):
        """Set an exception, which wait() raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback):
        """Call ``callback(future)`` once it is done, at once where it is."""
        with self._condition:
            if not self._set:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback):
        """A Future of ``callback(future)``."""
        following = Future()

        def run(future):
            try:
                value = callback(future)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(value)
        self.add_done_callback(run)
        return following


def collect_all(futures):
    """A Future of the list of futures, done when all of them are."""
    futures, together, lock = list(futures), Future(), threading.Lock()
    left = [len(futures)]

    def one_more(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            together.set_result(futures)
    if not futures:
        together.set_result(futures)
    for future in futures:
        future.add_done_callback(one_more)
    return together


def wait_all(futures):
    """The values of all futures."""
    return [future.wait() for future in collect_all(futures).wait()]
