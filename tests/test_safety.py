"""What must not reach memory: too many dimensions, sizes beyond 64 bits, writes to memory that is only lent for reading."""
import copy
import ctypes
import hashlib
import pickle
import warnings

import numpy as np
import pytest

import fasttensor as torch
from fasttensor import optim
from fasttensor._core import storage
from fasttensor.nn import functional

HUGE = ((2, 2, 2, 2), (2**62 + 10**12, 2**62 + 10**12, 2**62 + 10**12, 2**62 - 3 * 10**12))


def ones(n, **options):
    return torch.zeros([1] * n, **options)


@pytest.mark.parametrize("call", [
    lambda: ones(60)[(None,) * 60],
    lambda: ones(64)[(None,) * 60 + (...,)],
    lambda: ones(64).__setitem__((None,) * 50 + (...,), 1),
    lambda: ones(60)[(None,) * 8 + (torch.tensor([0]),)],
    lambda: ones(60)[(True,) * 8],
    lambda: ones(64)[torch.zeros(1, 1, dtype=torch.int64)],
    lambda: ones(64).unsqueeze(0),
    lambda: ones(64).unfold(0, 1, 1),
    lambda: ones(64).unflatten(0, (1, 1)),
    lambda: torch.view_as_real(ones(64, dtype=torch.complex64)),
    lambda: ones(64, dtype=torch.complex64).uniform_(),
    lambda: torch.stack([ones(64), ones(64)]),
    lambda: functional.one_hot(ones(64, dtype=torch.int64)),
    lambda: functional.embedding(ones(64, dtype=torch.int64), torch.zeros(3, 4)),
    lambda: torch.zeros(1).expand([1] * 200),
    lambda: torch.zeros(1).resize_(*[1] * 200),
    lambda: torch.zeros(1).as_strided([1] * 200, [1] * 200),
    lambda: torch.zeros(1).view([1] * 200),
    lambda: torch.zeros(1, 1).expand(2, 2).reshape([1] * 200),
    lambda: torch.zeros(1).repeat([1] * 200),
    lambda: torch.empty([1] * 200),
    lambda: torch.empty_strided([1] * 200, [1] * 200),
])
def test_at_most_64_dimensions(call):
    with pytest.raises(RuntimeError):
        call()


def test_64_dimensions_work():
    x = ones(64)
    x[(0,) * 50 + (None,) * 50] = 1
    assert x[(0,) * 50 + (None,) * 50].dim() == 64 and x.sum() == 1
    with pytest.raises(RuntimeError, match="at most 64 dimensions"):
        x[None]


@pytest.mark.parametrize("call", [
    lambda: torch.empty_strided(*HUGE),
    lambda: torch.ones(1).as_strided(*HUGE),
    lambda: torch.ones(1).as_strided((1,), (1,), 2**63 - 1),
    lambda: torch.ones(1).as_strided((2**62,), (4,)),
    lambda: torch.empty(0).set_(torch.ones(4).untyped_storage(), 2**62, (2,), (2**62,)),
    lambda: torch.ones(1).expand(2**33, 2**33),
    lambda: torch.ones(1).resize_(2**40, 2**40),
    lambda: torch.empty(0).reshape(2**32, 2**32),
    lambda: torch.empty(2**60, dtype=torch.complex128),
    lambda: torch.empty(2**58, dtype=torch.complex128),
    lambda: torch.empty(2**57, dtype=torch.uint8),
])
def test_sizes_beyond_64_bits(call):
    with pytest.raises(RuntimeError, match="overflow|not enough memory|invalid"):
        call()


def test_large_views_without_elements():
    assert torch.ones(1).expand(2**33, 0, 2**33).numel() == 0
    assert torch.empty(0).reshape(0, 2**40, 2**40).shape == (0, 2**40, 2**40)
    assert torch.empty_strided((0, 2**62), (2**62, 2**62)).numel() == 0
    x = torch.ones(3)
    with pytest.raises(RuntimeError):
        x.resize_(2**40, 2**40)
    assert x.shape == (3,) and x.sum() == 3


def lent():
    """A tensor over memory that may only be read, and that memory."""
    array = np.zeros(4, dtype=np.float32)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(array), array


