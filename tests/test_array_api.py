"""The array API standard: the namespace, its promotion, and functions whose form differs from PyTorch's."""
import pytest

import fasttensor as torch
from fasttensor import array_api as xp

LINALG = ("cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd"
          " svdvals tensordot trace vecdot vector_norm").split()


def test_namespace():
    assert torch.ones(1).__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match="2025.12"):
        torch.ones(1).__array_namespace__(api_version="2099.12")
    assert [n for n in xp.__all__ if not hasattr(xp, n)] == [] and [n for n in LINALG if not hasattr(xp.linalg, n)] == []
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"} and info.devices()[0] == info.default_device()
    assert torch.ones(2).to_device("cpu").device.type == "cpu"


def test_every_array_counts_in_promotion():
    x, zero_d = xp.ones(2, dtype=xp.float32), xp.asarray(1.0, dtype=xp.float64)
    assert xp.add(x, zero_d).dtype == xp.float64 and xp.add(x, 1.0).dtype == xp.float32 and xp.where(x > 0, x, zero_d).dtype == xp.float64
    assert xp.result_type(xp.int8, xp.uint8) == xp.int16 and xp.result_type(xp.float32, 1j) == xp.complex64
    assert xp.can_cast(xp.int8, xp.int32) and not xp.can_cast(xp.int32, xp.float64) and not xp.can_cast(xp.bool, xp.int8)
    assert xp.isdtype(xp.uint8, "unsigned integer") and not xp.isdtype(xp.bool, "numeric")
    with pytest.raises(TypeError):
        xp.astype(xp.ones(1, dtype=xp.complex64), xp.float32)
    with pytest.raises(TypeError):
        xp.add(1, 2)


def test_reductions():
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    assert xp.sum(x, axis=()).tolist() == x.tolist() and xp.sum(x, axis=(0, 1), keepdims=True).tolist() == [[21]]
    assert xp.prod(x, axis=(0, 1)).item() == 720 and xp.max(x, axis=0).tolist() == [4, 5, 6] and xp.argmax(x, keepdims=True).tolist() == [[5]]
    assert xp.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0, 1, 3, 6], [0, 4, 9, 15]]
    assert xp.var(xp.astype(x, xp.float64), axis=1, correction=1).tolist() == [1.0, 1.0] and xp.count_nonzero(x - 1).item() == 5
    for function in (xp.sum, xp.prod, xp.cumulative_sum, xp.cumulative_prod):
        assert function(xp.ones(2, dtype=xp.int8), axis=0, dtype=xp.int8).dtype == xp.int8
    with pytest.raises(ValueError, match="axis is required"):
        xp.cumulative_sum(x)


def test_distinct_elements():
    x = xp.asarray([3.0, 1.0, xp.nan, 3.0, xp.nan])
    values, indices, inverse, counts = xp.unique_all(x)
    assert indices.tolist() == [1, 0, 2, 4] and inverse.tolist()[:2] == [1, 0] and counts.tolist() == [1, 2, 1, 1]
    assert xp.unique_values(xp.asarray([1j, 0j, 1j])).tolist() == [0j, 1j]


def test_bounds_and_positions():
    assert xp.clip(xp.asarray([1, 5, 9], dtype=xp.uint8), -3, 300).tolist() == [1, 5, 9]
    assert xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, -1, 0])).tolist() == [7, 7, 5]
    assert xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([[3, 6]]), side="right").tolist() == [[2, 3]]
    assert xp.arange(5, 0).shape == (0,) and xp.linspace(0, 1, 4, endpoint=False).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert xp.eye(2, 3, k=1).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert xp.repeat(xp.asarray([1, 2]), xp.asarray([0, 3])).tolist() == [2, 2, 2]
    for wrong in (lambda: xp.nonzero(xp.asarray(1)), lambda: xp.squeeze(xp.ones((2, 1)), 0), lambda: xp.asarray([1], copy=False),
                  lambda: xp.broadcast_to(xp.ones(3), (2, 2)), lambda: xp.matmul(xp.asarray(1.0), xp.ones(2))):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(IndexError):
        xp.expand_dims(xp.ones(2), axis=3)


