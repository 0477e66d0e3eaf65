"""Matrix products on tensors of any strides.

    mm(a, b, ta, tb)                 a @ b, 2-d;  ta, tb: 1 transposed, 2 conjugated, 3 both
    bmm(a, b, ta, tb)                the same for batches, which broadcast without copies
    addmm(c, a, b, beta, alpha)      beta * c + alpha * (a @ b), 2-d or batched; c broadcasts
    mv(a, x, ta)                     matrix by vector
    linear(x, w, bias, activation)   activation(x @ w.T + bias) in one pass

Operands have one dtype and sizes that fit; the callers in functional/ check them. Half types are summed in
float32, integers wrap in their own type, complex products are made of four real ones on the same memory.
"""
from libc.string cimport memset
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport Tensor, new_tensor, new_view, set_geometry, cast, contiguous, describe, CPU
from fasttensor._core.element cimport write_element
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.blas cimport complex_gemm
from fasttensor.cpu.gemm.blocks cimport *

cdef enum:
    MAX_RANK = 64
    BLAS_PAYS = 1 << 15      # complex multiply-adds from which OpenBLAS is the faster
    FEW = 64                 # rows of an item, below which a batch is copied to be multiplied at once
    SMALL = 1 << 15          # multiply-adds below which the GIL is kept

ACTIVATIONS = {None: ACT_NONE, "relu": ACT_RELU, "gelu": ACT_GELU, "gelu_tanh": ACT_GELU_TANH, "silu": ACT_SILU,
               "tanh": ACT_TANH, "sigmoid": ACT_SIGMOID}

ctypedef fused complexes:
    float complex
    double complex


# The last two dimensions of a tensor, swapped where it is read transposed.
cdef struct Matrix:
    const char *ptr
    Py_ssize_t rows, cols, rs, cs


cdef Matrix matrix_of(Tensor t, int how) noexcept:
    cdef Matrix m
    cdef int r = t.rank
    m.ptr = t.ptr
    m.rows, m.cols, m.rs, m.cs = t.sizes[r - 2], t.sizes[r - 1], t.steps[r - 2], t.steps[r - 1]
    if how & TRANSPOSED:
        m.rows, m.cols, m.rs, m.cs = m.cols, m.rows, m.cs, m.rs
    # The stride of a dimension of one element is free: choose what the kernels like.
    if m.cols == 1 and m.rs != 1:
        m.cs = 1
    if m.rows == 1 and m.cs != 1:
        m.rs = 1
    return m


cdef inline int multiply_released(Product *g) except -1:
    cdef int failed
    if <double>g.m * g.n * g.k * g.batch <= SMALL:
        failed = multiply(g)
    else:
        with nogil:
            failed = multiply(g)
    if failed:
        raise no_room(f"matrix product: no memory for packing {g.batch} products of {g.m} by {g.k} and {g.k} by {g.n}")
    return 0


cdef bint by_blas(Product *g, bint conj_a, bint conj_b) except -1:
    cdef Py_ssize_t item, rest, place, oa, ob, oc, size = ITEMSIZE[g.code]
    cdef int dim
    for item in range(g.batch):
        rest, oa, ob, oc = item, 0, 0, 0
        for dim in range(g.batch_rank - 1, -1, -1):
            place = rest % g.batch_sizes[dim]
            rest //= g.batch_sizes[dim]
            oa += place * g.batch_a[dim]
            ob += place * g.batch_b[dim]
            oc += place * g.batch_c[dim]
        if not complex_gemm(g.code, g.m, g.n, g.k, g.a + oa * size, g.ars, g.acs, conj_a, g.b + ob * size, g.brs,
                            g.bcs, conj_b,
                            g.c + oc * size, g.crs):
            return False
    return True


