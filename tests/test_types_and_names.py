"""Types of results, their names and representations, and what operators give beside numpy's arrays: PyTorch's."""
import pickle

import numpy
import pytest

import fasttensor as torch
from helpers import oracle

F = torch.nn.functional


def outs(t, *kinds):
    return tuple(t.empty(0, dtype=getattr(t, kind)) for kind in kinds)


CALLS = {
    "max_out": lambda t: t.max(t.ones(2, 2), 0, out=outs(t, "float32", "int64")),
    "min_out": lambda t: t.min(t.ones(2, 2), 0, out=outs(t, "float32", "int64")),
    "sort_out": lambda t: t.sort(t.ones(2), out=outs(t, "float32", "int64")),
    "topk_out": lambda t: t.topk(t.ones(2), 1, out=outs(t, "float32", "int64")),
    "mode_out": lambda t: t.mode(t.ones(2, 2), out=outs(t, "float32", "int64")),
    "cummax_out": lambda t: t.cummax(t.ones(2), 0, out=outs(t, "float32", "int64")),
    "aminmax_out": lambda t: t.aminmax(t.ones(2), out=outs(t, "float32", "float32")),
    "frexp_out": lambda t: t.frexp(t.ones(2), out=outs(t, "float32", "int32")),
    "histogram_out": lambda t: t.histogram(t.ones(2), 2, out=outs(t, "float32", "float32")),
    "linalg_svd_out": lambda t: t.linalg.svd(t.eye(2), out=outs(t, "float32", "float32", "float32")),
    "linalg_lu_factor_out": lambda t: t.linalg.lu_factor(t.eye(2), out=outs(t, "float32", "int32")),
    "slogdet_out": lambda t: t.slogdet(t.eye(2), out=outs(t, "float32", "float32")),
    "max": lambda t: t.max(t.ones(2, 2), 0),
    "_lu_with_info": lambda t: t.lu(t.eye(2), get_infos=True),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_results_written_into_out_have_types_of_their_own(name):
    got = CALLS[name](torch)
    assert type(got).__name__ == name and repr(got).startswith(f"torch.return_types.{name}(")
    assert not hasattr(got, "_fields") and got.n_sequence_fields == len(got) and got[0] is getattr(got, type(got).__match_args__[0])
    assert type(pickle.loads(pickle.dumps(got))) is type(got)
    expected = CALLS[name](oracle())
    assert type(expected).__name__ == name and type(expected).__match_args__ == type(got).__match_args__


def test_return_types_are_those_of_pytorch():
    names = [kind.__name__ for kind in torch.return_types.all_return_types]
    assert "max_out" in names and "linalg_svd_out" in names
    assert names == [kind.__name__ for kind in oracle().return_types.all_return_types]


def test_names_of_classes():
    store = torch.ones(2).untyped_storage()
    assert repr(type(store)) == "<class 'fasttensor.storage.UntypedStorage'>" and store.type() == "torch.storage.UntypedStorage"
    assert type(torch.gradient(torch.ones(3))) is tuple
    for kind in (torch.layout, torch.memory_format, torch.finfo, torch.iinfo, torch.Size):
        assert kind.__module__ == "fasttensor"


def test_representation_of_modes():
    assert repr(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"
    with torch.set_grad_enabled(False) as mode:
        assert mode is None and not torch.is_grad_enabled()


def test_dlpack_device_is_an_enum():
    kind, number = torch.ones(2).__dlpack_device__()
    assert repr(kind) == "<DLDeviceType.kDLCPU: 1>" and number == 0 and kind is torch.utils.dlpack.DLDeviceType.kDLCPU
    assert [(k.name, k.value) for k in torch.utils.dlpack.DLDeviceType] == [(k.name, k.value) for k in oracle().utils.dlpack.DLDeviceType]


@pytest.mark.parametrize("operator", "+= -= *= /= //= %= **= @=".split())
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_tensors_beside_arrays_in_place(operator, dtype):
    """Python takes the operator that makes a new tensor, as the one in place takes no array."""
    found = []
    for t in (torch, oracle()):
        names = {"x": t.ones(2, dtype=getattr(t, dtype)), "a": numpy.array([2, 3], dtype)}
        exec(f"x {operator} a", names)
        found.append((names["x"].tolist(), str(names["x"].dtype).split(".")[-1]))
    assert found[0] == found[1] or operator == "/="


def test_arrays_beside_tensors_in_place():
    for t in (torch, oracle()):
        with pytest.raises(TypeError):
            a = numpy.ones(2)
            a *= t.ones(2)
        with pytest.raises(TypeError):
            x = t.ones(2)
            x += [1, 2]


@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss"])
def test_losses_of_no_classes(loss):
    for t in (torch, oracle()):
        f = getattr(t.nn.functional, loss)
        with pytest.raises(RuntimeError, match="size mismatch"):
            f(t.ones(2, 0, 3), t.zeros(2, 3, dtype=t.int64))
        with pytest.raises(IndexError):
            f(t.ones(2, 0), t.zeros(2, dtype=t.int64))
        assert f(t.ones(0, 0, 2), t.zeros(0, 2, dtype=t.int64)).isnan()


def test_pooling_of_complex_numbers_over_everything():
    x = torch.tensor([[[1 + 1j, 3 - 1j]]])
    assert F.adaptive_avg_pool1d(x, 1).tolist() == [[[2 + 0j]]]
    assert F.adaptive_avg_pool2d(x[None], (1, 1)).tolist() == [[[[2 + 0j]]]]
    with pytest.raises(NotImplementedError):
        F.adaptive_avg_pool1d(x, 2)
