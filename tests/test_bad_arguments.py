"""Every public function given arguments of wrong kinds: a clear error or a result, never an error from inside; messages name the operation."""
import inspect
import warnings

import pytest

import fasttensor as torch

F = torch.nn.functional
X = torch.tensor([[1.5, 0.5], [0.25, 2.0]])
SPACES = {"": torch, "nn.functional.": F, "linalg.": torch.linalg, "special.": torch.special, "fft.": torch.fft}
CLEAR = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError)
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
            given = [X] * needed + [p.default for p in places[needed:i + 1]]
            given[i] = wrong
            yield given


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_error_from_inside(name):
    for given in calls(FUNCTIONS[name]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                FUNCTIONS[name](*given)
            except CLEAR as error:
                assert str(error).strip(), given
