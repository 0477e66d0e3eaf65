"""`out=` of every function that takes it: the result goes into it, whatever its shape and strides, and what it cannot take is refused."""
import warnings

import numpy
import pytest

import fasttensor as torch

L, S, F, FFT = torch.linalg, torch.special, torch.nn.functional, torch.fft
M = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
V, I, B = torch.tensor([0.5, -1.5, 2.5]), torch.tensor([2, 0, 1]), torch.tensor([True, False, True])
N = torch.tensor([6, 4, 9])


def named(space, names, *arguments, **options):
    prefix = "torch" if space is torch else space.__name__.split(".")[-1]
    return {f"{prefix}.{name}": lambda name=name, **k: getattr(space, name)(*arguments, **options, **k) for name in names.split()}


CALLS = {
    **named(torch, "abs acos asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log log10 log1p log2"
            " logit neg rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc"
            " isposinf isneginf logical_not i0 nan_to_num conj_physical", M / 5),
    **named(torch, "add sub mul div true_divide atan2 fmod remainder floor_divide pow hypot copysign nextafter maximum minimum fmax fmin eq ne lt le gt ge"
            " logaddexp logaddexp2 heaviside xlogy logical_and logical_or logical_xor igamma igammac float_power ldexp", M, M + 1),
    **named(torch, "bitwise_and bitwise_or bitwise_xor gcd lcm bitwise_left_shift bitwise_right_shift", N, I),
    **named(torch, "sum mean prod std var amax amin argmax argmin all any nansum nanmean cumsum cumprod logcumsumexp softmax log_softmax argsort",
            M, dim=0),
    **named(torch, "sort max min median nanmedian mode cummax cummin aminmax", M, dim=0),
    **named(torch, "mm matmul inner kron", M, M), **named(torch, "mv", M, V), **named(torch, "dot vdot outer ger", V, V),
    **named(torch, "addmm", M, M, M), **named(torch, "addmv", V, M, V), **named(torch, "addr", M, V, V), **named(torch, "bmm", M[None], M[None]),
    **named(torch, "baddbmm", M[None], M[None], M[None]), **named(torch, "addbmm", M, M[None], M[None]),
    **named(torch, "addcmul addcdiv lerp", M, M, M), **named(torch, "cat stack hstack vstack dstack column_stack", [M, M + 1]),
    **named(torch, "tril triu diag nonzero msort t_copy alias_copy", M), **named(torch, "gather", M, 0, I[None].expand(3, 3)),
    "take_along_dim": lambda **k: torch.take_along_dim(M, I[None].expand(3, 3), 0, **k), **named(torch, "index_select", M, 0, I),
    **named(torch, "index_add index_copy", M, 0, I, M), **named(torch, "scatter scatter_add", M, 0, I[None].expand(3, 3), M),
    **named(torch, "scatter_reduce", M, 0, I[None].expand(3, 3), M, "amax"), **named(torch, "take", M, I), **named(torch, "masked_select", V, B),
    **named(torch, "kthvalue topk", M, 2, dim=0), **named(torch, "quantile nanquantile", M, 0.25, dim=0),
    **named(torch, "searchsorted", torch.tensor([1.0, 2.0]), V), **named(torch, "bucketize", V, torch.tensor([1.0, 2.0])),
    **named(torch, "where", B, V, V + 1), **named(torch, "isin", V, V[:1]), **named(torch, "clamp", V, 0.0, 1.0), **named(torch, "threshold", V, 0.0, 7.0),
    **named(torch, "renorm", M, 2, 0, 1.0), **named(torch, "tensordot", M, M, dims=1), **named(torch, "cross", V, V.flip(0)), **named(torch, "polygamma", 1, M),
    **named(torch, "histc", V, 4, -2, 3), **named(torch, "logsumexp", M, 0), **named(torch, "cholesky cholesky_inverse inverse", M),
    **named(torch, "diff", M), **named(torch, "norm", M, 2, 0), **named(torch, "complex polar", V, V), **named(torch, "arange", 5), **named(torch, "eye", 3),
    **named(torch, "linspace logspace", 0, 1, 5), **named(torch, "zeros ones", 2, 3), **named(torch, "full", (2, 3), 7.0), **named(torch, "frexp", V),
    **named(torch, "slice_scatter", M, M[:1], 0, 1, 2),
    **named(L, "inv det cholesky matrix_rank eigvalsh svdvals pinv cond", M), **named(L, "slogdet eigh qr lu lu_factor inv_ex cholesky_ex ldl_factor", M),
    **named(L, "solve", M, V), **named(L, "lstsq", M, M, driver="gelsd"), **named(L, "vector_norm", M, 2, 0), **named(L, "matrix_norm matrix_power", M, 2),
    **named(L, "multi_dot", [M, M, M]), **named(L, "cross vecdot", V, V.flip(0)), **named(L, "householder_product", M, V),
    **named(L, "solve_triangular", M.triu(), M, upper=True),
    **named(S, "entr erfcx i0e i1 i1e ndtr ndtri log_ndtr bessel_j0 psi gammaln expit", M / 5),
    **named(S, "xlog1py zeta", M, M + 2), **named(FFT, "fft ifft rfft hfft fftn", M), **named(FFT, "irfft", M + 0j), **named(FFT, "fftfreq rfftfreq", 6),
    **named(F, "gelu softplus logsigmoid normalize", M), **named(F, "linear", M, M, V), **named(F, "avg_pool2d", M[None], 2),
}


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def collected(results, like):
    return results[0] if isinstance(like, torch.Tensor) else tuple(results)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:.*(deprecated|beta)")
