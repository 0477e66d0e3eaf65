"""The products that programs call most, recorded without an interpreted step: a @ b where b is a matrix or
the batches are equal, x @ w.T + bias, and addmm. Rules for the others are in rules/matmul.py."""
from fasttensor._core.dtype cimport BOOL, COMPLEX64, is_float_code
from fasttensor._core.tensor cimport Tensor, Node, CPU, BATCHED
from fasttensor._core.dispatch cimport grad_enabled, binary_slots, SLOT_MATMUL
from fasttensor._core.dispatch import backend
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history, set_saved, get_saved, shrink_to
from fasttensor.autograd.watching cimport routing
from fasttensor.cpu.dot cimport dot_plain
from fasttensor.cpu.matmul cimport (mm_plain, linear_any, product, column_sum, flat_rows, matrix_by_vector,
                                    TRANSPOSED, CONJUGATED)
from importlib import import_module

cdef object _general = None         # functional.matmul.matmul, for what the fast path does not cover


cdef Tensor forward_mm(Tensor a, Tensor b):
    if a.dev != CPU:
        return backend(a).mm(a, b) if a.rank == 2 else backend(a).bmm(a, b)
    if a.rank == 2:
        return mm_plain(a, b)
    return product(a, b, 0, 0, None, 0, 1, 0)


cdef object adjoint(Tensor t):
    """The conjugate transpose of the last two dimensions, differentiable."""
    cdef object turned = t.t() if t.rank == 2 else t.transpose(-2, -1)
    return turned if t.code < COMPLEX64 else turned.conj()


cdef object rows_of(Tensor t):
    cdef Py_ssize_t n = 1
    cdef int d
    for d in range(t.rank - 1):     # which -1 cannot tell of a tensor without elements
        n *= t.sizes[d]
    return t if t.rank == 2 else t.reshape(n, t.sizes[t.rank - 1])


cdef Tensor record_mm(Tensor a, Tensor b):
    cdef Tensor out = forward_mm(a, b)
    cdef Node node
    cdef bint need_a = requires(a), need_b = requires(b)
    if (need_a or need_b) and grad_enabled():
        label = "BmmBackward0" if b.rank > 2 else "MmBackward0" if a.rank == 2 else "UnsafeViewBackward0"
        node = new_node(mm_backward, label)
        add_input(node, a)
        add_input(node, b)
        set_saved(node, (a if need_b else None, b if need_a else None))
        node.par[0] = b.rank == 2 and a.rank > 2
        set_history(out, node, 0)
    return out


cdef object mm_backward(Node node, object grad):
    cdef object a, b
    a, b = get_saved(node)
    return product_gradients(<Tensor>grad, a, b, node.par[0] != 0)


cdef tuple product_gradients(Tensor g, object a, object b, bint rows):
    """Gradients g b^H and a^H g of a @ b; a is None where b's is not needed, b where a's is not. With `rows`,
    b is one matrix for all of a's batch, which counts as rows."""
    cdef object ga = None, gb = None
    if grad_enabled():
        if b is not None:
            ga = record_mm(g, adjoint(b))
        if a is not None:
            gb = record_mm(adjoint(rows_of(a)), rows_of(g)) if rows else record_mm(adjoint(a), g)
    elif g.dev == CPU:
        if b is not None:
            ga = product(g, <Tensor>b, 0, TRANSPOSED | CONJUGATED, None, 0, 1, 0)
        if a is not None:
            if rows:
                a, g = flat_rows(<Tensor>a), flat_rows(g)
            gb = product(<Tensor>a, g, TRANSPOSED | CONJUGATED, 0, None, 0, 1, 0)
    else:
        if b is not None:
            ga = backend(g).bmm(g, b, 0, TRANSPOSED | CONJUGATED)
        if a is not None:
            gb = backend(g).bmm(rows_of(a) if rows else a, rows_of(g) if rows else g, TRANSPOSED | CONJUGATED, 0)
    return ga, gb


cdef bint fits(object a, object b) except -1:
    """Whether a @ b is a product that record_mm takes."""
    cdef Tensor x, y
    cdef int dim
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return False
    x, y = a, b
    if (y.rank < 2 or x.rank < 2 or x.code != y.code or x.dev != y.dev or x.code == BOOL or x.dev == BATCHED
            or x.sizes[x.rank - 1] != y.sizes[y.rank - 2]):
        return False
    if y.rank == 2:
        return True
    if x.rank != y.rank:
        return False
    for dim in range(x.rank - 2):
        if x.sizes[dim] != y.sizes[dim]:
            return False
    return True


cdef object matmul_slot(object a, object b):
    global _general
    if not routing and fits(a, b):
        return record_mm(<Tensor>a, <Tensor>b)
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return NotImplemented
    if _general is None:
        _general = import_module("fasttensor.functional.matmul").matmul
    return _general(a, b)


def try_mm(a, b, int rank=0):
    """``a @ b`` where `b` is a matrix or has `a`'s batch, else None; `rank`: of both, 0 for any."""
    if not fits(a, b) or (rank and ((<Tensor>a).rank != rank or (<Tensor>b).rank != rank)):
        return None
    return record_mm(<Tensor>a, <Tensor>b)


