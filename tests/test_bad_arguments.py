"""Every public function given arguments of wrong kinds: a clear error or a result, never an error from inside; messages name the operation."""
import inspect
import warnings

import pytest

import fasttensor as torch

F = torch.nn.functional
X = torch.tensor([[1.5, 0.5], [0.25, 2.0]])
SPACES = {"": torch, "nn.functional.": F, "linalg.": torch.linalg, "special.": torch.special, "fft.": torch.fft}
CLEAR = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, AssertionError)
WRONG = (object(), "a", 1.5, None, True, X)
# What starts, waits for, or changes something else than its arguments.
APART = {"set_default_dtype", "set_default_device", "set_default_tensor_type", "set_printoptions", "set_num_threads", "set_num_interop_threads", "save",
         "load", "compile", "fork", "wait", "from_file", "set_rng_state", "manual_seed", "seed", "initial_seed", "is_tensor", "is_storage", "typename",
         "overrides", "einsum", "use_deterministic_algorithms", "set_deterministic_debug_mode", "set_flush_denormal", "set_warn_always", "set_anomaly_enabled"}


def functions():
    for prefix, space in SPACES.items():
        for name in sorted(space.__all__):
            function = getattr(space, name)
            if name[0] != "_" and name not in APART and not inspect.isclass(function) and callable(function) and not name.startswith(("set_", "is_")):
                yield prefix + name, function


def calls(function):
    """A wrong kind in each place in turn, tensors in the others."""
    try:
        places = [p for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        places = []
    needed = max(1, sum(p.default is p.empty for p in places))
    for i in range(min(max(needed, len(places)), 6)):
        for wrong in WRONG:
            given = [X.clone() for _ in range(needed)] + [p.default for p in places[needed:i + 1]]     # some write into them
            given[i] = wrong.clone() if wrong is X else wrong
            yield given


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("two", [True, 2, 2.0, torch.tensor(2.0), torch.tensor(2)])
def test_numbers_of_every_kind(two):
    two_of = float(two)
    assert torch.addmm(X, X, X, beta=two).tolist() == (two_of * X + X @ X).tolist()
    if two is True:
        with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
            torch.addr(X, X[0], X[1], alpha=two)
        return
    assert torch.addr(X, X[0], X[1], alpha=two).tolist() == (X + two_of * torch.outer(X[0], X[1])).tolist()
    assert torch.norm(X, two).item() == torch.norm(X, two_of).item()


def test_too_many_sections():
    with pytest.raises(RuntimeError, match="tensor_split.*sections"):
        torch.tensor_split(X, 2 ** 62)


@pytest.mark.parametrize("given", [{"weight": "a"}, {"bias": "a"}, {"eps": "a"}])
def test_layer_norm(given):
    with pytest.raises(TypeError, match=r"layer_norm\(\): argument '" + next(iter(given))):
        F.layer_norm(X, (2,), **given)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_error_from_inside(name):
    for given in calls(FUNCTIONS[name]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                FUNCTIONS[name](*given)
            except CLEAR as error:
                assert str(error).strip(), given


@pytest.mark.parametrize("name", ["hinge_embedding_loss", "margin_ranking_loss", "multilabel_soft_margin_loss", "triplet_margin_loss", "poisson_nll_loss",
                                  "triplet_margin_with_distance_loss", "pairwise_distance", "binary_cross_entropy", "mse_loss", "kl_div"])
def test_shapes_of_losses(name):
    function = getattr(F, name)
    needed = sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in inspect.signature(function).parameters.values())
    with warnings.catch_warnings(), pytest.raises((RuntimeError, ValueError), match=name):
        warnings.simplefilter("ignore")
        function(X, *[torch.ones(2, 3)] * (needed - 1))