def test_out(name):
    call, expected = CALLS[name], CALLS[name]()
    whole = parts(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*(deprecated|beta)")
        for outs in ([torch.empty(0, dtype=t.dtype) for t in whole], [torch.zeros(*t.shape, 2, dtype=t.dtype)[..., 1] for t in whole],
                     [torch.zeros(tuple(reversed(t.shape)), dtype=t.dtype).permute(tuple(reversed(range(t.ndim)))) for t in whole]):
            strides = [t.stride() for t in outs]
            given = collected(outs, expected)
            returned = parts(call(out=given))
            for k, (out, want) in enumerate(zip(outs, whole)):
                assert returned[k] is out and out.shape == want.shape and torch.allclose(out, want, rtol=1e-6, equal_nan=True), \
                    f"part {k}: {out}, expected {want}"
                assert out.stride() == strides[k] or strides[k] == (1,), "out= keeps its strides"
    for wrong in (1.5, "a") if isinstance(expected, torch.Tensor) else (1.5, whole[0]):
        with pytest.raises(TypeError, match="out"):
            call(out=wrong)
    if isinstance(expected, tuple):
        with pytest.raises((TypeError, RuntimeError)):
            call(out=tuple(whole[:-1]))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:.*(deprecated|beta)")
def test_what_out_cannot_be(name):
    call, expected = CALLS[name], CALLS[name]()
    whole = parts(expected)
    if whole[0].numel() > 1:
        with pytest.raises(RuntimeError, match="single memory location"):
            call(out=collected([torch.zeros((), dtype=t.dtype).expand(t.shape) for t in whole], expected))
    if whole[0].numel() and name not in ("torch.arange", "torch.linspace", "torch.logspace", "torch.zeros", "torch.ones", "torch.full", "torch.eye",
                                         "fft.fftfreq", "fft.rfftfreq"):
        with pytest.warns(UserWarning, match="resized"):
            outs = [torch.ones(*t.shape, 3, dtype=t.dtype) for t in whole]
            call(out=collected(outs, expected))
        assert all(torch.allclose(a, b, equal_nan=True) for a, b in zip(outs, whole))
    if whole[0].is_floating_point():
        with pytest.raises(RuntimeError, match="grad"):
            call(out=collected([t.clone().requires_grad_(t.is_floating_point()) for t in whole], expected))


@pytest.mark.parametrize("name", [n for n in CALLS if n.split(".")[-1] in (
    "exp", "add", "mm", "sort", "amax", "gather", "softmax", "cumsum", "inv", "fft", "linear", "lerp", "cat", "max", "quantile", "slogdet", "tril")])
def test_out_of_narrower_dtypes(name):
    whole = parts(CALLS[name]())
    narrow = [torch.zeros(t.shape, dtype=torch.float32 if t.is_complex() else torch.bool) for t in whole]
    if name != "torch.cumsum":
        with pytest.raises((RuntimeError, TypeError), match="dtype|cast|type"):
            CALLS[name](out=collected(narrow, CALLS[name]()))


def test_out_of_wider_dtypes():
    wide = torch.zeros(2, dtype=torch.float64)
    assert torch.abs(torch.tensor([3 + 4j, 0j]), out=wide).tolist() == [5, 0] and torch.lerp(V[:2], V[1:], 0.5, out=wide).tolist() == [-0.5, 0.5]
    assert torch.add(V[:2], 1, out=torch.zeros(2, dtype=torch.complex64)).tolist() == [1.5, -0.5]
    with pytest.raises(RuntimeError, match="abs.*float32.*float64"):
        torch.abs(V[:2], out=wide)


def test_out_and_gradients():
    x = M.clone().requires_grad_()
    for name in ("exp", "diag", "sort", "tril"):
        out = parts(getattr(torch, name)(M))
        with pytest.raises(RuntimeError, match="automatic differentiation|grad"):
            getattr(torch, name)(x, out=collected(out, getattr(torch, name)(M)))
    for call in (lambda: torch.bernoulli(x / 9, out=torch.zeros(3, 3)), lambda: torch.normal(x, 1.0, out=torch.zeros(3, 3)),
                 lambda: FFT.ifft(x, out=torch.zeros(3, 3) + 0j)):
        with pytest.raises(RuntimeError, match="automatic differentiation"):
            call()
    with torch.no_grad():
        assert torch.exp(x, out=torch.zeros(3, 3)).tolist() == M.exp().tolist()


def test_out_is_written_through_its_strides():
    for call in (lambda **k: FFT.ihfft2(M, dim=0, **k), lambda **k: F.gelu(M, **k), lambda **k: F.avg_pool3d(M.expand(1, 2, 3, 3), (2, 2, 2), **k),
                 lambda **k: torch.narrow_copy(M, 1, 1, 2, **k), lambda **k: torch.tril(M.expand(2, 3, 3), **k),
                 lambda **k: torch.argsort(M, stable=True, **k)):
        expected = call()
        out = torch.zeros(*expected.shape, 2, dtype=expected.dtype)
        assert torch.equal(call(out=out[..., 0]), expected) and not out[..., 1].any()


def test_joins_are_written_at_once_where_nothing_is_read_after_it_is_written():
    x = torch.arange(4.0)
    out = torch.zeros(2, 4)
    version = out._version
    assert torch.stack([x, x + 1], out=out) is out and out.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]] and out._version == version + 1
    torch.cat([out[1], out[0]], out=out.view(8))
    assert out.tolist() == [[1, 2, 3, 4], [0, 1, 2, 3]]
    turned = torch.zeros(4, 2)
    torch.stack([x, x], out=turned.t())
    assert turned[:, 1].tolist() == [0, 1, 2, 3] and torch.cat([x, x.int()], out=torch.zeros(8, dtype=torch.float64)).dtype is torch.float64