cdef int multiply_complex(Product *g, int conj_a, int conj_b) except -1:
    """BLAS, or four real products on the parts; alpha and beta of `g` are not read, D must be NULL."""
    cdef Product r, whole = g[0]
    cdef int size = 4 if g.code == COMPLEX64 else 8, part, dim
    cdef double sa = -1 if conj_a else 1, sb = -1 if conj_b else 1
    cdef Py_ssize_t steps[3][MAX_RANK]
    if g.m * <double>g.n * g.k >= BLAS_PAYS and by_blas(g, conj_a, conj_b):
        return 0
    whole.code = FLOAT32 if g.code == COMPLEX64 else FLOAT64
    whole.ars, whole.acs, whole.brs, whole.bcs = 2 * g.ars, 2 * g.acs, 2 * g.brs, 2 * g.bcs
    whole.crs, whole.ccs = 2 * g.crs, 2 * g.ccs
    for dim in range(g.batch_rank):
        steps[0][dim], steps[1][dim], steps[2][dim] = 2 * g.batch_a[dim], 2 * g.batch_b[dim], 2 * g.batch_c[dim]
    whole.batch_a, whole.batch_b, whole.batch_c = steps[0], steps[1], steps[2]
    whole.batch_d = whole.batch_c
    for part in range(4):
        r = whole            # multiply() may transpose its product
        # part 0: re re, 1: im im -> re; 2: re im, 3: im re -> im
        r.a = g.a + (size if part & 1 else 0)
        r.b = g.b + (size if part == 1 or part == 2 else 0)
        r.c = g.c + (size if part & 2 else 0)
        r.d = r.c if part & 1 else NULL
        r.drs, r.dcs = r.crs, r.ccs
        set_scalars(&r, 1 if part == 0 else -sa * sb if part == 1 else sb if part == 2 else sa, 1)
        multiply_released(&r)
    return 0


cdef void fill_zero(Tensor t) noexcept nogil:
    memset(t.ptr, 0, t.count * ITEMSIZE[t.code])


cdef bint combine(complexes *out, const complexes *d, Tensor like, Py_ssize_t *steps, complexes beta,
                  complexes alpha) noexcept:
    """out = alpha * out + beta * d for contiguous `out` and d of any strides over the shape of `like`."""
    cdef Py_ssize_t i, rest, place
    cdef int dim
    for i in range(like.count):
        out[i] = alpha * out[i]
        if d != NULL:
            rest, place = i, 0
            for dim in range(like.rank - 1, -1, -1):
                place += rest % like.sizes[dim] * steps[dim]
                rest //= like.sizes[dim]
            out[i] = out[i] + beta * d[place]
    return True


cdef bint broadcast_steps(Tensor d, Tensor out, Py_ssize_t *steps) except False:
    """Steps of `d` over the shape of `out`: 0 where it is expanded."""
    cdef int dim, lead = out.rank - d.rank
    for dim in range(out.rank):
        if dim < lead or (d.sizes[dim - lead] == 1 and out.sizes[dim] != 1):
            steps[dim] = 0
        elif d.sizes[dim - lead] == out.sizes[dim]:
            steps[dim] = d.steps[dim - lead]
        else:
            raise RuntimeError(f"addmm: the addend {describe(d)} does not broadcast to {describe(out)};"
                               " its sizes must be 1 or equal to the product's")
    return True


cdef set_number(ft_num *x, int code, object value):
    x.u = 0
    if code == FLOAT64:
        x.d = value
    elif code >= FLOAT16:
        x.f = value
    else:
        x.u = <unsigned long long>(int(value) & 0xFFFFFFFFFFFFFFFF)


