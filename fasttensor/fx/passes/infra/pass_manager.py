"""`PassManager`: runs passes in an order that keeps to constraints."""
import inspect
import logging
from functools import wraps
from queue import Queue

from fasttensor.nn import Module

from .pass_base import PassResult

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn):
    """A function that changes a module and returns None, as one that returns a `PassResult`."""
    if fn is None:
        return None

    @wraps(fn)
    def run(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True) if isinstance(result, Module) else result
    if not inspect.isfunction(fn):
        run.__name__ = type(fn).__name__
    return run


def this_before_that_pass_constraint(this, that):
    """A constraint: the first pass does not come after the second."""
    def holds(a, b):
        return a != that or b != this
    return holds


def _in_order(passes, constraints):
    """The passes so that all constraints hold. RuntimeError where they cannot."""
    if not constraints:
        return passes
    after = {p: [] for p in passes}
    waiting = dict.fromkeys(passes, 0)
    for a in passes:
        for b in passes:
            if a is not b and any(not constraint(a, b) for constraint in constraints):
                after[b].append(a)          # a may not come first
                waiting[a] += 1
    queue, order = Queue(), []
    for p in passes:
        if waiting[p] == 0:
            queue.put(p)
    while not queue.empty():
        order.append(queue.get())
        for p in after[order[-1]]:
            waiting[p] -= 1
            if waiting[p] == 0:
                queue.put(p)
    if len(order) != len(passes):
        left = [p.__name__ for p in passes if p not in order]
        raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
    return order


_topological_sort_passes = _in_order


class PassManager:
    """Runs passes, up to `steps` times or until none changes the module; `constraints` say which order is right.

    A pass takes a module and returns a `PassResult`. Checks run before each pass and at the end with
    ``run_checks_after_each_pass`` after each one.
    """

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False, suppress_check_failures=False):
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps if steps else 1
        self.run_checks_after_each_pass, self.suppress_check_failures = run_checks_after_each_pass, suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """Add a constraint, ``f(a, b)``: whether pass `a` may come before pass `b`."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError where the order breaks a constraint."""
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for b in self.passes[i + 1:]:
                    if not constraint(a, b):
                        raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} at index "
                                           f"{self.passes.index(b)} in pass list.")
        self._validated = True

    def solve_constraints(self):
        """Put the passes in an order that keeps to the constraints."""
        self.passes = _in_order(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check):
        """Let ``check(module)`` look at the module. ValueError for a function with other arguments, TypeError where that is told."""
        parameters = list(inspect.signature(check).parameters.values())
        if len(parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module):
        """What looks at the module."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for i, each in enumerate(self.passes):
                name = each.__name__ if inspect.isfunction(each) else type(each).__name__
                try:
                    result = each(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(f"The result of the pass {name} should be type PassResult. Please wrap it with pass_result_wrapper()")
                except Exception as error:
                    ran = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:i]]
                    raise Exception(f"An error occurred when running the '{name}' pass after the following passes: {ran}") from error
                module, modified = result.graph_module, modified or result.modified
                if hasattr(module, "recompile"):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)