def test_in_place_forms_keep_their_shape():
    one, three = torch.ones(1, 1), torch.ones(2, 1, 1)
    for call in (lambda: torch.ones(1).addmm_(one, one), lambda: torch.tensor(1.0).addmv_(one, one[0]), lambda: torch.tensor(1.0).addr_(one[0], one[0]),
                 lambda: torch.ones(1).addbmm_(three, three), lambda: one.clone().baddbmm_(one[None], one[None]),
                 lambda: torch.ones(2).clamp_(min=torch.zeros(2, 2))):
        with pytest.raises(RuntimeError, match="match"):
            call()
    assert torch.ones(1, 1).addbmm_(three, three).tolist() == [[3]]


def test_false_masks_beside_indices():
    no, i = torch.tensor(False), torch.tensor([0, 1])
    for call in (lambda: torch.zeros(3, 3).index_put((i, no), torch.tensor(1.0)), lambda: torch.zeros(3)[no, i]):
        with pytest.raises(IndexError):
            call()


def test_arrays_without_a_copy():
    x = torch.ones(2)
    numpy.array(x, copy=False)[0] = 5
    assert x.tolist() == [5, 1] and numpy.array(x, dtype="float64", copy=None).dtype == "float64"
    with pytest.raises(ValueError, match="avoid copy"):
        numpy.array(x, dtype="float64", copy=False)


