"""Contexts that are decorators too, for classes of libraries that derive from PyTorch's."""
import functools
import inspect

from fasttensor.autograd.grad_mode import decorate

__all__ = []


class _Fresh:
    """A context for each call, made by a function."""

    def __init__(self, make):
        self.clone = make


def context_decorator(ctx, func):
    """`func` run inside of a context: one object that serves every call, or a function that makes one for each.

    Methods of a class that begin its objects are wrapped, generators at each step. Raises RuntimeError for an object that is both a
    context and callable.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise RuntimeError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which "
                           "interface to use. If you intended to pass a context manager factory, rewrite your call as "
                           "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call as "
                           "context_decorator(lambda: ctx)")
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context "
                           "manager applied; additionally, decorating a class at definition-site will prevent use of the identifier as a "
                           "conventional type. To specify which methods to decorate, decorate each of them individually.")
    return decorate(_Fresh(ctx if callable(ctx) else lambda: ctx), func)


class _DecoratorContextManager:
    """A context whose objects decorate functions: each call enters a `clone()` of it."""

    def __call__(self, orig_func):
        return decorate(self, orig_func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        """Another object like this; classes with arguments have their own."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One whose class, without arguments, decorates too."""

    def __new__(cls, orig_func=None):
        made = super().__new__(cls)
        if orig_func is None:
            return made
        made.__init__()
        return functools.wraps(orig_func)(made(orig_func))
