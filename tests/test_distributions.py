"""Distributions: kept values, samples against log_prob, gradients of samples, shapes, checks of parameters and values."""
import copy
import math
import pickle

import pytest

import fasttensor as torch
import fasttensor.distributions as D
from distribution_cases import CASES
from helpers import assert_close, oracle, to_oracle

pytestmark = pytest.mark.filterwarnings("ignore:Singular sample")


def made(name):
    return CASES[name][0](D, torch.tensor)


@pytest.mark.parametrize("name", CASES)
def test_kept_values(name):
    build, point, expected = CASES[name]
    d, x = build(D, torch.tensor), point(torch.tensor)
    for what, value in expected.items():
        torch.manual_seed(0)
        held = getattr(d, what)
        found = held(x) if what in ("log_prob", "cdf") else held() if callable(held) else held
        assert_close(found, value, rtol=2e-5, atol=2e-5, what=what)


@pytest.mark.parametrize("name", CASES)
def test_against_pytorch(name):
    oracle()
    import torch as pt
    build, point, _ = CASES[name]
    mine, theirs = build(D, torch.tensor), build(pt.distributions, pt.tensor)
    assert repr(mine) == repr(theirs) and repr(mine.support) == repr(theirs.support)
    shape = (2, *mine.batch_shape)
    for sample in ("sample", "rsample"):
        if sample == "rsample" and not mine.has_rsample:
            continue
        torch.manual_seed(1), pt.manual_seed(1)
        x, y = getattr(mine.expand(shape), sample)((3,)), getattr(theirs.expand(shape), sample)((3,))
        assert_close(x, y, rtol=1e-4, atol=1e-5, what=sample)
        assert torch.rand(1).item() == pt.rand(1).item()        # as many numbers were drawn
    assert_close(mine.log_prob(x.detach()), theirs.log_prob(to_oracle(x.detach())), rtol=1e-3, atol=1e-4, what="log_prob of samples")


@pytest.mark.parametrize("name", CASES)
def test_shapes_expand_and_pickle(name):
    d = made(name)
    wide = d.expand((4, *d.batch_shape)).expand((3, 4, *d.batch_shape))
    assert type(wide) is type(d) and wide.event_shape == d.event_shape
    assert wide.sample((2,)).shape == (2, 3, 4, *d.batch_shape, *d.event_shape)
    assert wide.log_prob(d.sample()).shape == (3, 4, *d.batch_shape)
    for twin in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):
        torch.manual_seed(5)
        x = d.sample((2,))
        torch.manual_seed(5)
        assert twin.sample((2,)).tolist() == x.tolist()


@pytest.mark.parametrize("name", [n for n in CASES if "variance" in CASES[n][2] and n not in ("fisher_snedecor", "inverse_gamma", "pareto", "von_mises")])
def test_sample_moments(name):
    d = made(name)
    x = d.sample((4000,))
    error = (x.mean(0) - d.mean).abs() / (d.stddev + 1e-3)
    assert error.max() < 0.1, (name, x.mean(0), d.mean)
    spread = x.var(0) / (d.variance + 1e-6)
    assert (spread - 1).abs().max() < 0.45, (name, x.var(0), d.variance)


@pytest.mark.parametrize("name", ["bernoulli", "binomial", "categorical", "one_hot"])
def test_enumerated_probabilities_add_up(name):
    d = made(name)
    assert d.has_enumerate_support
    values = d.enumerate_support()
    assert_close(d.log_prob(values).exp().sum(0), torch.ones(d.batch_shape), atol=1e-5)
    assert_close(-(d.log_prob(values).exp() * d.log_prob(values)).sum(0), d.entropy(), atol=1e-5)
    assert d.enumerate_support(expand=False).numel() == len(values) * math.prod(d.event_shape)


INVERTIBLE = [n for n in CASES if "cdf" in CASES[n][2] and n not in ("mixture", "gamma", "chi2", "inverse_gamma")]


