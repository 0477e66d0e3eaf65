"""Tensors from sizes, formulas, Python data, arrays, buffers and DLPack; conversions back; copies."""
import array
import copy
import math
import pickle

import pytest
from helpers import oracle

import fasttensor as torch

# (call, dtype, shape, values) as PyTorch 2.13 has them.
KEPT = [
    ("zeros(2)", "float32", (2,), [0.0, 0.0]),
    ("ones((1, 2), dtype=torch.int8)", "int8", (1, 2), [[1, 1]]),
    ("full((2,), 3)", "int64", (2,), [3, 3]),
    ("full((2,), True)", "bool", (2,), [True, True]),
    ("full((2,), 1.5, dtype=torch.int64)", "int64", (2,), [1, 1]),
    ("full((1,), 1 + 2j)", "complex64", (1,), [1 + 2j]),
    ("scalar_tensor(5)", "float32", (), 5.0),
    ("arange(5)", "int64", (5,), [0, 1, 2, 3, 4]),
    ("arange(1, 2.5, 0.5)", "float32", (3,), [1.0, 1.5, 2.0]),
    ("arange(5, 0, -2)", "int64", (3,), [5, 3, 1]),
    ("arange(0)", "int64", (0,), []),
    ("arange(3.)", "float32", (3,), [0.0, 1.0, 2.0]),
    ("linspace(0, 10, 4, dtype=torch.int64)", "int64", (4,), [0, 3, 6, 10]),
    ("linspace(0, 1, 3)", "float32", (3,), [0.0, 0.5, 1.0]),
    ("linspace(2, 5, 1)", "float32", (1,), [2.0]),
    ("linspace(0, 1 + 1j, 3)", "complex64", (3,), [0j, 0.5 + 0.5j, 1 + 1j]),
    ("logspace(0, 2, 3)", "float32", (3,), [1.0, 10.0, 100.0]),
    ("logspace(0, 3, 4, base=2)", "float32", (4,), [1.0, 2.0, 4.0, 8.0]),
    ("eye(2, 3)", "float32", (2, 3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    ("tril_indices(2, 3)", "int64", (2, 3), [[0, 1, 1], [0, 0, 1]]),
    ("triu_indices(2, 3, 1)", "int64", (2, 3), [[0, 0, 1], [1, 2, 2]]),
    ("tensor(3)", "int64", (), 3),
    ("tensor([1, 2.5, True])", "float32", (3,), [1.0, 2.5, 1.0]),
    ("tensor([True, 2])", "int64", (2,), [1, 2]),
    ("tensor([[], []])", "float32", (2, 0), [[], []]),
    ("tensor([1, 1j])", "complex64", (2,), [1 + 0j, 1j]),
    ("tensor([1.7, -1.7], dtype=torch.int32)", "int32", (2,), [1, -1]),
    ("tensor([-1], dtype=torch.uint8)", "uint8", (1,), [255]),
    ("tensor([0.5, 0], dtype=torch.bool)", "bool", (2,), [True, False]),
    ("tensor([torch.tensor(1.), torch.tensor(2)])", "float32", (2,), [1.0, 2.0]),
    ("tensor(range(3))", "int64", (3,), [0, 1, 2]),
    ("tensor(((1, 2), [3, 4]))", "int64", (2, 2), [[1, 2], [3, 4]]),
    ("tensor([1e300], dtype=torch.float32)", "float32", (1,), [float("inf")]),
    ("complex(torch.ones(1), torch.ones(1) * 2)", "complex64", (1,), [1 + 2j]),
    ("ones(2, dtype=torch.int32).new_full((1,), 3.7)", "int32", (1,), [3]),
    ("ones(2).new_tensor([1, 2])", "float32", (2,), [1.0, 2.0]),
    ("as_tensor([1, 2])", "int64", (2,), [1, 2]),
    ("asarray(5)", "int64", (), 5),
    ("frombuffer(bytearray(b'ab'), dtype=torch.uint8)", "uint8", (2,), [97, 98]),
    ("LongTensor([1, 2])", "int64", (2,), [1, 2]),
    ("Tensor([1, 2])", "float32", (2,), [1.0, 2.0]),
    ("fill(torch.zeros(2), 4)", "float32", (2,), [4.0, 4.0]),
]


@pytest.mark.parametrize("text, dtype, shape, values", KEPT, ids=[row[0] for row in KEPT])
def test_kept(text, dtype, shape, values):
    got = eval("torch." + text)
    assert got.dtype is getattr(torch, dtype) and tuple(got.shape) == shape and got.tolist() == values


@pytest.mark.parametrize("text, error, words", [
    ("tensor([[1, 2], [3]])", ValueError, "expected sequence of length 2 at dim 1"),
    ("tensor([[1, 2], 3])", TypeError, "not a sequence"),
    ("tensor([1, [2]])", TypeError, "list"),
    ("tensor('a')", TypeError, "str"),
    ("tensor(['a'])", ValueError, "too many dimensions 'str'"),
    ("tensor([1, 'a'])", TypeError, "str"),
    ("tensor(None)", RuntimeError, "NoneType"),
    ("tensor({})", RuntimeError, "dict"),
    ("tensor(2**63)", ValueError, "Overflow"),
    ("tensor([300], dtype=torch.uint8)", RuntimeError, "overflow"),
    ("tensor([float('nan')], dtype=torch.int32)", RuntimeError, "overflow"),
    ("tensor([1 + 2j], dtype=torch.float32)", TypeError, "complex"),
    ("tensor([torch.ones(2), torch.ones(2)])", ValueError, "one element"),
    ("zeros(2.5)", TypeError, "float"),
    ("zeros(-1)", RuntimeError, "negative"),
    ("zeros((2,), (3,))", TypeError, "positional"),
    ("zeros()", TypeError, "size"),
    ("zeros(True)", TypeError, "bool"),
    ("zeros(2, dtype='float32')", TypeError, "float32"),
    ("zeros(2, foo=1)", TypeError, "foo"),
    ("zeros(2, requires_grad=True, dtype=torch.int32)", RuntimeError, "floating"),
    ("zeros(2**40, 2**40)", RuntimeError, "overflow"),
    ("full(2, 1.0)", TypeError, "size"),
    ("full((2,), 300, dtype=torch.uint8)", RuntimeError, "overflow"),
    ("arange(5, 0)", RuntimeError, "step sign"),
    ("arange(0, 5, 0)", RuntimeError, "nonzero"),
    ("arange(0, float('nan'))", RuntimeError, "unsupported range"),
    ("arange(5, dtype=torch.bool)", NotImplementedError, "bool"),
    ("linspace(0, 1, -1)", RuntimeError, "non-negative"),
    ("linspace(0, 1, 3.0)", TypeError, "steps"),
    ("eye(-1)", RuntimeError, "greater or equal"),
    ("empty_strided((2,), (1, 2))", RuntimeError, "dimensionality"),
    ("from_numpy([1])", TypeError, "list"),
    ("frombuffer(bytearray(b'abcde'), dtype=torch.int16)", ValueError, "multiple"),
    ("frombuffer(bytearray(b''), dtype=torch.int16)", ValueError, "0"),
    ("complex(torch.ones(2), torch.ones(2).double())", RuntimeError, "float64"),
    ("ones_like(5)", TypeError, "Tensor"),
])
def test_errors(text, error, words):
    with pytest.raises(error, match=words):
        eval("torch." + text)


def test_default_dtype_is_followed():
    torch.set_default_dtype(torch.float64)
    assert torch.zeros(1).dtype is torch.tensor(1.5).dtype is torch.float64
    assert torch.tensor(1j).dtype is torch.complex128


def test_like_keeps_the_order_in_memory():
    x = torch.zeros(2, 3, 4).permute(2, 0, 1)
    assert torch.empty_like(x).stride() == x.stride()
    assert torch.ones_like(x[:, :, ::2]).stride() == (1, 8, 4)
    assert torch.zeros_like(x, memory_format=torch.contiguous_format).is_contiguous()
    assert torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)


def test_out():
    out = torch.empty(0)
    assert torch.zeros(2, 2, out=out) is out and out.tolist() == [[0, 0], [0, 0]]
    assert torch.arange(3, out=torch.empty(3)).tolist() == [0, 1, 2]


def test_complex_and_polar_gradients():
    a, b = torch.rand(3, dtype=torch.float64, requires_grad=True), torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.complex, (a, b)) and torch.autograd.gradcheck(torch.polar, (a, b))
    assert torch.complex(torch.ones(2, 1), torch.ones(3)).shape == (2, 3)


