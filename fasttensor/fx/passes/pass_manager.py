"""`PassManager` of plain functions, and what is made of functions for it."""
import logging
from functools import wraps
from inspect import unwrap

__all__ = ["PassManager", "inplace_wrapper", "log_hook", "loop_pass", "this_before_that_pass_constraint", "these_before_those_pass_constraint"]

logger = logging.getLogger(__name__)


def inplace_wrapper(fn):
    """A function that changes its first argument, as one that returns it."""
    @wraps(fn)
    def run(gm, *args, **kwargs):
        fn(gm, *args, **kwargs)
        return gm
    return run


def log_hook(fn, level=logging.INFO):
    """The function, which writes its result to the log."""
    @wraps(fn)
    def run(*args, **kwargs):
        result = fn(*args, **kwargs)
        logger.log(level, "Ran pass %s\t Return value: %s", fn, result)
        return result
    return run


def loop_pass(base_pass, n_iter=None, predicate=None):
    """A pass that runs another `n_iter` times, or as long as ``predicate(value)`` holds: one of the two is given."""
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter` or `predicate` must be specified.")

    @wraps(base_pass)
    def run(source):
        if n_iter is not None:
            for _ in range(n_iter):
                source = base_pass(source)
        else:
            while predicate(source):
                source = base_pass(source)
        return source
    return run


def this_before_that_pass_constraint(this, that):
    """A constraint: the first pass does not come after the second."""
    def holds(a, b):
        return a != that or b != this
    return holds


def these_before_those_pass_constraint(these, those):
    """The same for passes below wrappers."""
    def holds(a, b):
        return unwrap(a) != those or unwrap(b) != these
    return holds


class PassManager:
    """Runs passes one after another, each with what the one before returned; constraints are checked before."""

    def __init__(self, passes=None, constraints=None):
        self.passes, self.constraints, self._validated = passes or [], constraints or [], False

    @classmethod
    def build_from_passlist(cls, passes):
        """A manager of a list of passes."""
        return cls(passes)

    def add_pass(self, _pass):
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint, ``f(a, b)``: whether pass `a` may come before pass `b`."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes):
        """Take passes away by their names."""
        self.passes = [p for p in self.passes if p.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, pass_target, pass_replacement):
        """Put a pass in the place of another."""
        self.passes = [pass_replacement if p.__name__ == pass_target.__name__ else p for p in self.passes]
        self._validated = False

    def validate(self):
        """RuntimeError where the order breaks a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for j, b in enumerate(self.passes[i + 1:]):
                    if not constraint(a, b):
                        raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} at index{j} "
                                           "in pass list.")
        self._validated = True

    def __call__(self, source):
        self.validate()
        for each in self.passes:
            source = each(source)
        return source