cdef Tensor product(Tensor a, Tensor b, int ta, int tb, Tensor d, object beta, object alpha, int activation):
    """activation(alpha * op(a) op(b) + beta * d), batched over the leading dimensions, which broadcast."""
    cdef Product g
    cdef Matrix x = matrix_of(a, ta), y = matrix_of(b, tb)
    cdef int code = a.code, rank = a.rank if a.rank > b.rank else b.rank, lead = rank - 2, dim, da, db
    cdef int computed = FLOAT32 if code == FLOAT16 or code == BFLOAT16 else code
    cdef Py_ssize_t sizes[MAX_RANK]
    cdef Py_ssize_t steps[4][MAX_RANK]
    cdef Tensor out, flat, addend = None
    cdef char *other = NULL
    if rank > MAX_RANK or a.rank < 2 or b.rank < 2 or x.cols != y.rows or a.code != b.code:
        raise RuntimeError(f"matrix product: {describe(a)} and {describe(b)} do not fit"
                           f" (transposed: {ta & 1}, {tb & 1})")
    for dim in range(lead):
        da, db = dim - (rank - a.rank), dim - (rank - b.rank)
        sizes[dim] = a.sizes[da] if da >= 0 else 1
        if db >= 0 and b.sizes[db] != 1:
            if sizes[dim] != 1 and sizes[dim] != b.sizes[db]:
                raise RuntimeError(f"matrix product: the batches of {describe(a)} and {describe(b)} do not broadcast")
            sizes[dim] = b.sizes[db]
        steps[0][dim] = 0 if da < 0 or a.sizes[da] == 1 else a.steps[da]
        steps[1][dim] = 0 if db < 0 or b.sizes[db] == 1 else b.steps[db]
    sizes[lead], sizes[lead + 1] = x.rows, y.cols
    out = new_tensor(rank, sizes, computed, CPU)
    if out.count == 0:
        return cast(out, code)
    if code == BOOL:
        raise NotImplementedError(f"\"addmm_impl_cpu_\" not implemented for 'Bool': cast {describe(a)} and"
                                  f" {describe(b)} to an integer or floating point dtype")
    start_product(&g, code, x.rows, y.cols, x.cols)
    g.a, g.ars, g.acs = x.ptr, x.rs, x.cs
    g.b, g.brs, g.bcs = y.ptr, y.rs, y.cs
    g.c = out.ptr
    g.activation = activation
    g.batch_rank, g.batch_sizes = lead, sizes
    for dim in range(lead):
        g.batch *= sizes[dim]
        steps[2][dim] = out.steps[dim]
    g.batch_a, g.batch_b, g.batch_c = steps[0], steps[1], steps[2]
    if d is not None and beta != 0:
        addend = cast(d, computed)
        broadcast_steps(addend, out, steps[3])
    if code >= COMPLEX64:
        multiply_complex(&g, ta & CONJUGATED, tb & CONJUGATED)
        if addend is not None or alpha != 1:
            if addend is not None:
                other = addend.ptr
            if code == COMPLEX64:
                combine[floatcomplex](<float complex *>out.ptr, <float complex *>other, out, steps[3], beta, alpha)
            else:
                combine[doublecomplex](<double complex *>out.ptr, <double complex *>other, out, steps[3], beta, alpha)
        return out
    if alpha != 1:
        set_number(&g.alpha, code, alpha)
    if addend is not None:
        set_number(&g.beta, code, beta)
        g.d, g.batch_d, g.drs, g.dcs = addend.ptr, steps[3], steps[3][lead], steps[3][lead + 1]
    # One weight for a whole batch: the batch becomes rows of a single product, if need be those of a copy.
    if lead and g.batch > 1 and addend is None and fold_batch(&g, sizes, lead, False):
        if not ta and g.m < FEW and rank == a.rank and fold_batch(&g, sizes, lead, True) == 0:
            flat = contiguous(a)
            g.a, g.ars, g.acs = flat.ptr, x.cols, 1
    multiply_released(&g)
    return cast(out, code) if computed != code else out


