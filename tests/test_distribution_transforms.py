"""Transforms, constraints, divergences, and the programs that people write with distributions."""
import itertools
import pickle

import pytest

import fasttensor as torch
import fasttensor.distributions as D
from distribution_cases import CASES
from fasttensor.distributions import constraints, transforms
from fasttensor.distributions.kl import _KL_REGISTRY
from helpers import assert_close, oracle

VECTOR = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)
SQUARE = torch.tensor([[0.3, 1.0], [2.0, -0.5]], dtype=torch.float64)
TRANSFORMS = {
    "affine": (transforms.AffineTransform(torch.tensor([1.0, 2.0, 3.0]).double(), torch.tensor([2.0, -1.0, 0.5]).double()), VECTOR),
    "affine_event": (transforms.AffineTransform(1.0, torch.tensor(2.0).double(), event_dim=1), VECTOR), "exp": (transforms.ExpTransform(), VECTOR),
    "power": (transforms.PowerTransform(torch.tensor([2.0, 0.5, 3.0]).double()), VECTOR.abs()), "sigmoid": (transforms.SigmoidTransform(), VECTOR),
    "softplus": (transforms.SoftplusTransform(), VECTOR), "tanh": (transforms.TanhTransform(), VECTOR), "identity": (transforms.identity_transform, VECTOR),
    "stick_breaking": (transforms.StickBreakingTransform(), VECTOR), "corr_cholesky": (transforms.CorrCholeskyTransform(), VECTOR),
    "reshape": (transforms.ReshapeTransform((3,), (1, 3)), VECTOR), "independent": (transforms.IndependentTransform(transforms.ExpTransform(), 1), VECTOR),
    "compose": (
        transforms.ComposeTransform([transforms.AffineTransform(1.0, 2.0), transforms.TanhTransform(), transforms.StickBreakingTransform()]), VECTOR),
    "cat": (transforms.CatTransform([transforms.ExpTransform(), transforms.TanhTransform()], dim=0, lengths=[1, 2]), VECTOR),
    "stack": (transforms.StackTransform([transforms.ExpTransform(), transforms.TanhTransform(), transforms.identity_transform], dim=0), VECTOR),
    "cdf": (transforms.CumulativeDistributionTransform(D.Normal(torch.tensor(0.0).double(), 2.0)), VECTOR),
    "inverse": (transforms.ExpTransform().inv, VECTOR.exp()),
}
NOT_ONE_TO_ONE = {"softmax": (transforms.SoftmaxTransform(), VECTOR), "abs": (transforms.AbsTransform(), VECTOR),
                  "lower_cholesky": (transforms.LowerCholeskyTransform(), SQUARE), "positive_definite": (transforms.PositiveDefiniteTransform(), SQUARE)}


@pytest.mark.parametrize("name", [*TRANSFORMS, *NOT_ONE_TO_ONE])
def test_transforms(name):
    t, x = {**TRANSFORMS, **NOT_ONE_TO_ONE}[name]
    y = t(x)
    assert t.domain.check(x).all() and t.codomain.check(y).all()
    assert t.forward_shape(x.shape) == y.shape and t.inverse_shape(y.shape) == x.shape
    assert_close(t(t.inv(y)), y, rtol=1e-9)
    assert t.inv.inv is t
    if name in TRANSFORMS:
        assert t.bijective
        assert_close(t.inv(y), x, rtol=1e-9)
    twin = pickle.loads(pickle.dumps(t))
    assert_close(twin(x), y)
    assert_close(pickle.loads(pickle.dumps(t.inv))(y), t.inv(y))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_log_determinants(name):
    t, x = TRANSFORMS[name]
    if name == "corr_cholesky":
        rows, columns = torch.tril_indices(3, 3, -1)
        flat = lambda v: t(v)[rows, columns]                # noqa: E731
    elif name in ("stick_breaking", "compose"):
        flat = lambda v: t(v)[..., :-1]                     # noqa: E731 - the last coordinate follows from the others
    else:
        flat = lambda v: t(v).reshape(-1)                   # noqa: E731
    expected = torch.linalg.slogdet(_jacobian(flat, x)).logabsdet
    found = t.log_abs_det_jacobian(x, t(x))
    assert found.dim() == x.dim() - t.domain.event_dim
    assert_close(found.sum(), expected, rtol=1e-8)
    assert_close(t.inv.log_abs_det_jacobian(t(x), x).sum(), -expected, rtol=1e-8)


