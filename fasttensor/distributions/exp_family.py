"""Exponential families: distributions with densities exp(<t(x), theta> - F(theta) + k(x))."""
import fasttensor as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Adds the entropy, as a Bregman divergence of the log normalizer (Nielsen and Nock, "Entropies and cross-entropies of
    exponential families", 2010).

    A subclass gives ``_natural_params`` (a tuple), ``_log_normalizer(*params)`` and ``_mean_carrier_measure`` (a number).

    >>> issubclass(torch.distributions.Normal, torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        parameters = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*parameters)
            slopes = torch.autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for parameter, slope in zip(parameters, slopes):
            result = result - (parameter * slope).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
