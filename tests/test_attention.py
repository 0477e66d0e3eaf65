"""Scaled dot-product attention and the layers around it."""
import math

import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.functional import attention
from helpers import assert_close, from_oracle, oracle

F = nn.functional
SHAPES = [((2, 3, 5, 8), 5, 8), ((3, 70, 16), 300, 24), ((1, 2, 130, 32), 130, 32), ((2, 2, 2, 9, 8), 12, 8), ((4, 6), 5, 3),
          ((1, 1, 65, 64), 600, 64)]


def masks(pt, kind, shape, keys):
    if kind == "bool":
        mask = pt.rand(shape[-2], keys) > 0.3
        mask[0] = False          # a row that sees nothing
        return mask
    if kind == "float":
        return pt.randn(*shape[:-2], shape[-2], keys)
    return pt.randn(1, keys) if kind == "row" else None


def same_with_gradients(pt, actual, expected, ours, theirs):
    assert_close(actual, expected)
    g = pt.randn_like(expected)
    expected.backward(g)
    actual.backward(from_oracle(g))
    for a, b in zip(ours, theirs):
        assert_close(a.grad, b.grad, atol=1e-4)


@pytest.mark.parametrize("shape, keys, wide", SHAPES)
@pytest.mark.parametrize("kind", [None, "causal", "bool", "float", "row"])
def test_against_pytorch(shape, keys, wide, kind):
    pt = oracle()
    pt.manual_seed(0)
    q = pt.randn(shape, requires_grad=True)
    k = pt.randn(*shape[:-2], keys, shape[-1], requires_grad=True)
    v = pt.randn(*shape[:-2], keys, wide, requires_grad=True)
    mask = masks(pt, kind, shape, keys)
    ours = [from_oracle(t) for t in (q, k, v)]
    expected = pt.nn.functional.scaled_dot_product_attention(q, k, v, mask, is_causal=kind == "causal")
    actual = F.scaled_dot_product_attention(*ours, None if mask is None else from_oracle(mask), is_causal=kind == "causal")
    same_with_gradients(pt, actual, expected, ours, (q, k, v))


@pytest.mark.parametrize("strides", ["plain", "heads last", "odd"])
def test_fused_equals_composite(strides):
    def make(n, d):
        if strides == "heads last":
            return torch.randn(2, n, 3, d).transpose(1, 2)
        return torch.randn(2, 3, d, n).transpose(2, 3) if strides == "odd" else torch.randn(2, 3, n, d)
    q, k, v = make(20, 8), make(33, 8), make(33, 5)
    fused = attention._fused(q, k, v, None, 0.0, False, 0.3)
    assert_close(fused, attention._composite(q, k, v, None, 0.0, False, 0.3).tolist())


def test_options():
    pt = oracle()
    q, k = pt.randn(2, 4, 5, 8), pt.randn(2, 2, 7, 8)
    args = [from_oracle(t) for t in (q, k, k)]
    expected = pt.nn.functional.scaled_dot_product_attention(q, k, k, scale=0.7, enable_gqa=True)
    assert_close(F.scaled_dot_product_attention(*args, scale=0.7, enable_gqa=True), expected)
    half = [a.double() for a in args]
    assert_close(F.scaled_dot_product_attention(*half, scale=0.7, enable_gqa=True).float(), expected)
    x = torch.ones(1, 4, 4)
    dropped = F.scaled_dot_product_attention(x, x, x, dropout_p=1.0)
    assert float(dropped.abs().sum()) == 0


def test_huge_scores_and_nan():
    q = torch.full((1, 4, 8), 1e4)
    out = F.scaled_dot_product_attention(q, q, torch.ones(1, 4, 8))
    assert_close(out, torch.ones(1, 4, 8).tolist())
    v = torch.ones(1, 4, 8)
    v[0, 2, 1] = math.nan
    assert math.isnan(float(F.scaled_dot_product_attention(q, q, v)[0, 0, 1]))


