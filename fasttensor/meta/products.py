"""Shapes of matrix products, recurrent layers and attention."""
from fasttensor._core.tensor import description
from fasttensor.meta.tensors import broadcast, code_of, like, new, together, with_strides

TRANSPOSED = 1      # as in cpu.matmul


def _product(op, a, b, ta=0, tb=0):
    """The sizes of a @ b, of which either may be transposed."""
    together(op, a, b)
    rows, inner = tuple(a.shape[-2:])[::-1] if ta & TRANSPOSED else tuple(a.shape[-2:])
    other, columns = tuple(b.shape[-2:])[::-1] if tb & TRANSPOSED else tuple(b.shape[-2:])
    if inner != other:
        raise RuntimeError(f"{op}: mat1 and mat2 shapes cannot be multiplied: {description(a)} and {description(b)}")
    if code_of(a) != code_of(b):
        raise RuntimeError(f"{op}: expected both tensors to have the same dtype, but got {description(a)} and {description(b)}")
    if a.ndim == b.ndim == 2:
        return rows, columns
    return (*broadcast(op, a.shape[:-2], b.shape[:-2]), rows, columns)


def mm(a, b, ta=0, tb=0):
    return new(_product("mm", a, b, ta, tb), code_of(a))


def bmm(a, b, ta=0, tb=0):
    return new(_product("bmm", a, b, ta, tb), code_of(a))


def addmm(c, a, b, beta=1, alpha=1):
    together("addmm", c)
    made = new(_product("addmm", a, b), code_of(a))
    if broadcast("addmm", c.shape, made.shape) != tuple(made.shape):
        raise RuntimeError(f"addmm: {description(c)} does not broadcast to the product {description(made)}")
    return made


def mv(a, x, ta=0):
    together("mv", a, x)
    rows, inner = tuple(a.shape)[::-1] if ta & TRANSPOSED else tuple(a.shape)
    if inner != x.numel() or code_of(a) != code_of(x):
        raise RuntimeError(f"mv: shapes or dtypes do not fit: {description(a)} and {description(x)}")
    return new((rows,), code_of(a))


def cross(a, b, dim):
    together("cross", a, b)
    return new(a.shape, code_of(a))


def dot(x, y, conj=False):
    together("dot", x, y)
    if x.numel() != y.numel() or code_of(x) != code_of(y):
        raise RuntimeError(f"dot: shapes or dtypes do not fit: {description(x)} and {description(y)}")
    return new((), code_of(x))


def linear(x, w, bias=None, activation=None):
    together("linear", x, w, bias)
    if x.ndim == 0 or w.ndim != 2 or x.shape[-1] != w.shape[1]:
        raise RuntimeError(f"linear: mat1 and mat2 shapes cannot be multiplied: input {description(x)} and weight {description(w)}")
    return new((*x.shape[:-1], w.shape[0]), code_of(x))


def linear_backward(g, x, w, need_x, need_w, need_bias):
    code = code_of(g)
    return (new((*g.shape[:-1], w.shape[1]), code) if need_x else None,
            new((g.shape[-1], x.shape[-1]), code) if need_w else None,
            new((g.shape[-1],), code) if need_bias else None)


def rnn_forward(mode, x, sizes, h0, c0, w_ih, w_hh, b_ih, b_hh, reverse):
    together(mode.lower(), x, h0, c0, w_ih, w_hh, b_ih, b_hh)
    return new((x.shape[0], w_hh.shape[1]), code_of(x)), like(h0), None if c0 is None else like(c0), None


def rnn_backward(mode, gout, gh, gc, x, sizes, h0, c0, w_ih, w_hh, out, kept, bias, reverse, needs):
    b = new((w_ih.shape[0],), code_of(x)) if bias else None
    return (like(x) if needs[0] else None, like(h0), None if c0 is None else like(c0), like(w_ih) if needs[3] else None,
            like(w_hh) if needs[4] else None, b, None if b is None else like(b))


def _rows_together(x, rows, columns):
    """Heads side by side in memory, as the CPU's kernel lays them."""
    *outer, heads = x.shape[:-2]
    steps = [rows * heads * columns] * len(outer) + [columns, heads * columns, 1]
    return with_strides((*outer, heads, rows, columns), steps, code_of(x))


def attention(q, k, v, mask, causal, scale):
    together("scaled_dot_product_attention", q, k, v, mask)
    if k.shape[:-3] != q.shape[:-3] or q.shape[-3] % max(k.shape[-3], 1) or v.shape[:-1] != k.shape[:-1] or q.shape[-1] != k.shape[-1]:
        raise RuntimeError(f"attention: shapes of query, key and value do not fit: {description(q)}, {description(k)}, {description(v)}")
    as_queries = (q.ndim == 4 and all(t.stride(-1) == 1 or t.shape[-1] == 1 for t in (q, k, v)) and 0 < q.stride(1) < q.stride(2)
                  and q.shape[-1] == v.shape[-1])
    out = _rows_together(q, q.shape[-2], v.shape[-1]) if as_queries else new((*q.shape[:-1], v.shape[-1]), code_of(q))
    return out, new((q[..., 0].numel(),), code_of(q))


def attention_backward(grad, q, k, v, mask, out, lse, causal, scale):
    return tuple(_rows_together(t, *t.shape[-2:]) if t.stride()[-3] < t.stride()[-2] else new(t.shape, code_of(t)) for t in (q, k, v))