def test_tensor_of_a_tensor_warns_and_copies():
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="detach"):
        y = torch.tensor(x)
    assert not y.requires_grad and y.data_ptr() != x.data_ptr()


def test_numpy_shares_memory():
    np = pytest.importorskip("numpy")
    a = np.arange(12, dtype="float32").reshape(3, 4)
    x = torch.from_numpy(a)
    a[0, 0] = 9
    x[1, 1] = -1
    assert x[0, 0].item() == 9 and a[1, 1] == -1
    assert torch.from_numpy(a[:, ::2]).stride() == (4, 2) and torch.as_tensor(a).data_ptr() == x.data_ptr()
    b = x.t().numpy()
    b[2, 0] = 5
    assert x[0, 2].item() == 5 and np.asarray(x).shape == (3, 4) and np.asarray(x, dtype="float64").dtype == "float64"
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"):
        got = torch.ones(2, dtype=getattr(torch, name)).numpy()
        assert got.dtype == name and torch.from_numpy(got).dtype is getattr(torch, name)
    assert torch.tensor(np.float64(2)).dtype is torch.float64 and torch.tensor([np.int32(1)]).dtype is torch.int32
    assert torch.tensor(a[:, ::-1]).tolist() == a[:, ::-1].tolist()
    assert torch.tensor(3.0).numpy().shape == () and torch.from_numpy(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(ValueError, match="negative"):
        torch.from_numpy(a[::-1])
    with pytest.raises(TypeError, match="only supported types"):
        torch.from_numpy(np.zeros(2, "uint16"))
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).numpy()
    with pytest.raises(TypeError, match="BFloat16"):
        torch.ones(1, dtype=torch.bfloat16).numpy()


