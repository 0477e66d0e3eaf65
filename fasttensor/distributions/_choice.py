"""Distributions whose parameter is given as probabilities or as logits: the other one is computed when it is read."""
from numbers import Number

import fasttensor as torch

from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def must_be_one(probs, logits):
    """ValueError unless exactly one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Binary:
    """``probs`` of success, or ``logits``, their log-odds."""

    _saved_for_pytorch = ("_param",)

    def _take(self, probs, logits, *others):
        """Keep the given one, broadcast with the other parameters, which are returned; the batch shape is in `_param`."""
        must_be_one(probs, logits)
        *others, given = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, "logits" if probs is None else "probs", given)
        return others

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self):
        """Log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """Probabilities of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the given parameter."""
        return self._param.size()

    @staticmethod
    def _batch(*given):
        """The batch shape of numbers alone, or None where a tensor says it."""
        return torch.Size() if all(value is None or isinstance(value, Number) for value in given) else None


class OfCategorical:
    """Distributions that hold a ``Categorical`` in ``_categorical`` and show its parameters as theirs."""

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        """Probabilities along the last dimension."""
        return self._categorical.probs

    @property
    def logits(self):
        """Normalized log probabilities along the last dimension."""
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of the given parameter."""
        return self._categorical.param_shape
