"""Arguments have PyTorch's names, order and defaults."""
import importlib
import inspect

import pytest

import fasttensor

MODULES = ("", "autograd", "distributions", "fft", "func", "linalg", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "optim",
           "optim.lr_scheduler", "optim.swa_utils", "random", "signal.windows", "special", "utils.checkpoint", "utils.data")
CATCH_ALL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
PLAIN = (bool, int, float, str, tuple, type(None))


def parameters(function):
    """Of a function that says them all, or None."""
    try:
        return {p.name: p for p in inspect.signature(function).parameters.values()}
    except (TypeError, ValueError):
        return None


def positions(given):
    return [p.name for p in given.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def differences(theirs, ours):
    for name, right in theirs.items():
        if right.kind in CATCH_ALL:
            continue
        if name not in ours:
            yield f"has no {name}"
        elif (right.default is right.empty) != (ours[name].default is right.empty):
            yield f"{name} {'has a default' if right.default is right.empty else 'has no default'}"
        elif type(right.default) in PLAIN and right.default != ours[name].default:
            yield f"{name} is {ours[name].default!r}, PyTorch's {right.default!r}"
    if positions(ours)[:len(positions(theirs))] != positions(theirs):
        yield f"order {positions(ours)}"


@pytest.mark.parametrize("part", MODULES)
def test_signatures(part):
    torch = pytest.importorskip("torch")
    theirs, ours = (importlib.import_module(f"{library}.{part}".rstrip(".")) for library in (torch.__name__, "fasttensor"))
    wrong = []
    for name in dir(theirs):
        right, found = getattr(theirs, name), getattr(ours, name, None)
        if name[0] == "_" or found is None or not (inspect.isfunction(right) or inspect.isclass(right)) or not right.__module__.startswith("torch"):
            continue
        right, found = parameters(right), parameters(found)
        if right is not None and found is not None and not any(p.kind in CATCH_ALL for p in found.values()):
            wrong += [f"{name}: {text}" for text in differences(right, found)]
    assert not wrong


def test_names_of_arguments():
    x = fasttensor.arange(5.0)
    assert [p.tolist() for p in x.split(split_size=3)] == [p.tolist() for p in fasttensor.split(tensor=x, split_size_or_sections=[3, 2])] == [[0, 1, 2], [3, 4]]
    with pytest.raises(TypeError, match=r"split\(\) missing 1 required positional argument: 'split_size'"):
        x.split()
    with pytest.raises(TypeError, match="split_size"):
        fasttensor.split(x, split_size=3)
    fasttensor.set_default_device(device="cpu")
    assert fasttensor.enable_grad(orig_func=fasttensor.is_grad_enabled)()
    double = fasttensor.compile(name="double", isolate_recompiles=True, shapes_spec=None)(lambda x: 2 * x)
    assert double(3) == 6
    assert str(inspect.signature(fasttensor.random.fork_rng)).endswith("device_type=None)")
    assert [i.tolist() for i in fasttensor.nn.functional.max_pool1d_with_indices(fasttensor.tensor([[1.0, 3.0]]), 2)] == [[[3.0]], [[1]]]