cdef int fold_batch(Product *g, const Py_ssize_t *sizes, int lead, bint copied) noexcept:
    """The batch as rows of one product, 1 where B differs by item or the rows do not follow each other. `copied`: they
    will, in a copy. Returns 0 where it was done."""
    cdef int dim
    cdef Py_ssize_t step = g.ars * g.m
    for dim in range(lead - 1, -1, -1):
        if sizes[dim] == 1:
            continue
        if g.batch_b[dim] != 0 or (g.batch_a[dim] != step and not copied):
            return 1
        step *= sizes[dim]
    g.m *= g.batch
    g.batch, g.batch_rank = 1, 0
    return 0


cdef Tensor mm_plain(Tensor a, Tensor b):
    cdef Product g
    cdef Py_ssize_t sizes[2]
    cdef Tensor out
    cdef Matrix x, y
    if a.code != FLOAT32 and a.code != FLOAT64:
        return product(a, b, 0, 0, None, 0, 1, ACT_NONE)
    sizes[0], sizes[1] = a.sizes[0], b.sizes[1]
    out = new_tensor(2, sizes, a.code, CPU)
    x, y = matrix_of(a, 0), matrix_of(b, 0)
    start_product(&g, a.code, x.rows, y.cols, x.cols)
    g.a, g.ars, g.acs = x.ptr, x.rs, x.cs
    g.b, g.brs, g.bcs = y.ptr, y.rs, y.cs
    g.c = out.ptr
    multiply_released(&g)
    return out


def mm(Tensor a not None, Tensor b not None, int ta=0, int tb=0):
    """Matrix product of 2-d tensors."""
    return product(a, b, ta, tb, None, 0, 1, ACT_NONE)


def bmm(Tensor a not None, Tensor b not None, int ta=0, int tb=0):
    """Batched matrix product: the dimensions before the last two broadcast."""
    return product(a, b, ta, tb, None, 0, 1, ACT_NONE)


def addmm(Tensor c not None, Tensor a not None, Tensor b not None, object beta=1, object alpha=1):
    """``beta * c + alpha * (a @ b)``; c is not read where beta is 0."""
    return product(a, b, 0, 0, c, beta, alpha, ACT_NONE)


baddbmm = addmm


cdef Tensor column_sum(Tensor g):
    # A row of ones times g; the row is one element with stride 0.
    cdef Py_ssize_t sizes[2]
    cdef Py_ssize_t steps[2]
    cdef Tensor one, flat = flat_rows(g)
    sizes[0] = sizes[1] = 1
    steps[0] = steps[1] = 0
    one = new_tensor(2, sizes, g.code, CPU)
    write_element(one.ptr, g.code, 1)
    sizes[1] = flat.sizes[0]
    one = new_view(one, 2, sizes, steps, 0)
    cdef Tensor out = product(one, flat, 0, 0, None, 0, 1, ACT_NONE)
    return reshaped(out, 1, out.sizes + 1)


cdef Tensor flat_rows(Tensor x):
    """All but the last dimension as one; a view where x is contiguous."""
    cdef Py_ssize_t sizes[2]
    cdef Py_ssize_t steps[2]
    cdef int dim
    if x.rank == 2:
        return x
    x = contiguous(x)
    sizes[1] = steps[0] = x.sizes[x.rank - 1] if x.rank else 1
    sizes[0] = steps[1] = 1
    for dim in range(x.rank - 1):
        sizes[0] *= x.sizes[dim]
    return new_view(x, 2, sizes, steps, x.offset)


def linear_backward(Tensor g not None, Tensor x not None, Tensor w, bint need_x, bint need_w, bint need_bias):
    """Gradients of `linear` for input, weight (of x's dtype, in (out, in) layout) and bias, None where not needed."""
    return (product(g, w, 0, CONJUGATED, None, 0, 1, ACT_NONE) if need_x else None,
            product(flat_rows(g), flat_rows(x), TRANSPOSED, CONJUGATED, None, 0, 1, ACT_NONE) if need_w else None,
            column_sum(g) if need_bias else None)