@pytest.mark.parametrize("name", INVERTIBLE)
def test_icdf_inverts_cdf(name):
    d, u = made(name), torch.tensor([0.2, 0.7] if "pareto" not in name or name == "pareto" else [0.2, 0.7, 0.5])
    assert_close(d.cdf(d.icdf(u)), u, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in INVERTIBLE if not n.startswith("half")])
def test_density_is_the_slope_of_cdf(name):
    d = made(name)
    x = CASES[name][1](torch.tensor).double().requires_grad_()
    slope, = torch.autograd.grad(d.cdf(x).sum(), x)
    assert_close(slope.float(), d.log_prob(x.detach().float()).exp(), rtol=2e-3, atol=1e-5)


# --- gradients of samples ---

def test_gamma_samples_move_with_their_shape():
    # kept values: -(dP / da) / (dP / dx) with 40 digits
    a = torch.tensor([0.5, 2.0, 30.0, 1000.0], dtype=torch.float64)
    x = torch.tensor([0.25, 5.0, 24.0, 1010.0], dtype=torch.float64)
    expected = [0.90801449176, 1.6580687281, 0.89753898488, 1.0051509297]
    slopes = torch._standard_gamma_grad(a, x)
    x2 = torch.special.gammainc(a + 1e-5, x + 1e-5 * slopes) - torch.special.gammainc(a - 1e-5, x - 1e-5 * slopes)
    assert_close(x2 / (2e-5), [0.0] * 4, atol=1e-7)
    assert_close(slopes, expected, rtol=1e-8)


def test_beta_samples_move_with_their_parameters():
    # of a Beta(a, 1) number, x = u ** (1 / a) moves by -x log(x) / a; of Beta(1, b), x = 1 - u ** (1 / b) by (1 - x) log(1 - x) / b
    x = torch.tensor([0.1, 0.5, 0.9, 0.999], dtype=torch.float64)
    for a in (0.05, 1.0, 7.0, 300.0):
        up = torch._dirichlet_grad(x, torch.full_like(x, a), torch.full_like(x, a + 1))
        assert_close(up * (1 - x), -x * x.log() / a, rtol=1e-9)
        down = torch._dirichlet_grad(1 - x, torch.full_like(x, a), torch.full_like(x, a + 1))
        assert_close(down * x, -(1 - x) * (1 - x).log() / a, rtol=1e-9)


@pytest.mark.parametrize("build, moment, slope", [
    (lambda p: D.Gamma(p, 2.0), lambda x: x, 0.5), (lambda p: D.Gamma(3.0, p), lambda x: x, -1 / 3),
    (lambda p: D.Chi2(p), lambda x: x, 1.0), (lambda p: D.Normal(0.0, p), lambda x: x ** 2, 6.0),
    (lambda p: D.Beta(p, 2.0), lambda x: x, 2 / 25), (lambda p: D.StudentT(p + 5), lambda x: x.abs(), -0.012357),
    (lambda p: D.Laplace(0.0, p), lambda x: x.abs(), 1.0), (lambda p: D.Exponential(p), lambda x: x, -1 / 9),
    (lambda p: D.Dirichlet(torch.stack([p, p * 0 + 2])), lambda x: x[..., 0], 2 / 25), (lambda p: D.Weibull(p, 1.5), lambda x: x, math.gamma(5 / 3)),
    (lambda p: D.Uniform(0.0, p), lambda x: x, 0.5), (lambda p: D.Kumaraswamy(p, 1.0), lambda x: x, 1 / 16),
    (lambda p: D.Pareto(1.0, p), lambda x: x.log(), -1 / 9)])
def test_mean_gradient_of_samples(build, moment, slope):
    p = torch.tensor(3.0, requires_grad=True)
    g, = torch.autograd.grad(moment(build(p).rsample((20000,))).mean(), p)
    assert abs(g.item() - slope) < 0.06 * abs(slope) + 2e-3


