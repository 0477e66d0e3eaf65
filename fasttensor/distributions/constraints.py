"""Regions that parameters and samples live in.

    constraints.positive.check(torch.tensor([1.0, -1.0]))       # tensor([ True, False])

``event_dim`` says how many of the last dimensions one point has; ``check`` drops them.
"""
import inspect

import fasttensor as torch

__all__ = ["Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq", "independent",
           "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
           "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_semidefinite",
           "positive_definite", "positive_integer", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """A region; ``is_discrete`` and ``event_dim`` describe its points.

    >>> import fasttensor as torch
    >>> torch.distributions.constraints.unit_interval.check(torch.tensor([0.5, 2.0]))
    tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0
    _shown = ()         # attributes that the repr names

    def check(self, value):
        """A bool tensor, an element for each point of ``value``."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__.removeprefix('_')}({', '.join(f'{name}={getattr(self, name)}' for name in self._shown)})"


# --- regions that depend on other parameters ---

class _Dependent(Constraint):
    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """Whether a constraint is known only once the other parameters are.

    >>> is_dependent(dependent)
    True
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of an object that says its region, and a dependent constraint when read from the class."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# --- regions made of others ---

def _asserted(value, kind, name):
    if not isinstance(value, kind):
        raise AssertionError(f"{name} must be {'an int' if kind is int else 'a ' + kind.__name__}, got {type(value).__name__}")
    return value


class _Wrapped(Constraint):
    def __init__(self, base_constraint):
        self.base_constraint = _asserted(base_constraint, Constraint, "base_constraint")

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim


def _all_last(result, kept):
    """Whether all hold along every dimension after the first `kept`."""
    return result.reshape(result.shape[:kept] + (-1,)).all(-1)


class _IndependentConstraint(_Wrapped):
    """Points whose last dimensions are several points of another region."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        super().__init__(base_constraint)
        self.reinterpreted_batch_ndims = _asserted(reinterpreted_batch_ndims, int, "reinterpreted_batch_ndims")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_last(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapped):
    """Points that lie in the region of every component of a mixture: the components' batch dimension is added, then dropped."""

    def check(self, value):
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_last(self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)), value.dim() - self.event_dim)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Sequence(Constraint):
    def __init__(self, cseq, dim):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def _must_have_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Sequence):
    """Pieces of given lengths along one dimension, each with its own region."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value):
        self._must_have_dim(value)
        ends = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return torch.cat([c.check(value.narrow(self.dim, at, n)) for c, at, n in zip(self.cseq, ends, self.lengths)], self.dim)


class _Stack(_Sequence):
    """Slices along one dimension, each with its own region."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)

    @property
    def event_dim(self):
        most = super().event_dim
        return most + 1 if self.dim + most < 0 else most

    def check(self, value):
        self._must_have_dim(value)
        return torch.stack([c.check(v) for c, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


# --- numbers ---

class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value):
        return value == value      # everything but NaN


def _region(name, shown, holds, whole=False, doc=""):
    """A class of regions with bounds: `holds(value, *bounds)` decides, and `whole` asks for integers too."""
    def __init__(self, *args, **named):
        given = dict(zip(shown, args))
        if len(args) > len(shown) or set(given) & set(named) or set(given) | set(named) != set(shown):
            raise TypeError(f"{name.removeprefix('_')}() takes {', '.join(shown)}, got {args} and {named}")
        self.__dict__.update(given, **named)

    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("self", *shown)]
    __init__.__signature__ = inspect.Signature(parameters)

    def check(self, value):
        inside = holds(value, *(getattr(self, bound) for bound in shown))
        return inside & (value % 1 == 0) if whole else inside
    body = {"__init__": __init__, "check": check, "_shown": shown, "is_discrete": whole, "__doc__": doc, "__module__": __name__, "__qualname__": name}
    return type(name, (Constraint,), body)


_GreaterThan = _region("_GreaterThan", ("lower_bound",), lambda x, low: low < x, doc="Numbers above a bound.")
_GreaterThanEq = _region("_GreaterThanEq", ("lower_bound",), lambda x, low: low <= x, doc="Numbers at or above a bound.")
_LessThan = _region("_LessThan", ("upper_bound",), lambda x, high: x < high, doc="Numbers below a bound.")
_Interval = _region("_Interval", ("lower_bound", "upper_bound"), lambda x, low, high: (low <= x) & (x <= high), doc="[low, high].")
_HalfOpenInterval = _region("_HalfOpenInterval", ("lower_bound", "upper_bound"), lambda x, low, high: (low <= x) & (x < high), doc="[low, high).")
_IntegerInterval = _region("_IntegerInterval", ("lower_bound", "upper_bound"), lambda x, low, high: (low <= x) & (x <= high), True, "Integers of [low, high].")
_IntegerLessThan = _region("_IntegerLessThan", ("upper_bound",), lambda x, high: x <= high, True, "Integers up to a bound, which belongs to them.")
_IntegerGreaterThan = _region("_IntegerGreaterThan", ("lower_bound",), lambda x, low: x >= low, True, "Integers from a bound on, which belongs to them.")


# --- vectors ---

class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and whose sum is one."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# --- matrices ---

class _Matrix(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrix):
    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_Matrix):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value):
        return _LowerTriangular.check(self, value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_Matrix):
    """Cholesky factors of correlation matrices: rows of length one, to ten roundings an element."""

    def check(self, value):
        tolerance = torch.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = torch.linalg.norm(value.detach(), dim=-1)
        return _LowerCholesky.check(self, value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(_Matrix):
    def check(self, value):
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return (torch.linalg.eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info == 0 if symmetric.all() else symmetric


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
