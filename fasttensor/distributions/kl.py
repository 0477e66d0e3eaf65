"""Kullback-Leibler divergences, found by the classes of the two distributions."""
import warnings


__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY = {}       # (class, class): function, as registered
_KL_MEMOIZE = {}        # the same for classes that were looked up


def register_kl(type_p, type_q):
    """A decorator that makes ``f(p, q)`` the divergence of ``type_p`` from ``type_q`` and their subclasses.

    The most specific pair of classes wins; RuntimeWarning where two pairs are each more specific in one place. Raises TypeError for
    what is no class; classes of other libraries that behave like distributions may be registered.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import register_kl
    >>> from fasttensor.distributions import Normal, kl_divergence
    >>> class Shifted(Normal):
    ...     pass
    >>> @register_kl(Shifted, Shifted)
    ... def kl_shifted(p, q):
    ...     return p.loc - q.loc
    >>> kl_divergence(Shifted(1.0, 1.0), Shifted(0.0, 1.0))
    tensor(1.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun
    return decorator


def _dispatch_kl(type_p, type_q):
    """The function of the closest registered base classes, or NotImplemented."""
    near_p, near_q = type_p.__mro__, type_q.__mro__
    places = {(near_p.index(p), near_q.index(q)): fun for (p, q), fun in _KL_REGISTRY.items() if p in near_p and q in near_q}
    if not places:
        return NotImplemented
    by_p, by_q = min(places), min(places, key=lambda place: place[::-1])
    if places[by_p] is not places[by_q]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
                      f"Please register_kl({near_p[by_p[0]].__name__}, {near_q[by_q[1]].__name__})", RuntimeWarning, stacklevel=3)
    return places[by_p]


def kl_divergence(p, q):
    """The divergence KL(p || q) = E_p[log p(x) - log q(x)], of the broadcast batch shapes; infinite where p has points that q excludes.

    Raises NotImplementedError where no formula is registered for the two classes.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import kl_divergence
    >>> from fasttensor.distributions import Normal
    >>> kl_divergence(Normal(torch.zeros(2), 1.0), Normal(torch.tensor([0.0, 1.0]), 1.0))
    tensor([0.0000, 0.5000])
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    fun = _KL_MEMOIZE[key]
    if fun is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return fun(p, q)


# The formulas register themselves when they are imported.
from . import _kl_mixed, _kl_same  # noqa: E402, F401