def test_read_only_memory():
    np = pytest.importorskip("numpy")
    a = np.ones(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        x = torch.from_numpy(a)
    assert (x + 1).tolist() == [2, 2, 2] and not x.numpy().flags.writeable
    with pytest.raises(RuntimeError, match="not writable"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="not writable"):
        x.normal_()
    with pytest.warns(UserWarning, match="not writable"):
        assert torch.frombuffer(b"abc", dtype=torch.uint8).tolist() == [97, 98, 99]


def test_buffers():
    data = array.array("d", [1.0, 2.0, 3.0])
    x = torch.frombuffer(data, dtype=torch.float64, count=2, offset=8)
    data[1] = 7.0
    assert x.tolist() == [7.0, 3.0] and torch.asarray(memoryview(data), dtype=torch.float64).shape == (3,)
    assert bytes(memoryview(torch.tensor([1, 2], dtype=torch.uint8))) == b"\x01\x02"


def test_dlpack():
    x = torch.arange(6).reshape(2, 3)
    y = torch.from_dlpack(x.t())
    y[0, 1] = 50
    assert x[1, 0].item() == 50 and y.stride() == (1, 3) and x.__dlpack_device__() == (1, 0)
    capsule = torch.ones(2).__dlpack__()
    assert torch.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack(capsule)
    with pytest.raises(BufferError, match="gradient"):
        torch.ones(1, requires_grad=True).__dlpack__()
    del capsule
    torch.ones(5).__dlpack__(max_version=(1, 0))           # a capsule that nobody takes frees its tensor
    np = pytest.importorskip("numpy")
    assert np.from_dlpack(torch.ones(2)).tolist() == [1, 1] and torch.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]


def test_dlpack_with_pytorch():
    other = oracle()
    for name in ("bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"):
        x = torch.ones(2, 3, dtype=getattr(torch, name))
        assert str(other.from_dlpack(x).dtype) == "torch." + name
        assert torch.from_dlpack(other.ones(2, dtype=getattr(other, name))).dtype is x.dtype


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    x = torch.arange(6.0).reshape(2, 3)
    x.requires_grad = True
    got = pickle.loads(pickle.dumps([x, x.detach().t(), torch.float16, torch.Size([1])], protocol))
    assert got[0].requires_grad and got[1].stride() == (1, 3) and got[2] is torch.float16 and got[3] == (1,)
    got[0].detach()[0, 1] = 77
    assert got[1][1, 0].item() == 77


def test_copy_and_deepcopy():
    x = torch.rand(3, requires_grad=True)
    (x * 2).sum().backward()
    x.note = ["kept"]
    y = copy.deepcopy(x)
    assert y.requires_grad and y.grad.tolist() == [2, 2, 2] and y.note == ["kept"] and y.note is not x.note
    assert y.data_ptr() != x.data_ptr() and copy.copy(x).data_ptr() == x.data_ptr()
    a = torch.zeros(4)
    pair = copy.deepcopy([a, a[1:]])
    pair[0][1] = 5
    assert pair[1][0].item() == 5 and a[1].item() == 0
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)


def test_lists():
    assert torch.tensor(3).tolist() == 3 and torch.zeros(2, 0).tolist() == [[], []]
    x = torch.arange(6).reshape(2, 3).t()
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]] and torch.tensor(x.tolist()).equal(x)
    assert torch.tensor([True]).tolist() == [True] and torch.tensor([1 + 2j]).tolist() == [1 + 2j]