cdef Tensor as_matrix(Tensor x, bint column):
    """A vector as a matrix of one column or one row, on the same memory."""
    cdef Py_ssize_t sizes[2]
    cdef Py_ssize_t steps[2]
    sizes[0] = sizes[1] = steps[0] = steps[1] = 1
    sizes[0 if column else 1], steps[0 if column else 1] = x.count, x.steps[0]
    return new_view(x, 2, sizes, steps, x.offset)


cdef Tensor matrix_by_vector(Tensor a, Tensor x, int ta):
    cdef Tensor out = product(a, as_matrix(x, True), ta, 0, None, 0, 1, ACT_NONE)
    cdef Py_ssize_t n = out.count
    return reshaped(out, 1, &n)


def mv(Tensor a not None, Tensor x not None, int ta=0):
    """Matrix by vector."""
    return matrix_by_vector(a, x, ta)


cdef Tensor reshaped(Tensor x, int rank, const Py_ssize_t *sizes):
    """A contiguous result under another shape."""
    cdef Py_ssize_t steps[MAX_RANK]
    cdef Py_ssize_t step = 1
    cdef int dim
    steps[0] = 1
    for dim in range(rank - 1, -1, -1):
        steps[dim] = step
        step *= sizes[dim] if sizes[dim] > 1 else 1
    set_geometry(x, rank, sizes, steps)
    return x


cdef Tensor linear_plain(Tensor x, Tensor w, Tensor bias, int activation):
    cdef Product g
    cdef Py_ssize_t sizes[MAX_RANK]
    cdef Py_ssize_t rows = 1, step
    cdef int dim, rank = x.rank, code = x.code
    cdef Tensor out, t = x
    for dim in range(rank - 1):
        sizes[dim] = x.sizes[dim]
        rows *= x.sizes[dim]
    sizes[rank - 1] = w.sizes[0]
    out = new_tensor(rank, sizes, code, CPU)
    if out.count == 0:
        return out
    # Rows of x at one distance from each other are read in place.
    step = x.steps[rank - 2] if rank > 1 else 1
    if rank > 2:
        for dim in range(rank - 3, -1, -1):
            if x.sizes[dim] != 1 and x.steps[dim] != x.steps[dim + 1] * x.sizes[dim + 1]:
                t = contiguous(x)
                step = t.sizes[rank - 1]
                break
    start_product(&g, code, rows, w.sizes[0], w.sizes[1])
    g.a, g.ars, g.acs = t.ptr, step, t.steps[rank - 1] if t.sizes[rank - 1] != 1 else 1
    g.b, g.brs, g.bcs = w.ptr, w.steps[1] if w.sizes[1] != 1 else 1, w.steps[0]
    g.c, g.activation = out.ptr, activation
    if bias is not None:
        g.d, g.drs, g.dcs = bias.ptr, 0, bias.steps[0]
    multiply_released(&g)
    return out


cdef Tensor linear_any(Tensor x, Tensor w, Tensor bias, int activation):
    cdef Tensor flat, out
    cdef Py_ssize_t sizes[MAX_RANK]
    cdef int dim
    if (x.code == FLOAT32 or x.code == FLOAT64) and x.rank > 0 and w.rank == 2:
        return linear_plain(x, w, bias, activation)
    flat = as_matrix(x, False) if x.rank < 2 else flat_rows(x)
    out = product(flat, w, 0, TRANSPOSED, bias, 1, 1, activation)
    if x.rank != 2:
        for dim in range(x.rank - 1):
            sizes[dim] = x.sizes[dim]
        dim = x.rank - 1 if x.rank else 0
        sizes[dim] = w.sizes[0]
        return reshaped(out, dim + 1, sizes)
    return out


def linear(Tensor x not None, Tensor w not None, Tensor bias=None, activation=None):
    """``activation(x @ w.T + bias)`` with x of any rank, w of (out, in), bias of (out,) or None."""
    return linear_any(x, w, bias, ACTIVATIONS[activation])
