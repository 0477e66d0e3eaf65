"""The base of all distributions: shapes, checks of parameters and values, and what follows from other methods."""
import warnings

import fasttensor as torch

from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]

_Size = torch.Size


class Distribution:
    """A family of distributions of one kind, with parameters of shape ``batch_shape``, over points of shape ``event_shape``.

    A subclass sets ``arg_constraints`` (a region for each parameter) and ``support``, stores its parameters as attributes and
    calls ``super().__init__(batch_shape, event_shape, validate_args)``. Unless validation is off, ``ValueError`` tells of parameters and
    values outside of their regions.

    >>> import fasttensor as torch
    >>> torch.distributions.Normal(torch.zeros(3), torch.ones(3)).batch_shape
    torch.Size([3])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # The parameters that `expand` expands, with the number of dimensions an event of theirs has, and what it copies as it is.
    _expands = None
    _keeps = ()
    # What is computed here and an attribute in PyTorch, so that it can use what was saved here.
    _saved_for_pytorch = ()

    def __getstate__(self):
        return {**self.__dict__, **{name: getattr(self, name) for name in self._saved_for_pytorch}}

    @staticmethod
    def set_default_validate_args(value):
        """Turn checks of parameters and values on or off for distributions that do not say ``validate_args`` themselves."""
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=_Size(), event_shape=_Size(), validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                          "with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        for name, region in regions.items():
            if constraints.is_dependent(region):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue        # computed from another parameter, which is checked
            value = getattr(self, name)
            if not region.check(value).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                                 f"to satisfy the constraint {region!r}, but found invalid values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same distribution with its parameters expanded to ``batch_shape``, without copying memory."""
        new, batch_shape = self._begun(batch_shape, _instance)
        return self._finished(new, batch_shape)

    def _begun(self, batch_shape, _instance):
        """An instance with the parameters that `_expands` and `_keeps` name."""
        owner = next(c for c in type(self).__mro__ if "_expands" in c.__dict__)
        if owner._expands is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement expand")
        new, batch_shape = self._get_checked_instance(owner, _instance), _Size(batch_shape)
        held = self.__dict__
        for name in owner._keeps:
            if name in held:
                setattr(new, name, held[name])
        for name, dims in owner._expands.items():
            if name in held:
                shape = held[name].batch_shape if isinstance(held[name], Distribution) else held[name].shape
                setattr(new, name, held[name].expand(batch_shape + shape[len(shape) - dims:]))
        return new, batch_shape

    def _finished(self, new, batch_shape):
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self):
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one point."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The region of each parameter, by its name."""
        raise NotImplementedError

    @property
    def support(self):
        """The region of the points."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expected point."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most likely point."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The expected square of the distance from the mean, coordinate by coordinate."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=_Size()):
        """Points of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=_Size()):
        """Points that are differentiable functions of the parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not implement rsample")

    def sample_n(self, n):
        """``sample((n,))``; deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(_Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, at ``value``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement log_prob")

    def cdf(self, value):
        """The probability of points up to ``value``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement cdf")

    def icdf(self, value):
        """The inverse of ``cdf``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement icdf")

    def enumerate_support(self, expand=True):
        """All points of a discrete distribution along a new first dimension, for every batch element or (not ``expand``) with ones in their place."""
        raise NotImplementedError(f"{type(self).__name__} does not implement enumerate_support")

    def entropy(self):
        """The expected value of ``-log_prob``, of shape ``batch_shape``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement entropy")

    def perplexity(self):
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=_Size()):
        if not isinstance(sample_shape, _Size):
            sample_shape = _Size(sample_shape)
        return _Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        """ValueError unless value is a tensor of fitting shape inside the support."""
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, own = value.shape, self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        for i, j in zip(reversed(shape), reversed(own)):
            if i != j and 1 not in (i, j):
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {own}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                          "`validate_args=False` to turn off validation.", stacklevel=2)
            return
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) "
                             f"of the distribution {self!r}, but found invalid values:\n{value}")

    def _check(self, value):
        if self._validate_args:
            self._validate_sample(value)

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                                      "must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        held = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{name}: {v if v.numel() == 1 else v.shape}' for name, v in held)})"