WRITES = {
    "add_": lambda x: x.add_(1),
    "data": lambda x: x.data.add_(1),
    "detach": lambda x: x.detach().fill_(1),
    "bytes": lambda x: x.view(torch.int32).fill_(1),
    "out": lambda x: torch.add(torch.ones(4), 1, out=x),
    "smaller out": lambda x: torch.add(torch.ones(2), 1, out=x),
    "out of a reduction": lambda x: torch.cumsum(torch.ones(2), 0, out=x),
    "item": lambda x: x.__setitem__(0, 1),
    "index": lambda x: x.__setitem__(torch.tensor([0]), 1),
    "mask": lambda x: x.__setitem__(torch.tensor([True, False, True, False]), 1),
    "index_put_": lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(1.0)),
    "index_fill_": lambda x: x.index_fill_(0, torch.tensor([0]), 1),
    "index_add_": lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1)),
    "scatter_": lambda x: x.scatter_(0, torch.tensor([0]), 1.0),
    "masked_fill_": lambda x: x.masked_fill_(torch.tensor([True] * 4), 1),
    "masked_scatter_": lambda x: x.masked_scatter_(torch.tensor([True] * 4), torch.ones(4)),
    "uniform_": lambda x: x.uniform_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "mm": lambda x: torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=x.view(2, 2)),
    "running mean": lambda x: functional.batch_norm(torch.randn(3, 4), x, torch.ones(4), training=True),
    "running variance": lambda x: functional.batch_norm(torch.randn(3, 4), None, x, training=True),
    "instance_norm": lambda x: functional.instance_norm(torch.randn(1, 4, 3), x, torch.ones(4)),
}


@pytest.mark.parametrize("write", WRITES)
def test_memory_lent_for_reading_is_not_written(write):
    x, array = lent()
    with pytest.raises(RuntimeError, match="not writable"):
        WRITES[write](x)
    assert (array == 0).all() and x.shape == (4,)


def test_optimizer_does_not_write_to_lent_memory():
    x, array = lent()
    x.requires_grad_()
    x.sum().backward()
    with pytest.raises(RuntimeError, match="not writable"):
        optim.SGD([x], lr=1.0).step()
    assert (array == 0).all()


def test_buffers_of_lent_memory_are_read_only():
    x, _ = lent()
    for source in (x, x.untyped_storage(), x.data):
        assert memoryview(source).readonly
        assert not np.frombuffer(source, dtype=np.uint8).flags.writeable
        with pytest.raises((BufferError, TypeError), match="writable"):
            (ctypes.c_char * 16).from_buffer(source)


def test_buffers_in_the_order_asked_for():
    x = torch.arange(6).view(2, 3)
    assert bytes(x) == x.numpy().tobytes() and memoryview(x).c_contiguous
    view = memoryview(x.t())
    assert view.f_contiguous and not view.c_contiguous and view.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha256(x.t())
    view = memoryview(torch.zeros(2, dtype=torch.uint8).untyped_storage())
    assert view.format == "B" and view.strides == (1,) and view.shape == (2,)


def test_tensor_that_no_constructor_filled():
    def hollow():
        return torch.Tensor.__new__(torch.Tensor)
    for name in ("uniform_", "normal_", "bernoulli_", "exponential_", "zero_"):
        assert getattr(hollow(), name)().shape == (0,)
    with pytest.raises(RuntimeError, match="out of bounds"):
        hollow().as_strided((2,), (1,))
    assert hollow().view(torch.int32).dtype == torch.int32
    assert hollow().untyped_storage().nbytes() == 0
    for other in (copy.copy(hollow()), copy.deepcopy(hollow()), pickle.loads(pickle.dumps(hollow()))):
        assert other.shape == (0,) and other.dtype == torch.float32
    p = hollow()
    p.requires_grad_()
    p.grad = torch.zeros(0)
    for kind in (optim.SGD, optim.Adam, optim.AdamW):
        kind([p], lr=0.1).step()
    assert storage.live_storages() > 0


def test_more_repeats_and_indices_than_dimensions_are_refused():
    for repeats in (65, 300, 5000):
        with pytest.raises(RuntimeError, match="dimensions"):
            torch.ones(1).repeat([1] * repeats)
    x = torch.zeros([1] * 62 + [2])
    with pytest.raises(RuntimeError, match="dimensions"):
        x[torch.zeros([2] + [1] * 62, dtype=torch.int64)] = torch.tensor([1.0, 2.0])