def test_number_types_are_double_precision():
    for value, wanted in ((float, torch.float64), (complex, torch.complex128), (int, torch.int64), (bool, torch.bool)):
        assert torch.ones(2, dtype=value).dtype == torch.zeros(2).to(value).dtype == torch.tensor([1], dtype=value).dtype == wanted
    assert torch.ones(2).sum(dtype=float).dtype == torch.nn.Linear(2, 2, dtype=float).weight.dtype == torch.float64
    assert torch.nn.Linear(2, 2).to(float).weight.dtype == torch.nn.Linear(2, 2).to(dtype=float).weight.dtype == torch.float64
    assert torch.finfo(float).eps == 2.0 ** -52


def test_no_array_of_what_requires_grad():
    numpy = pytest.importorskip("numpy")
    x = torch.ones(2, requires_grad=True)
    for make in (numpy.asarray, numpy.array):
        with pytest.raises(RuntimeError, match="requires grad"):
            make(x)
    with pytest.raises(BufferError, match="requires grad"):
        memoryview(x)
    with torch.no_grad():
        assert numpy.asarray(x).tolist() == [1, 1]
    assert numpy.asarray(x.detach()).tolist() == [1, 1]


def test_tensors_of_one_element_in_lists_are_numbers():
    one = torch.tensor([1])
    assert torch.tensor([one, torch.tensor([[2]])]).tolist() == [1, 2] and torch.tensor([one, 2]).tolist() == torch.tensor([1, one + 1]).tolist() == [1, 2]
    assert torch.tensor([[torch.tensor([1.5]), 2], [3, one]]).tolist() == [[1.5, 2], [3, 1]] and torch.tensor([[1], torch.tensor([2])]).shape == (2, 1)
    for pair in (torch.ones(2), torch.ones(0)):
        with pytest.raises(ValueError, match="only one element tensors"):
            torch.tensor([pair])


def test_complex_numbers_without_imaginary_part_are_real():
    assert int(torch.tensor(5 + 0j)) == 5 and float(torch.tensor(5 + 0j)) == 5.0
    for kind in (int, float):
        with pytest.raises(RuntimeError, match="overflow"):
            kind(torch.tensor(5 + 1j))


def test_what_is_not_an_array_or_a_sequence():
    numpy = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match="expected np.ndarray"):
        torch.from_numpy(numpy.float32(1))
    for make in (torch.from_numpy, torch.tensor, torch.as_tensor):
        with pytest.raises(ValueError, match="byte order"):
            make(numpy.zeros(2, ">f4"))
    for make in (torch.Tensor, torch.FloatTensor):
        with pytest.raises(TypeError, match="must be a sequence"):
            make(2.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_complex_numbers_of_many_parts(dtype):
    a, b = torch.arange(40001, dtype=dtype), -torch.arange(40001, dtype=dtype)
    z = torch.complex(a, b)
    assert z.dtype.itemsize == 2 * dtype.itemsize and z[[0, 1, 7, 40000]].tolist() == [0, 1 - 1j, 7 - 7j, 40000 - 40000j]
    assert torch.equal(z.real, a) and torch.equal(z.imag, b)
    assert torch.equal(torch.complex(a[::2], b[1:20002]).imag, b[1:20002]) and torch.complex(a[:0], b[:0]).shape == (0,)
    assert torch.linspace(1, 3, 3, dtype=torch.complex64).tolist() == [1, 2, 3]


@pytest.mark.parametrize("n", [2, 3, 9, 16385, 200001])
def test_lines_end_where_they_should(n):
    for dtype in (torch.float32, torch.float64):
        x = torch.linspace(-1, 5, n, dtype=dtype)
        assert x[0] == -1 and x[-1] == 5
        assert (x.double() - (-1 + 6 * torch.arange(n, dtype=torch.float64) / (n - 1))).abs().max() < (1e-6 if dtype is torch.float32 else 2e-15)


def test_bounds_in_place():
    x = torch.tensor([math.nan, -5.0, 0.5, 5.0])
    version = x._version
    assert x.clamp_(-1, 1) is x and x.tolist()[1:] == [-1, 0.5, 1] and x.isnan().tolist() == [True, False, False, False]
    assert x.clamp_min_(0)._version > version and x.tolist()[1:] == [0, 0.5, 1]
    part = torch.arange(6.0).view(2, 3)
    part.t()[1].clamp_(max=2)
    assert part.tolist() == [[0, 1, 2], [3, 2, 5]]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.tensor([1, 9]).clamp_(2.5, 3)
    leaf = torch.ones(3).requires_grad_()
    with pytest.raises(RuntimeError, match="in-place"):
        leaf.clamp_(0, 1)
