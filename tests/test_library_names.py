"""What libraries written over PyTorch do besides calling its documented functions."""
import abc
import sys
from typing import Generic, TypeVar

import pytest

import fasttensor as torch
from fasttensor import nn


def test_functions_of_a_module_class_stay_functions():
    class Net(nn.Module):
        act, conv = torch.tanh, torch.conv2d

        def forward(self, x):
            return self.act(self.conv(x, torch.ones(1, 1, 2, 2)))

    assert Net()(torch.zeros(1, 1, 3, 3)).tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]


def test_modules_with_another_metaclass():
    T = TypeVar("T")

    class Base(nn.Module, abc.ABC, Generic[T]):
        @abc.abstractmethod
        def forward(self, x):
            """Defined below."""

    class Net(Base[int]):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

    assert Net()(torch.ones(1, 2)).shape == (1, 2) and [n for n, _ in Net().named_parameters()] == ["layer.weight", "layer.bias"]
    with pytest.raises(TypeError, match="abstract"):
        Base()


def test_old_order_of_arguments():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with pytest.warns(UserWarning, match="This overload of add is deprecated"):
        assert torch.add(x, 2, y).tolist() == [7.0, 10.0]
    with pytest.warns(UserWarning, match="value= by name"):
        assert x.clone().addcmul_(0.5, y, y).tolist() == [5.5, 10.0]
    with pytest.warns(UserWarning):
        assert x.clone().sub_(2, y).tolist() == [-5.0, -6.0] and x.addcdiv(2, y, y).tolist() == [3.0, 4.0]


def test_types_by_class():
    x = torch.ones(2)
    assert x.type(torch.LongTensor).dtype == torch.int64 and x.double().type(torch.Tensor).dtype == torch.float32
    assert x.type() == "torch.FloatTensor" and sys.getsizeof(torch.ones(1000).untyped_storage()) > 4000


def test_functions_over_lists():
    a, b = [torch.tensor([1.0, 4.0]), torch.tensor(9.0)], [torch.tensor([2.0, 2.0]), torch.tensor(3.0)]
    assert [t.tolist() for t in torch._foreach_sqrt(a)] == [[1.0, 2.0], 3.0]
    assert [t.tolist() for t in torch._foreach_add(a, b, alpha=2)] == [[5.0, 8.0], 15.0]
    assert [t.tolist() for t in torch._foreach_pow(a, [2, 0.5])] == [[1.0, 16.0], 3.0]
    assert [round(t.item(), 4) for t in torch._foreach_norm(a)] == [4.1231, 9.0]
    assert torch._foreach_mul_(a, 2) is None and a[1].item() == 18.0
    torch._foreach_addcmul_(a, b, b, [1.0, 10.0])
    torch._foreach_maximum_(b, 2.5)
    assert a[0].tolist() == [6.0, 12.0] and a[1].item() == 108.0 and b[0].tolist() == [2.5, 2.5]
    with pytest.raises(RuntimeError, match="same number of tensors"):
        torch._foreach_add(a, b[:1])


def test_one_process():
    assert not torch.distributed.is_available() and not torch.distributed.is_initialized() and not torch.onnx.is_in_onnx_export()
    with pytest.raises(RuntimeError, match="one process"):
        torch.distributed.all_reduce(torch.ones(1))
    with pytest.raises(RuntimeError, match="one process"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "x" in torch.ones(2)  # noqa: B015


def test_arguments_by_name():
    x, row = torch.arange(6.0).view(2, 3), torch.ones(1, 3)
    assert x.view(size=(3, 2)).shape == x.reshape(shape=(3, 2)).shape == torch.reshape(input=x, shape=(3, 2)).shape == (3, 2)
    assert x.view(dtype=torch.int32).dtype == torch.int32
    assert x.permute(dims=(1, 0)).shape == torch.permute(x, dims=(1, 0)).shape == x.swapaxes(axis0=0, axis1=1).shape == (3, 2)
    assert row.expand(size=(2, 3)).shape == (2, 3) and x.new_zeros(size=(2,)).shape == x.new_empty(size=(2,)).shape == (2,)
    assert torch.cat([x, x], axis=1).shape == (2, 6) and torch.stack([x, x], axis=2).shape == (2, 3, 2)
    assert len(x.split(split_size=1, dim=0)) == 2
    with pytest.raises(TypeError, match="split_size"):
        x.split()


def test_a_method_that_wraps_one_of_module():
    import functools

    class Net(torch.nn.Module):
        @functools.wraps(torch.nn.Module.to)
        def to(self, *args, **kwargs):
            return super().to(*args, **kwargs), "own"

    net = Net()
    assert net.to("cpu") == (net, "own")


def test_cutting_arguments_up_and_joining_results():
    from fasttensor.nn.parallel import gather, scatter, scatter_kwargs
    x = torch.arange(5.0)
    first, second = scatter({"x": x, "rest": [x, "a"]}, ["cpu", "cpu"])
    assert first["x"].tolist() == [0.0, 1.0, 2.0] == first["rest"][0].tolist() and second["rest"][1] == "a" and second["x"].tolist() == [3.0, 4.0]
    assert scatter_kwargs((1,), {"a": 2}, [0, 1]) == (((1,), (1,)), ({"a": 2}, {"a": 2}))
    assert gather([None, None], 0) is None
    with pytest.raises(AssertionError, match="CPU"):
        gather([x, x], 0)


def test_names_that_libraries_import():
    from fasttensor.distributed import fsdp, optim, rpc
    from fasttensor.standin import dense
    parts = [torch.ones(2), torch.zeros(1, 2)]
    flat = dense._flatten_dense_tensors(parts)
    assert flat.tolist() == [1.0, 1.0, 0.0, 0.0] and [p.shape for p in dense._unflatten_dense_tensors(flat, parts)] == [(2,), (1, 2)]
    assert not isinstance(3, torch.SymInt) and not isinstance(nn.Linear(1, 1), fsdp.FSDPModule) and not rpc.is_available()
    assert torch.functional.tensordot is torch.tensordot
    for make in (optim.ZeroRedundancyOptimizer, fsdp.FullyShardedDataParallel, rpc.RRef):
        with pytest.raises(RuntimeError, match="one process"):
            make([])
    with pytest.raises(AttributeError):
        torch.functional.nothing


def test_signatures_of_modules():
    import inspect

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()

    assert str(inspect.signature(nn.Sequential())) == "(*args, **kwargs)" == str(inspect.signature(Net(1)))
    assert list(inspect.signature(Net).parameters) == ["width"] and "in_features" in inspect.signature(nn.Linear).parameters


def test_operators_without_a_public_name():
    x = torch.ones(2)
    assert torch.ops.aten._to_copy.default(x, dtype=torch.float64).dtype == torch.float64
    same = torch.ops.aten._to_copy(x)
    assert same.data_ptr() != x.data_ptr() and torch.ops.aten.alias(x).data_ptr() == x.data_ptr()
    grid = torch.arange(12.0).view(3, 4)
    assert torch.ops.aten.slice.Tensor(grid, 1, 1, 4, 2).tolist() == [[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]]
    with pytest.raises(NotImplementedError, match="sparse"):
        torch.ops.aten._sparse_addmm(x)