def test_samples_have_first_derivatives_only():
    a = torch.tensor(2.0, requires_grad=True)
    g, = torch.autograd.grad(D.Gamma(a, 1.0).rsample(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        torch.autograd.grad(g, a)
    p = torch.tensor([0.3, 0.7], requires_grad=True)
    D.OneHotCategoricalStraightThrough(p).rsample()[0].backward()
    assert_close(p.grad, [0.7, -0.3], rtol=1e-5)
    x = torch.tensor([0.5, 3.0], dtype=torch.float64)
    a = torch.tensor([0.7, 4.0], dtype=torch.float64, requires_grad=True)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, x: D.Gamma(a, 2.0).cdf(x), (a, x))
    assert torch.autograd.gradcheck(lambda a, x: torch.special.gammaincc(a[:, None], x), (a, x))
    assert torch.autograd.gradcheck(lambda a, x: (a * 1.0).igamma_(x), (a, x))
    with pytest.raises(NotImplementedError, match="zeta"):
        torch.special.zeta(a + 1, x).sum().backward()


# --- checks ---

@pytest.mark.parametrize("build, words", [
    (lambda: D.Normal(torch.zeros(2), torch.tensor([1.0, -1.0])), "Expected parameter scale .* of distribution Normal"),
    (lambda: D.Normal(math.nan, 1.0), "constraint Real"), (lambda: D.Bernoulli(), "Either `probs` or `logits`"), (lambda: D.Bernoulli(0.5, 0.5), "not both"),
    (lambda: D.Bernoulli(2.0), "Interval"), (lambda: D.Categorical(torch.tensor(1.0)), "at least one-dimensional"),
    (lambda: D.Categorical(torch.tensor([-1.0, 2.0])), "Simplex"), (lambda: D.Uniform(2.0, 1.0), "LessThan"), (lambda: D.Geometric(0.0), "to be positive"),
    (lambda: D.MultivariateNormal(torch.zeros(2)), "Exactly one"), (lambda: D.MultivariateNormal(torch.zeros(2), -torch.eye(2)), "PositiveDefinite"),
    (lambda: D.MultivariateNormal(torch.tensor(0.0), torch.eye(2)), "at least one-dimensional"),
    (lambda: D.LowRankMultivariateNormal(torch.zeros(2), torch.zeros(3, 1), torch.ones(2)), "2 x m"), (lambda: D.LKJCholesky(1), "dim=1"),
    (lambda: D.Wishart(1.0, torch.eye(3)), "greater than ndim - 1"), (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "1 vs 0"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), "list of Transforms"), (lambda: D.Dirichlet(torch.tensor(1.0)), "one-dimensional"),
    (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()), "size at least 1"),
    (lambda: D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(torch.zeros(2), 1.0)), "does not equal"), (lambda: D.Normal("a", 1.0), "Number"),
    (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "must be a Tensor"), (lambda: D.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3)), "not broadcastable"),
    (lambda: D.Bernoulli(0.5).log_prob(torch.tensor(0.5)), r"within the support \(Boolean\(\)\)"),
    (lambda: D.OneHotCategorical(torch.ones(2)).log_prob(torch.tensor([1.0, 0.0, 0.0])), "right-most size"),
    (lambda: D.Categorical(torch.ones(2)).log_prob(torch.tensor(5)), "IntegerInterval"),
    (lambda: D.Distribution.set_default_validate_args(3), "True or False")])
