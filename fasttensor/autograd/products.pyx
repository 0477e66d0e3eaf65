"""The two products that programs call most, recorded without an interpreted step: a @ b where b is a
matrix, and x @ w.T + bias. Rules for the others are in rules/matmul.py."""
from fasttensor._core.dtype cimport BOOL, COMPLEX64, FLOAT16
from fasttensor._core.tensor cimport Tensor, Node, describe, CPU
from fasttensor._core.dispatch cimport grad_enabled, binary_slots, SLOT_MATMUL
from fasttensor._core.dispatch import backend
from fasttensor.autograd.graph cimport requires, new_node, add_input, set_history, set_saved, get_saved
from fasttensor.cpu.matmul cimport (mm_plain, linear_plain, product, column_sum, flat_rows, TRANSPOSED, CONJUGATED)
from importlib import import_module

cdef object _general = None         # functional.matmul.matmul, for what the fast path does not cover


cdef Tensor forward_mm(Tensor a, Tensor b):
    if a.dev != CPU:
        return backend(a).mm(a, b) if a.rank == 2 else backend(a).bmm(a, b)
    if a.rank == 2:
        return mm_plain(a, b)
    return product(a, b, 0, 0, None, 0, 1, 0)


cdef object adjoint(Tensor t):
    """The conjugate transpose as a differentiable view or operation."""
    return t.t() if t.code < COMPLEX64 else t.t().conj()


cdef object rows_of(Tensor t):
    return t if t.rank == 2 else t.reshape(-1, t.sizes[t.rank - 1])


cdef Tensor record_mm(Tensor a, Tensor b):
    cdef Tensor out = forward_mm(a, b)
    cdef Node node
    cdef bint need_a = requires(a), need_b = requires(b)
    if (need_a or need_b) and grad_enabled():
        node = new_node(mm_backward, "MmBackward0" if a.rank == 2 else "UnsafeViewBackward0")
        add_input(node, a)
        add_input(node, b)
        set_saved(node, (a if need_b else None, b if need_a else None))
        set_history(out, node, 0)
    return out


cdef object mm_backward(Node node, object grad):
    cdef object a, b, ga = None, gb = None
    cdef Tensor g = grad
    a, b = get_saved(node)
    if grad_enabled():
        if b is not None:
            ga = record_mm(g, adjoint(b))
        if a is not None:
            gb = record_mm(adjoint(rows_of(a)), rows_of(g))
    elif g.dev == CPU:
        if b is not None:
            ga = product(g, <Tensor>b, 0, TRANSPOSED | CONJUGATED, None, 0, 1, 0)
        if a is not None:
            gb = product(flat_rows(<Tensor>a), flat_rows(g), TRANSPOSED | CONJUGATED, 0, None, 0, 1, 0)
    else:
        if b is not None:
            ga = backend(g).bmm(g, b, 0, TRANSPOSED | CONJUGATED)
        if a is not None:
            gb = backend(g).mm(rows_of(a), rows_of(g), TRANSPOSED | CONJUGATED, 0)
    return ga, gb


cdef bint fits(object a, object b) except -1:
    """Whether a @ b is a product that record_mm takes."""
    cdef Tensor x, y
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return False
    x, y = a, b
    return (y.rank == 2 and x.rank >= 2 and x.code == y.code and x.dev == y.dev and x.code != BOOL
            and x.sizes[x.rank - 1] == y.sizes[0])


cdef object matmul_slot(object a, object b):
    global _general
    if fits(a, b):
        return record_mm(<Tensor>a, <Tensor>b)
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return NotImplemented
    if _general is None:
        _general = import_module("fasttensor.functional.matmul").matmul
    return _general(a, b)


def try_mm(a, b):
    """``a @ b`` where `b` is a matrix and `a` has two or more dimensions, else None."""
    return record_mm(<Tensor>a, <Tensor>b) if fits(a, b) else None


cdef Tensor forward_linear(Tensor x, Tensor w, Tensor bias):
    if x.dev != CPU:
        return backend(x).linear(x, w, bias)
    if x.code == 8 or x.code == 9:
        return linear_plain(x, w, bias, 0)
    return product(x, w, 0, TRANSPOSED, bias, 1, 1, 0)


cdef object linear_backward(Node node, object grad):
    cdef object x, w, gx = None, gw = None, gb = None
    cdef Tensor g = grad
    x, w = get_saved(node)
    cdef bint need_bias = len(node.inputs) > 2 and node.inputs[2] is not None
    if grad_enabled():
        if w is not None:
            gx = record_mm(g, w if (<Tensor>w).code < COMPLEX64 else w.conj())
        if x is not None:
            x = rows_of(x)
            gw = record_mm(rows_of(g).t(), x if (<Tensor>x).code < COMPLEX64 else x.conj())
        if need_bias:
            gb = rows_of(g).sum(0)
    elif g.dev == CPU:
        if w is not None:
            gx = product(g, <Tensor>w, 0, CONJUGATED, None, 0, 1, 0)
        if x is not None:
            gw = product(flat_rows(g), flat_rows(<Tensor>x), TRANSPOSED, CONJUGATED, None, 0, 1, 0)
        if need_bias:
            gb = column_sum(g)
    else:
        gx, gw, gb = backend(g).linear_backward(g, x, w, w is not None, x is not None, need_bias)
    return (gx, gw, gb) if len(node.inputs) > 2 else (gx, gw)


def try_linear(x, w, bias):
    """``x @ w.T + bias`` for x of two or more dimensions, w of (out, in) and bias of (out,) or None; None
    where the arguments are anything else."""
    cdef Tensor a, b, out, c = None
    cdef Node node
    cdef bint need_a, need_b, need_c = False
    if not (isinstance(x, Tensor) and isinstance(w, Tensor)) or not (bias is None or isinstance(bias, Tensor)):
        return None
    a, b = x, w
    if (a.rank < 2 or b.rank != 2 or a.code != b.code or a.dev != b.dev or a.code == BOOL
            or a.sizes[a.rank - 1] != b.sizes[1]):
        return None
    if bias is not None:
        c = bias
        if c.rank != 1 or c.sizes[0] != b.sizes[0] or c.code != a.code or c.dev != a.dev:
            return None
        need_c = requires(c)
    out = forward_linear(a, b, c)
    need_a, need_b = requires(a), requires(b)
    if (need_a or need_b or need_c) and grad_enabled():
        node = new_node(linear_backward, "AddmmBackward0" if c is not None else "MmBackward0")
        add_input(node, a)
        add_input(node, b)
        if c is not None:
            add_input(node, c)
        set_saved(node, (a if need_b else None, b if need_a else None))
        set_history(out, node, 0)
    return out


binary_slots()[SLOT_MATMUL] = matmul_slot