def try_vector(a, x):
    """Matrix or vector `a` by vector `x`, else None."""
    cdef Tensor m, v, out
    cdef Node node
    if not (isinstance(a, Tensor) and isinstance(x, Tensor)):
        return None
    m, v = a, x
    if (v.rank != 1 or not 1 <= m.rank <= 2 or m.code != v.code or m.dev != v.dev or m.code == BOOL or m.dev == BATCHED
            or m.sizes[m.rank - 1] != v.sizes[0]):
        return None
    if m.dev == CPU:
        out = matrix_by_vector(m, v, 0) if m.rank == 2 else dot_plain(m, v, 0)
    else:
        out = backend(m).mv(m, v) if m.rank == 2 else backend(m).dot(m, v)
    if grad_enabled() and (requires(m) or requires(v)):
        node = new_node(vector_backward, "MvBackward0" if m.rank == 2 else "DotBackward0")
        add_input(node, m)
        add_input(node, v)
        set_saved(node, (m if requires(v) else None, v if requires(m) else None))
        set_history(out, node, 0)
    return out


def try_vdot(a, b):
    """The sum of conj(a) b of two vectors, else None."""
    cdef Tensor x, y, out
    cdef Node node
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return None
    x, y = a, b
    if (x.rank != 1 or y.rank != 1 or x.code != y.code or x.dev != y.dev or x.code == BOOL or x.dev == BATCHED
            or x.sizes[0] != y.sizes[0]):
        return None
    out = dot_plain(x, y, 1) if x.dev == CPU else backend(x).dot(x, y, True)
    if grad_enabled() and (requires(x) or requires(y)):
        node = new_node(vdot_backward, "VdotBackward0")
        add_input(node, x)
        add_input(node, y)
        set_saved(node, (x if requires(y) else None, y if requires(x) else None))
        set_history(out, node, 0)
    return out


cdef object vdot_backward(Node node, object grad):
    cdef object x, y
    x, y = get_saved(node)
    return None if y is None else conj_of(<Tensor>grad) * y, None if x is None else grad * x


cdef object conj_of(Tensor t):
    return t if t.code < COMPLEX64 else t.conj()


cdef object vector_backward(Node node, object grad):
    cdef object m, v, gm = None, gv = None
    cdef Tensor g = grad
    m, v = get_saved(node)
    if g.rank == 0:
        return None if v is None else grad * conj_of(<Tensor>v), None if m is None else grad * conj_of(<Tensor>m)
    if v is not None:
        gm = grad.unsqueeze(1) * conj_of(<Tensor>v)
    if m is not None:
        if g.dev == CPU and not grad_enabled():
            gv = matrix_by_vector(<Tensor>m, g, TRANSPOSED | CONJUGATED)
        else:
            gv = try_vector(adjoint(<Tensor>m), grad)
    return gm, gv


def try_addmm(c, a, b, beta, alpha):
    """``beta * c + alpha * (a @ b)`` for real floating-point operands of equal rank, else None."""
    cdef Tensor x, y, z, out
    cdef Node node
    cdef int dim, lead
    cdef Py_ssize_t n
    if not fits(a, b) or not isinstance(c, Tensor):
        return None
    if not isinstance(beta, (int, float)) or not isinstance(alpha, (int, float)) or not -60000 <= beta <= 60000 or not -60000 <= alpha <= 60000:
        return None         # large numbers are checked first
    x, y, z = a, b, c
    lead = x.rank - z.rank
    if x.rank != y.rank or lead < 0 or z.code != x.code or z.dev != x.dev or not is_float_code(x.code):
        return None
    for dim in range(z.rank):
        n = x.sizes[dim + lead] if dim + lead < x.rank - 1 else y.sizes[y.rank - 1]
        if z.sizes[dim] != 1 and z.sizes[dim] != n:
            return None
    out = product(x, y, 0, 0, z, beta, alpha, 0) if x.dev == CPU else backend(x).addmm(z, x, y, beta, alpha)
    if grad_enabled() and (requires(z) or requires(x) or requires(y)):
        node = new_node(addmm_backward, "AddmmBackward0" if x.rank == 2 else "BaddbmmBackward0")
        add_input(node, z)
        add_input(node, x)
        add_input(node, y)
        set_saved(node, (x if requires(y) else None, y if requires(x) else None))
        node.out_meta = tuple([z.sizes[dim] for dim in range(z.rank)])
        node.par[0], node.par[1] = beta, alpha
        set_history(out, node, 0)
    return out


cdef object addmm_backward(Node node, object grad):
    cdef object a, b, ga, gb, gc = None
    cdef Tensor g
    a, b = get_saved(node)
    if node.inputs[0] is not None:
        gc = shrink_to(grad if node.par[0] == 1 else grad * node.par[0], <tuple>node.out_meta)
    if a is None and b is None:
        return gc, None, None
    g = grad if node.par[1] == 1 else grad * node.par[1]
    ga, gb = product_gradients(g, a, b, False)
    return gc, ga, gb


cdef Tensor forward_linear(Tensor x, Tensor w, Tensor bias):
    if x.dev != CPU:
        return backend(x).linear(x, w, bias)
    return linear_any(x, w, bias, 0)


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


def set_batched_linear(function):
    """Provide the product for batched tensors: f(x, w, bias), None where it does not apply."""
    global batched_linear
    batched_linear = function


batched_linear = None


cpdef object try_linear(x, w, bias):
    """``x @ w.T + bias`` for x of two or more dimensions, w of (out, in) and bias of (out,) or None; None
    where the arguments are anything else."""
    cdef Tensor a, b, out, c = None
    cdef Node node
    cdef bint need_a, need_b, need_c = False
    if not (isinstance(x, Tensor) and isinstance(w, Tensor)) or not (bias is None or isinstance(bias, Tensor)):
        return None
    a, b = x, w
    if a.dev == BATCHED or b.dev == BATCHED or (bias is not None and (<Tensor>bias).dev == BATCHED):
        return batched_linear(x, w, bias)
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