def _jacobian(f, x):
    x = x.clone().requires_grad_()
    return torch.stack([torch.autograd.grad(e, x, retain_graph=True)[0].reshape(-1) for e in f(x)])


def test_caches():
    t = transforms.TanhTransform(cache_size=1)
    x = torch.tensor([20.0])
    assert t.inv(t(x)) is x and transforms.TanhTransform().inv(t(x)).isinf()
    assert t.with_cache(0)._cache_size == 0 and t.with_cache(1) is t
    both = transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(1.0, 2.0)], cache_size=1)
    assert both.inv(both(x)) is x
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        transforms.ExpTransform(cache_size=2)
    assert transforms.ExpTransform() == transforms.ExpTransform() != transforms.TanhTransform()
    assert transforms.AffineTransform(0.0, 1.0) == transforms.AffineTransform(0.0, 1.0) != transforms.AffineTransform(0.0, 2.0)


def test_bad_transforms():
    for build, words in [(lambda: transforms.ReshapeTransform((2,), (3,)), "different numbers"),
                         (lambda: transforms.CorrCholeskyTransform()(torch.zeros(4)), "4"),
                         (lambda: transforms.StickBreakingTransform().forward_shape(torch.Size()), "Too few dimensions"),
                         (lambda: transforms.CorrCholeskyTransform().inverse_shape((2, 3)), "not square"),
                         (lambda: transforms.ReshapeTransform((3,), (1, 3)).forward_shape(torch.Size((2,))), "Shape mismatch")]:
        with pytest.raises(ValueError, match=words):
            build()
    with pytest.raises(NotImplementedError):
        transforms.SoftmaxTransform().log_abs_det_jacobian(VECTOR, VECTOR)


REGIONS = [constraints.real, constraints.positive, constraints.nonnegative, constraints.greater_than(2.0), constraints.less_than(-1.0),
           constraints.interval(-2.0, 5.0), constraints.half_open_interval(0.0, 3.0), constraints.unit_interval, constraints.simplex,
           constraints.corr_cholesky, constraints.independent(constraints.positive, 1), constraints.lower_cholesky, constraints.positive_definite,
           constraints.cat([constraints.positive, constraints.unit_interval], 0, [1, 2]), constraints.real_vector,
           constraints.stack([constraints.positive, constraints.real, constraints.less_than(0.0)], 0)]


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_registries_reach_the_region(region):
    x = SQUARE if region.event_dim == 2 and region is not constraints.corr_cholesky else VECTOR
    for registry in (D.biject_to, D.transform_to):
        if registry is D.biject_to and region in (constraints.lower_cholesky, constraints.positive_definite):
            with pytest.raises(NotImplementedError, match="Cannot transform"):
                registry(region)
            continue
        t = registry(region)
        assert region.check(t(x)).all()
        assert_close(t(t.inv(t(x))), t(x), rtol=1e-8)
        assert registry is not D.biject_to or t.bijective


def test_constraints():
    t = torch.tensor
    x = t([0.0, 1.0, -1.0, 0.5, 3.0, float("nan")])
    expected = {constraints.boolean: "110000", constraints.nonnegative_integer: "110010", constraints.positive_integer: "010010", constraints.real: "111110",
                constraints.positive: "010110", constraints.nonnegative: "110110", constraints.unit_interval: "110100",
                constraints.integer_interval(0, 2): "110000", constraints.half_open_interval(0.0, 1.0): "100100", constraints.less_than(0.5): "101000"}
    for region, bits in expected.items():
        assert "".join(str(int(b)) for b in region.check(x).tolist()) == bits, region
    rows = t([[0.2, 0.8], [1.0, 0.0], [2.0, -1.0]])
    assert constraints.simplex.check(rows).tolist() == [True, True, False] and constraints.one_hot.check(rows).tolist() == [False, True, False]
    assert constraints.multinomial(1).check(rows).tolist() == [True, True, False]
    squares = t([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0], [0.6, 0.8]]])
    assert constraints.symmetric.check(squares[:2]).tolist() == [True, True] and not constraints.symmetric.check(squares[2:]).any()
    assert constraints.positive_definite.check(squares[:2]).tolist() == [True, False]
    assert constraints.lower_cholesky.check(squares).tolist() == [False, False, False, True]
    assert constraints.corr_cholesky.check(squares).tolist() == [False, False, False, True]
    with pytest.raises(ValueError, match="dependent constraint"):
        constraints.dependent.check(x)
    assert repr(constraints.independent(constraints.positive, 1)) == "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)"
    assert constraints.is_dependent(D.Uniform.support) and constraints.is_dependent(D.Binomial.support)