def test_second_derivative_of_dependent_inputs():
    pt = oracle()
    x = pt.randn(2, 3, 5, 4, requires_grad=True)
    y = from_oracle(x)

    def penalty(lib, t):
        out = lib.nn.functional.scaled_dot_product_attention(t, t * 2, t * 3, is_causal=True)
        g, = lib.autograd.grad((out ** 2).sum(), t, create_graph=True)
        (g ** 2).sum().backward()
        return t.grad
    with pt.nn.attention.sdpa_kernel(pt.nn.attention.SDPBackend.MATH):
        expected = penalty(pt, x)
    assert_close(penalty(torch, y), expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


def test_the_same_bits_at_any_thread_count():
    q = torch.randn(2, 3, 150, 16, requires_grad=True)
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        q.grad = None
        out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        out.sum().backward()
        results.append((out.tolist(), q.grad.tolist()))
    assert results[0] == results[1] == results[2]


def test_errors():
    q = torch.zeros(2, 3, 4)
    for args, kw, text in (((q, q, torch.zeros(4)), {}, "at least 2 dimensional"), ((q, q.double(), q), {}, "same dtype"),
                           ((q, q, q, torch.zeros(3, 3)), dict(is_causal=True), "should not be set"),
                           ((q, q, q, torch.zeros(3, 3, dtype=torch.int64)), {}, "attn_mask dtype")):
        with pytest.raises(RuntimeError, match=text):
            F.scaled_dot_product_attention(*args, **kw)


@pytest.mark.parametrize("kw", [{}, dict(bias=False), dict(add_bias_kv=True), dict(add_zero_attn=True), dict(kdim=3, vdim=5),
                                dict(batch_first=True)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_attention(kw, need_weights):
    pt = oracle()
    pt.manual_seed(0)
    theirs = pt.nn.MultiheadAttention(8, 2, **kw)
    ours = nn.MultiheadAttention(8, 2, **kw)
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    first = kw.get("batch_first")
    q = pt.randn(*((3, 4) if first else (4, 3)), 8)
    k = pt.randn(*((3, 6) if first else (6, 3)), kw.get("kdim", 8))
    v = pt.randn(*((3, 6) if first else (6, 3)), kw.get("vdim", 8))
    padding = pt.zeros(3, 6, dtype=pt.bool)
    padding[1, 4:] = True
    a, wa = theirs(q, k, v, key_padding_mask=padding, need_weights=need_weights)
    b, wb = ours(*(from_oracle(t) for t in (q, k, v)), key_padding_mask=from_oracle(padding), need_weights=need_weights)
    assert_close(b, a)
    if need_weights:
        assert_close(wb, wa)
    else:
        assert wb is None


def test_transformer():
    pt = oracle()
    pt.manual_seed(0)
    theirs = pt.nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, batch_first=True).train()
    ours = nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, batch_first=True)
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    src, tgt = pt.randn(3, 6, 8), pt.randn(3, 5, 8)
    mask = pt.nn.Transformer.generate_square_subsequent_mask(5)
    expected = theirs(src, tgt, tgt_mask=mask)
    actual = ours(from_oracle(src), from_oracle(tgt), tgt_mask=from_oracle(mask))
    assert_close(actual, expected)
    expected.sum().backward()
    actual.sum().backward()
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters()):
        assert_close(p.grad, q.grad, what=name, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("causal", [False, True])
def test_dropout_of_a_seed_is_pytorchs(causal):
    pt = oracle()
    pt.manual_seed(0)
    q, k, v = pt.randn(2, 4, 5, 16), pt.randn(2, 4, 8, 16), pt.randn(2, 4, 8, 16)
    x, w, b, wo, bo = pt.randn(5, 2, 8), pt.randn(24, 8), pt.randn(24), pt.randn(8, 8), pt.randn(8)
    results = []
    for library, convert in ((pt, lambda t: t), (torch, from_oracle)):
        library.manual_seed(42)
        one = library.nn.functional.scaled_dot_product_attention(*map(convert, (q, k, v)), None, 0.5, causal)
        library.manual_seed(42)
        y = convert(x)
        many, _ = library.nn.functional.multi_head_attention_forward(y, y, y, 8, 2, convert(w), convert(b), None, None, False, 0.5, convert(wo), convert(bo))
        results.append((one, many))
    for want, got in zip(*results):
        assert_close(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [None, "causal", "float", "row"])
@pytest.mark.parametrize("heads, groups, rows, keys", [(8, 2, 130, 300), (4, 1, 3, 140), (1, 1, 300, 700), (2, 1, 70, 70)])
def test_grouped_heads(dtype, kind, heads, groups, rows, keys):
    pt = oracle()
    pt.manual_seed(1)
    d = getattr(pt, dtype)
    q = pt.randn(2, heads, rows, 40, dtype=d, requires_grad=True)
    k, v = (pt.randn(2, groups, keys, n, dtype=d, requires_grad=True) for n in (40, 24))
    mask = pt.randn(2, heads, rows, keys, dtype=d) if kind == "float" else pt.randn(1, 1, 1, keys, dtype=d) if kind == "row" else None
    ours = [from_oracle(t) for t in (q, k, v)]
    options = {"is_causal": kind == "causal", "enable_gqa": True}
    expected = pt.nn.functional.scaled_dot_product_attention(q, k, v, mask, **options)
    actual = F.scaled_dot_product_attention(*ours, None if mask is None else from_oracle(mask), **options)
    same_with_gradients(pt, actual, expected, ours, (q, k, v))


def test_heads_that_do_not_fit_are_refused():
    q, k = torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 3, 8)
    with pytest.raises(RuntimeError):
        F.scaled_dot_product_attention(q, k, k)


def test_rows_of_nan_and_of_equal_bits_at_any_thread_count():
    q, k = torch.randn(1, 2, 150, 32, requires_grad=True), torch.randn(1, 2, 400, 32, requires_grad=True)
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        q.grad = k.grad = None
        out = F.scaled_dot_product_attention(q, k, k)
        out.sum().backward()
        found.append([out.tolist(), q.grad.tolist(), k.grad.tolist()])
    torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    spoilt = q.detach().clone()
    spoilt[0, 1, 7, 3] = math.nan
    out = F.scaled_dot_product_attention(spoilt, k, k)
    assert out[0, 1, 7].isnan().all() and not out[0, 1, 8].isnan().any() and not out[0, 0].isnan().any()