def test_bad_values(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_missing_methods_and_validation_off():
    for build in (lambda: D.Poisson(1.0).rsample(), lambda: D.Categorical(torch.ones(2)).cdf(torch.tensor(0)), lambda: D.Normal(0.0, 1.0).enumerate_support(),
                  lambda: D.Multinomial(torch.tensor(3.0), torch.ones(2)), lambda: D.Binomial(torch.tensor([3.0, 4.0]), torch.ones(2)).entropy()):
        with pytest.raises(NotImplementedError):
            build()
    with pytest.raises(AssertionError):
        D.Wishart(4.0)
    assert D.Normal(0.0, -1.0, validate_args=False).log_prob(torch.tensor(0.0)).isnan()
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Bernoulli(0.5).log_prob(torch.tensor(0.5)).isfinite()
    finally:
        D.Distribution.set_default_validate_args(True)


def test_users_distributions():
    class Shifted(D.Normal):
        def __init__(self, loc, by):
            super().__init__(loc + by, 1.0)
            self.by = by

    with pytest.raises(NotImplementedError, match="custom .expand"):
        Shifted(0.0, 1.0).expand((2,))

    class Plain(D.Distribution):
        def __init__(self, low):
            self.low = low
            super().__init__(torch.Size())

    with pytest.warns(UserWarning, match="arg_constraints"):
        plain = Plain(1.0)
    with pytest.raises(NotImplementedError):
        plain.expand((2,))
    with pytest.warns(UserWarning, match="support"):
        plain._validate_sample(torch.tensor(1.0))

    class Coin(D.ExponentialFamily):
        """The entropy comes from the log normalizer alone."""
        arg_constraints = {}
        _mean_carrier_measure = 0

        def __init__(self, logits):
            self.logits = logits
            super().__init__(logits.shape)

        @property
        def _natural_params(self):
            return (self.logits,)

        def _log_normalizer(self, x):
            return torch.nn.functional.softplus(x)

    logits = torch.tensor([0.5, -1.0], requires_grad=True)
    coin, plain = Coin(logits), D.Bernoulli(logits=logits)
    assert_close(coin.entropy(), plain.entropy(), rtol=1e-5)
    assert_close(torch.autograd.grad(coin.entropy().sum(), logits)[0], torch.autograd.grad(plain.entropy().sum(), logits)[0], rtol=1e-4)
    assert D.kl_divergence(coin, Coin(torch.zeros(2))).allclose(D.kl_divergence(plain, D.Bernoulli(logits=torch.zeros(2))))


def test_modes_that_pytorch_misses():
    assert_close(D.Kumaraswamy(torch.tensor([0.5, 2.0]), torch.tensor([1.5, 3.0])).mode, [math.nan, 0.2 ** 0.5])
    assert D.Weibull(torch.tensor([2.0]), torch.tensor([0.5])).mode.tolist() == [0.0]
    d = D.GeneralizedPareto(torch.zeros(1).double(), 1.0, 0.5)
    assert_close(d.log_prob(torch.ones(1).double()), [-3 * math.log(1.5)])


def test_mixture_of_one_weight_for_all_batches():
    mix = D.MixtureSameFamily(D.Categorical(torch.tensor([0.0, 1.0])), D.Normal(torch.tensor([[-9.0, 9.0], [-9.0, 5.0]]), 0.1))
    assert mix.sample((3,)).round().sub(torch.tensor([9.0, 5.0])).abs().max() <= 1 and mix.mean.tolist() == [9.0, 5.0]


def test_wishart_samples_have_gradients():
    factor = torch.tensor([[1.4, 0.0], [0.3, 0.9]], dtype=torch.float64, requires_grad=True)
    x = D.Wishart(torch.tensor(5.0).double(), scale_tril=factor).rsample((4,))
    g, = torch.autograd.grad(torch.linalg.slogdet(x).logabsdet.sum(), factor)
    assert_close(g.diagonal(), (8 / factor.diagonal()).tolist(), rtol=1e-9)      # det x = det L ** 2 * det of the noise


def test_samplers_end_for_any_number():
    t, nan, inf = torch.tensor, math.nan, math.inf
    assert_close(torch.binomial(t([nan, inf, 1.0, 1e30]), t([0.5, 0.5, nan, 0.0])), [nan, inf, nan, 0.0])
    assert_close(torch.poisson(t([inf, 0.0])), [inf, 0.0])
    assert_close(torch.poisson(t([1e30])), [1e30], rtol=1e-5)
    assert_close(torch._standard_gamma(t([nan, inf, 0.0, -1.0])), [nan, inf, torch.finfo(torch.float32).tiny, nan])
    assert D.VonMises(0.0, t([nan, 1e-8]), validate_args=False).sample((3,)).isnan().tolist() == [[True, False]] * 3