# --- divergences ---

SUPPORT_INSIDE = {D.Uniform: lambda: D.Uniform(torch.tensor(0.2), 0.7), D.Pareto: lambda: D.Pareto(torch.tensor(1.5), 4.0)}


def example(kind):
    """A distribution of one number or vector of the kind, with parameters that make most divergences finite."""
    t = torch.tensor
    return {D.Normal: lambda: D.Normal(t(0.3), 0.7), D.Beta: lambda: D.Beta(t(1.5), 2.5), D.Gamma: lambda: D.Gamma(t(2.0), 3.0),
            D.Gumbel: lambda: D.Gumbel(t(0.2), 1.3), D.Exponential: lambda: D.Exponential(t(1.7)), D.Laplace: lambda: D.Laplace(t(-0.2), 1.1),
            D.ContinuousBernoulli: lambda: D.ContinuousBernoulli(t(0.3)),
            **SUPPORT_INSIDE}[kind]()


@pytest.mark.parametrize("p, q", [pair for pair in _KL_REGISTRY if all(kind in (
    D.Normal, D.Beta, D.Gamma, D.Gumbel, D.Exponential, D.Laplace, D.ContinuousBernoulli, D.Uniform, D.Pareto) for kind in pair)],
    ids=lambda kind: kind.__name__)
def test_divergences_are_what_samples_say(p, q):
    p, q = example(p), example(q)
    kl = D.kl_divergence(p, q)
    x = p.sample((20000,))
    if kl.isinf():
        assert not q.support.check(x).all()
    else:
        q._validate_args = p._validate_args = False
        assert_close((p.log_prob(x) - q.log_prob(x)).mean(), kl, rtol=0.08, atol=0.03)


def test_kept_divergences():
    t = torch.tensor
    mvn = D.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]]))
    low = D.LowRankMultivariateNormal(t([1.0, 1.0]), t([[1.0], [0.5]]), t([1.5, 1.0]))
    same = D.MultivariateNormal(low.loc, low.covariance_matrix)
    for a, b in itertools.product((mvn, low), repeat=2):
        full = [same if d is low else d for d in (a, b)]
        assert_close(D.kl_divergence(a, b), D.kl_divergence(*full), atol=1e-5)
    assert_close(D.kl_divergence(mvn, same), 0.2482185, atol=1e-5)
    assert_close(D.kl_divergence(D.Categorical(t([0.5, 0.5, 0.0])), D.Categorical(t([0.25, 0.5, 0.25]))), 0.3465736, atol=1e-5)
    assert D.kl_divergence(D.Categorical(t([0.5, 0.5])), D.Categorical(t([1.0, 0.0]))).isinf()
    assert_close(D.kl_divergence(D.Bernoulli(t([0.2, 0.0, 1.0])), D.Bernoulli(t([0.3, 0.4, 0.0]))), [0.0257328, 0.5108256, float("inf")], atol=1e-5)
    assert_close(D.kl_divergence(D.Dirichlet(t([1.0, 2.0])), D.Dirichlet(t([2.0, 1.0]))), 1.0, atol=1e-5)
    assert_close(D.kl_divergence(D.Poisson(t(2.0)), D.Poisson(t(3.0))), 0.1890697, atol=1e-5)
    assert_close(D.kl_divergence(D.LogNormal(t(0.0), 1.0), D.LogNormal(t(1.0), 2.0)), 0.4431472, atol=1e-5)
    assert_close(D.kl_divergence(D.Independent(D.Normal(torch.zeros(2), 1.0), 1), D.Independent(D.Normal(torch.ones(2), 1.0), 1)), 1.0, atol=1e-5)
    assert D.kl_divergence(D.Poisson(torch.ones(3, 1)), D.Bernoulli(torch.full((2,), 0.5))).shape == (3, 2)