def test_linear_algebra():
    x = xp.asarray([[2.0, 0.0], [0.0, 3.0]])
    assert xp.linalg.solve(x, xp.asarray([2.0, 3.0])).tolist() == [1.0, 1.0] and xp.linalg.trace(x, offset=1).item() == 0.0
    assert xp.vecdot(xp.asarray([1j, 1.0]), xp.asarray([1j, 1.0])).item() == 2 and xp.linalg.vector_norm(x, axis=(0, 1), ord=1).item() == 5.0
    assert xp.linalg.eigh(x).eigenvalues.tolist() == [2.0, 3.0] and xp.linalg.slogdet(x).sign.item() == 1.0


def test_consumers_accept_it():
    compat = pytest.importorskip("array_api_compat")
    x = torch.ones(2, 3)
    assert compat.is_array_api_obj(x) and compat.array_namespace(x) is xp and compat.size(x) == 6 and compat.device(x).type == "cpu"


def test_later_additions():
    x = xp.asarray([1.0, 2.0, xp.nan])
    assert xp.isin(x, 2).tolist() == [False, True, False] and xp.isin(2, xp.asarray([2]), invert=True).item() is False
    assert xp.isin(xp.asarray([1j, 2j]), xp.asarray([2j])).tolist() == [False, True]
    assert xp.searchsorted(xp.asarray([1, 3, 5]), 4).item() == 2 and xp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert xp.expand_dims(xp.ones((2, 3)), (0, -1)).shape == (1, 2, 3, 1) and isinstance(xp.broadcast_arrays(x, x), tuple)
    assert xp.linalg.eig(xp.asarray([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.dtype == xp.complex64
    for axes in ((0, 0), (0, -4)):
        with pytest.raises(ValueError, match="expand_dims"):
            xp.expand_dims(xp.ones((2, 3)), axes)
    with pytest.raises(ValueError):
        xp.broadcast_shapes((2,), (3,))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_positions_of_every_integer_dtype(dtype):
    at, x = xp.asarray([1, 0], dtype=getattr(xp, dtype)), xp.asarray([5, 6])
    assert xp.take(x, at).tolist() == [6, 5] and xp.take_along_axis(x, at).tolist() == [6, 5] and xp.repeat(x, at).tolist() == [5]
    assert xp.searchsorted(xp.asarray([6, 5]), x, sorter=at).tolist() == [0, 1]


def test_infinite_imaginary_parts_stay_alone():
    z = complex(0.0, float("inf"))
    x = torch.zeros(2, dtype=torch.complex64)
    x[0] = z
    for made in (torch.tensor(z), torch.full((2,), z)[0], x[0],
                 torch.zeros(1, dtype=torch.complex128).fill_(z)[0], torch.linspace(z, z, 1, dtype=torch.complex64)[0]):
        assert made.real.item() == 0.0 and made.imag.item() == float("inf")
    assert torch.tensor(complex(1.0, float("nan"))).real.item() == 1.0


def test_reversed_views_are_copied():
    numpy = pytest.importorskip("numpy")
    assert xp.asarray(numpy.arange(3)[::-1]).tolist() == [2, 1, 0]
    with pytest.raises(ValueError):
        xp.asarray(numpy.arange(3)[::-1], copy=False)


def test_remainders_of_zero_have_the_sign_of_the_divisor():
    x, y = xp.asarray([0.0, -0.0, 4.0, -4.0, 5.0, 1.0]), xp.asarray([-1.0, 2.0, -2.0, 2.0, -2.0, 0.0])
    made = xp.remainder(x, y)
    assert made.tolist()[:5] == [0.0, 0.0, 0.0, 0.0, -1.0] and xp.isnan(made[5])
    assert xp.signbit(made).tolist()[:5] == [True, False, True, False, True] and xp.signbit(xp.remainder(0.0, y)).tolist()[:2] == [True, False]
    assert xp.remainder(xp.asarray([5, -4]), -2).tolist() == [-1, 0]


@pytest.mark.parametrize("name", "amax amin nansum nanmean prod aminmax count_nonzero logsumexp cumsum cumprod cummax cummin logcumsumexp".split())
def test_functions_take_the_names_that_array_libraries_use(name):
    x, function = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), getattr(torch, name)
    for kept in (False, True):
        if kept and name.startswith(("cum", "logcum", "count")):
            with pytest.raises(TypeError, match="keepdims"):
                function(x, axis=0, keepdims=True)
            continue
        numpy, own = ({"axis": 1, "keepdims": True}, {"dim": 1, "keepdim": True}) if kept else ({"axis": 1}, {"dim": 1})
        for made, wanted in ((function(x, **numpy), function(x, **own)), (getattr(x, name)(**numpy), function(x, **own))):
            pairs = zip(made, wanted) if isinstance(wanted, tuple) else [(made, wanted)]
            assert all(torch.equal(a, b) for a, b in pairs)
    for wrong in ({"dim": 1, "axis": 0}, {"axes": 1, "dim": 1}):
        with pytest.raises(TypeError, match=name):
            function(x, **wrong)


NAMED = {
    "sort argsort softmax log_softmax unbind median nanmedian mode diff gradient squeeze trapezoid trapz cumulative_trapezoid var_mean std_mean": (),
    "topk kthvalue chunk tensor_split unsqueeze": (1,), "quantile nanquantile": (0.3,), "split_with_sizes": ([1, 2],),
}


@pytest.mark.parametrize("name, arguments", [(n, a) for names, a in NAMED.items() for n in names.split()])
def test_axis_is_dim(name, arguments):
    x, function = torch.tensor([[1.0, 7.0, 3.0], [4.0, 2.0, 6.0], [5.0, 9.0, 8.0]]), getattr(torch, name)
    forms = [lambda **names: function(x, *arguments, **names)]
    if hasattr(x, name):
        forms.append(lambda **names: getattr(x, name)(*arguments, **names))
    if name == "unsqueeze":
        function, forms, arguments = torch.unsqueeze, [lambda **names: torch.unsqueeze(x, **names), x.unsqueeze], ()
    pairs = [({"axis": 0}, {"dim": 0})]
    if name in ("median", "nanmedian", "mode", "kthvalue", "quantile", "nanquantile", "var_mean", "std_mean"):
        pairs.append(({"axis": 0, "keepdims": True}, {"dim": 0, "keepdim": True}))
    for numpy, own in pairs:
        for form in forms:
            made, wanted = form(**numpy), form(**own)
            for a, b in zip(made, wanted) if isinstance(wanted, (tuple, list)) else [(made, wanted)]:
                assert torch.equal(a, b)


def test_axis_is_dim_in_namespaces():
    x, y = torch.arange(12.0).reshape(3, 4), torch.ones(3, 4)
    assert torch.equal(torch.cosine_similarity(x, y, axis=0), torch.cosine_similarity(x, y, dim=0))
    assert torch.equal(torch.cross(x, y, axis=0), torch.linalg.cross(x, y, axis=0)) and torch.equal(torch.linalg.vecdot(x, y, axis=0), x.sum(0))
    assert torch.linalg.norm(x, axis=(0, 1), keepdims=True).shape == (1, 1) and torch.linalg.matrix_norm(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    assert torch.equal(torch.linalg.vector_norm(x, axis=0, keepdims=True), x.norm(dim=0, keepdim=True))
    assert torch.equal(torch.repeat_interleave(x, 2, axis=0), x.repeat_interleave(2, 0))
    for name in ("fft", "ifft", "rfft", "hfft", "fftshift", "ifftshift"):
        assert torch.equal(getattr(torch.fft, name)(x, axis=0), getattr(torch.fft, name)(x, dim=0))
    assert torch.equal(torch.fft.fftn(x, axis=(0,)), torch.fft.fft(x, dim=0)) and torch.equal(torch.fft.fft2(x, axis=(1, 0)), torch.fft.fft2(x, dim=(1, 0)))