def test_resize_keeps_the_strides_of_the_same_shape():
    x = torch.arange(6.0)
    assert x[::2].resize_(3).stride() == (2,) and x[1::2].resize_as_(torch.ones(3)).tolist() == [1, 3, 5]
    assert torch.zeros(3).resize_(torch.tensor(2)).shape == (2,)


READ_LATER = {
    "gather": lambda x, o: torch.gather(x, 0, torch.zeros(3, 3).long(), out=o), "index_select": lambda x, o: torch.index_select(x, 0, I, out=o),
    "take_along_dim": lambda x, o: torch.take_along_dim(x, I[None].expand(3, 3), 0, out=o), "take": lambda x, o: torch.take(x, I.expand(3, 3), out=o),
    "scatter": lambda x, o: torch.scatter(x, 0, I[None], x, out=o), "scatter_add": lambda x, o: torch.scatter_add(x, 0, I[None], x, out=o),
    "index_add": lambda x, o: torch.index_add(x, 0, I, x, out=o), "index_copy": lambda x, o: torch.index_copy(x, 0, I, x, out=o),
    "scatter_reduce": lambda x, o: torch.scatter_reduce(x, 0, I[None], x, "amax", out=o), "cross": lambda x, o: torch.cross(x, M, 0, out=o),
    "masked_select": lambda x, o: torch.masked_select(x, M > -9, out=o.view(-1)), "linalg.cross": lambda x, o: L.cross(x, M, out=o),
}
READ_IN_PLACE = {
    "cumsum": lambda x, o: torch.cumsum(x, 0, out=o), "cumprod": lambda x, o: torch.cumprod(x, 0, out=o), "sort": lambda x, o:
        torch.sort(x, out=(o, torch.empty(3, 3).long())),
    "logcumsumexp": lambda x, o: torch.logcumsumexp(x, 0, out=o), "msort": lambda x, o: torch.msort(x, out=o),
    "addmm": lambda x, o: torch.addmm(x, M, M, out=o),
    "addmv": lambda x, o: torch.addmv(x[0], M, V, out=o[0]), "addr": lambda x, o: torch.addr(x, V, V, out=o),
    "renorm": lambda x, o: torch.renorm(x, 2, 0, 1.0, out=o),
    "gelu": lambda x, o: F.gelu(x, out=o), "normalize": lambda x, o: F.normalize(x, out=o),
    "solve_triangular": lambda x, o: L.solve_triangular(M, x, upper=True, out=o),
    "frexp": lambda x, o: torch.frexp(x, out=(o, torch.empty(3, 3).int())), "topk": lambda x, o: torch.topk(x, 3, out=(o, torch.empty(3, 3).long())),
}


@pytest.mark.parametrize("name", [*READ_LATER, *READ_IN_PLACE])
def test_out_in_the_memory_of_an_operand(name):
    memory = torch.arange(12.0)
    x, shifted = memory[:9].view(3, 3), memory[1:10].view(3, 3)
    call = READ_LATER.get(name) or READ_IN_PLACE[name]
    with pytest.raises(RuntimeError, match="single memory location"):
        call(x, shifted)
    if name in READ_LATER:
        with pytest.raises(RuntimeError, match="single memory location"):
            call(x, x)
        assert memory.tolist() == list(range(12)), "nothing is written where it is refused"
    else:
        call(x, x)