def test_divergence_dispatch():
    class A(D.Normal):
        pass

    class B(A):
        pass

    pairs = dict(_KL_REGISTRY)
    try:
        D.register_kl(A, D.Normal)(lambda p, q: "left")
        D.register_kl(D.Normal, A)(lambda p, q: "right")
        assert D.kl_divergence(B(0.0, 1.0), D.Normal(0.0, 1.0)) == "left" and D.kl_divergence(D.Normal(0.0, 1.0), B(0.0, 1.0)) == "right"
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(B, B\)"):
            D.kl_divergence(B(0.0, 1.0), B(0.0, 1.0))
    finally:
        _KL_REGISTRY.clear()
        _KL_REGISTRY.update(pairs)
        D.kl._KL_MEMOIZE.clear()
    with pytest.raises(NotImplementedError, match="Normal and q type StudentT"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(1.0))
    with pytest.raises(TypeError, match="type_p"):
        D.register_kl(3, D.Normal)


def test_all_pairs_of_pytorch():
    oracle()
    import torch as pt
    names = {(p.__name__, q.__name__) for p, q in pt.distributions.kl._KL_REGISTRY}
    assert names <= {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}
    assert set(pt.distributions.__all__) <= set(D.__all__)
    for name in CASES:
        mine, theirs = CASES[name][0](D, torch.tensor), CASES[name][0](pt.distributions, pt.tensor)
        if (type(theirs), type(theirs)) in pt.distributions.kl._KL_REGISTRY:
            assert_close(D.kl_divergence(mine, mine), pt.distributions.kl_divergence(theirs, theirs), atol=1e-5, what=name)


# --- programs ---

def test_variational_autoencoder():
    torch.manual_seed(0)
    data = torch.bernoulli(torch.rand(4, 12).repeat(16, 1))
    encoder, decoder = torch.nn.Linear(12, 8), torch.nn.Linear(4, 12)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.03)
    losses = []
    for _ in range(60):
        mean, log_scale = encoder(data).chunk(2, -1)
        posterior = D.Normal(mean, log_scale.exp())
        likelihood = D.Independent(D.Bernoulli(logits=decoder(posterior.rsample())), 1)
        loss = (D.kl_divergence(posterior, D.Normal(0.0, 1.0)).sum(-1) - likelihood.log_prob(data)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_policy_gradients():
    torch.manual_seed(0)
    logits = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([logits], lr=0.5)
    for _ in range(60):
        policy = D.Categorical(logits=logits)
        action = policy.sample((16,))
        reward = (action == 2).float()
        loss = -(policy.log_prob(action) * (reward - reward.mean())).mean() - 0.01 * policy.entropy()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert D.Categorical(logits=logits).probs[2] > 0.8


def test_clipped_policy_ratio():
    torch.manual_seed(0)
    mean, log_std = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.Adam([mean, log_std], lr=0.05)
    for _ in range(30):
        with torch.no_grad():
            old = D.Independent(D.Normal(mean.clone(), log_std.exp()), 1)
            action = old.sample((64,))
            before, gain = old.log_prob(action), -((action - 1.0) ** 2).sum(-1)
        for _ in range(4):
            new = D.Independent(D.Normal(mean, log_std.exp()), 1)
            ratio = (new.log_prob(action) - before).exp()
            advantage = (gain - gain.mean()) / gain.std()
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() - 1e-3 * new.entropy()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert_close(mean, [1.0, 1.0], atol=0.25)


def test_squashed_policy():
    # the policy of soft actor-critic: a normal number through tanh, with its density
    mean = torch.tensor([0.3], requires_grad=True)
    policy = D.Independent(D.TransformedDistribution(D.Normal(mean, 1.0), [D.TanhTransform(cache_size=1)]), 1)
    action = policy.rsample((5,))
    log_prob = policy.log_prob(action)
    x = torch.atanh(action.detach())
    assert_close(log_prob, (D.Normal(mean, 1.0).log_prob(x) - torch.log(1 - action ** 2)).sum(-1), rtol=1e-3)
    log_prob.sum().backward()
    assert mean.grad.isfinite().all()


@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 2])
def test_triangles_as_vectors(diagonal):
    from fasttensor.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
    square = torch.arange(1.0, 17.0).view(4, 4)
    vec = tril_matrix_to_vec(square, diagonal)
    assert vec.tolist() == [4.0 * i + j + 1 for i in range(4) for j in range(4) if j <= i + diagonal]
    assert torch.equal(vec_to_tril_matrix(vec, diagonal), square.tril(diagonal))
