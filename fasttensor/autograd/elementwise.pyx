"""Every elementwise operation's way from Python to the loops.

One driver serves all rows of the table. Operands of one dtype and shape that are contiguous go
straight to the loop; everything else is promoted, broadcast and handed to the iterator.
"""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.iterator cimport broadcast_sizes
from fasttensor._core.dispatch cimport grad_enabled, binary_slots, unary_slots, copy_into, binary_slot, unary_slot
from fasttensor._core.dispatch cimport SLOT_ADD, SLOT_SUB, SLOT_MUL, SLOT_TRUEDIV, SLOT_FLOORDIV, SLOT_MOD, SLOT_POW, \
    SLOT_AND, SLOT_OR, SLOT_XOR, SLOT_LSHIFT, SLOT_RSHIFT, SLOT_LT, SLOT_LE, SLOT_EQ, SLOT_NE, SLOT_GT, SLOT_GE, \
    SLOT_IADD, SLOT_ISUB, SLOT_IMUL, SLOT_ITRUEDIV, SLOT_IFLOORDIV, SLOT_IMOD, SLOT_IPOW, SLOT_IAND, SLOT_IOR, SLOT_IXOR, \
    SLOT_ILSHIFT, SLOT_IRSHIFT, SLOT_NEG, SLOT_ABS, SLOT_INVERT, SLOT_POS
from fasttensor._core.element cimport scalar_code, write_element, read_element
from fasttensor._core.dispatch import backend
from fasttensor.cpu.elementwise cimport table, ft_op, ft_loop, run_flat, run_strided, FT_NOPS
from fasttensor.cpu.copy cimport overlaps, internal_overlap
from fasttensor.autograd.graph cimport *

cdef extern from "elementwise.h":
    enum:
        FT_ADD, FT_SUB, FT_MUL, FT__DIV, FT_FLOOR_DIVIDE, FT_REMAINDER, FT_POW
        FT_BITWISE_AND, FT_BITWISE_OR, FT_BITWISE_XOR, FT_BITWISE_NOT, FT_BITWISE_LEFT_SHIFT, FT_BITWISE_RIGHT_SHIFT
        FT_LOGICAL_NOT, FT_LT, FT_LE, FT_EQ, FT_NE, FT_GT, FT_GE, FT_NEG, FT_ABS

class Names(dict):
    """Functions over Tensors by the names that derivative expressions use: the table's own, and what
    the functional layer provides."""

    def __missing__(self, name):
        from fasttensor.autograd.generated_functions import FUNCTIONS
        function = FUNCTIONS.get(name) or FUNCTIONS.get("_" + name)
        if function is None:
            raise RuntimeError(f"derivative expressions know no function {name!r}")
        self[name] = function
        return function


cdef const ft_op *rows = table()
cdef list LABELS = []               # PyTorch's node names by row
NAMESPACE = Names()                 # functions over Tensors for double backward
cdef double ONE[4]
ONE[:] = [1.0, 1.0, 1.0, 1.0]


cdef int _row
for _row in range(FT_NOPS):
    LABELS.append(rows[_row].label.decode())


def provide(functions):
    """The functions over Tensors that derivative expressions call by name."""
    NAMESPACE.update(functions)


cdef str name_of(int op):
    return rows[op].name.decode().strip("_")


# --- result types ---
cdef inline int combine(int high, int low) noexcept nogil:
    """What a lower-priority operand (0-d tensor, number) makes of the result type so far."""
    if high < 0:
        return low
    if low < 0 or category(high) > category(low):
        return high
    if category(high) == category(low):
        return high
    if category(low) == 3:
        return complex_code(high) if category(high) == 2 else low
    return low


cdef int result_code(object a, object b, object c, int mask) except -1:
    """PyTorch's result type: tensors with dimensions, then 0-d tensors, then Python numbers."""
    cdef int dims = -1, zero = -1, number = -1, code, k = 0
    cdef Tensor t
    for x in (a, b, c):
        k += 1
        if x is None or (mask >> (k - 1)) & 1:
            continue
        if isinstance(x, Tensor):
            t = x
            if t.rank:
                dims = t.code if dims < 0 else promote(dims, t.code)
            else:
                zero = t.code if zero < 0 else promote(zero, t.code)
        else:
            code = scalar_code(x)
            number = code if number < 0 else promote(number, code)
    return combine(combine(dims, zero), number)


cdef inline int computing_code(int op, int code) noexcept nogil:
    return default_float() if rows[op].promote == 1 and code <= INT64 else code


cdef object unsupported(int op, int code):
    raise RuntimeError(f'"{name_of(op)}" not implemented for {dtype_of(code).name!r}: convert an operand, for example with .float()')


cdef object bad_operand(int op, object x, int position):
    raise TypeError(f"{name_of(op)}(): argument {position} must be Tensor or Number, not {type(x).__name__}")


# --- the unary path ---
cdef object call1(int op, object x, const double *par, object out):
    cdef Tensor t, y
    cdef const ft_op *row = &rows[op]
    cdef int code, result
    cdef ft_loop loop
    cdef char *p[2]
    cdef Py_ssize_t s[2]
    if not isinstance(x, Tensor):
        bad_operand(op, x, 1)
    t = <Tensor>x
    code = t.code
    if code <= INT64 and row.promote == 1:
        code = default_float()
        t = cast(t, code)
    loop = row.loop[code]
    if loop == NULL:
        unsupported(op, code)
    result = row.out[code]
    if out is not None:
        return finish_out(op, out, call1(op, x, par, None))
    if t.contig and t.dev == CPU:
        y = new_tensor(t.rank, t.sizes, result, CPU)
        p[0], p[1] = y.ptr, t.ptr
        s[0], s[1] = ITEMSIZE[result], ITEMSIZE[code]
        run_flat(loop, 2, p, s, t.count, par)
    elif t.dev == CPU:
        y = empty_as(t, result)
        run_strided(loop, y, t, NULL, None, NULL, None, NULL, None, 1, par)
    else:
        y = backend(t).elementwise(op, -1, code, (t,), par_tuple(row, par))
    if row.saves[0] != 255 and requires(t) and grad_enabled():
        record(op, code, y, t, None, None, NULL, NULL, NULL, par)
    return y


cdef Tensor empty_as(Tensor x, int code):
    """Like x in shape and, where x is dense, in strides."""
    cdef Tensor y = new_tensor(x.rank, x.sizes, code, x.dev)
    cdef int d
    if not x.contig and is_dense(x):
        for d in range(x.rank):
            y.steps[d] = x.steps[d]
        y.contig = False
    return y


cdef tuple par_tuple(const ft_op *row, const double *par):
    cdef int i
    return tuple([par[i] for i in range(row.nparam)]) if par != NULL else ()


cdef object finish_out(int op, object out, Tensor value):
    if not isinstance(out, Tensor):
        raise TypeError(f"{name_of(op)}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if grad_enabled() and (requires(value) or requires(<Tensor>out)):
        raise RuntimeError(f"{name_of(op)}(): functions with out=... arguments don't support automatic differentiation,"
                           " but one of the arguments requires grad.")
    return write_out(<Tensor>out, value)


cdef Tensor write_out(Tensor out, Tensor value):
    """Copy a result into out=, which takes the result's shape."""
    if category(value.code) > category(out.code):
        raise RuntimeError(f"result type {dtype_of(value.code).name} can't be cast to the desired output type {dtype_of(out.code).name}")
    if out.dev != value.dev:
        raise RuntimeError(f"out= is {describe(out)} on another device than the result {describe(value)}")
    if not same_shape(out, value):
        out.resize_(*[value.sizes[d] for d in range(value.rank)])
    copy_into(out, value)
    wrote(out)
    return out


# --- the binary path ---
cdef object call2(int op, object a, object b, const double *par, object out):
    cdef Tensor x, z, y
    cdef const ft_op *row = &rows[op]
    cdef int code, result
    cdef ft_loop loop
    cdef char *p[3]
    cdef Py_ssize_t s[3]
    cdef char buffer[16]
    if out is not None:
        return finish_out(op, out, call2(op, a, b, par, None))
    if isinstance(a, Tensor):
        x = <Tensor>a
        code = x.code
        if isinstance(b, Tensor):
            z = <Tensor>b
            if z.code == code and x.contig and z.contig and x.dev == CPU and z.dev == CPU and not row.mask and same_shape(x, z):
                code = computing_code(op, code)
                if code == x.code and not (row.zero_check and code <= INT64):
                    loop = row.loop[code]
                    if loop == NULL:
                        unsupported(op, code)
                    result = row.out[code]
                    y = new_tensor(x.rank, x.sizes, result, CPU)
                    p[0], p[1], p[2] = y.ptr, x.ptr, z.ptr
                    s[0], s[1], s[2] = ITEMSIZE[result], ITEMSIZE[code], ITEMSIZE[code]
                    run_flat(loop, 3, p, s, x.count, par)
                    if (x.needs_grad or z.needs_grad or x.base is not None or z.base is not None) and grad_enabled():
                        record(op, code, y, x, z, None, NULL, NULL, NULL, par)
                    return y
        elif x.contig and x.dev == CPU and is_float_code(code) and isinstance(b, (float, int)) and not row.mask:
            loop = row.loop[code]
            if loop != NULL:
                result = row.out[code]
                write_element(buffer, code, b)
                y = new_tensor(x.rank, x.sizes, result, CPU)
                p[0], p[1], p[2] = y.ptr, x.ptr, buffer
                s[0], s[1], s[2] = ITEMSIZE[result], ITEMSIZE[code], 0
                run_flat(loop, 3, p, s, x.count, par)
                if row.saves[0] != 255 and requires(x) and grad_enabled():
                    record(op, code, y, x, None, None, NULL, buffer, NULL, par)
                return y
    return general(op, a, b, None, 2, par)


cdef object call3(int op, object a, object b, object c, const double *par, object out):
    if out is not None:
        return finish_out(op, out, general(op, a, b, c, 3, par))
    return general(op, a, b, c, 3, par)


cdef struct Scalars:
    char value[3][16]


cdef object operand(int op, object x, int position, int code, void *buffer, bint mask):
    """A Tensor of the computing dtype, or None with the number in `buffer`."""
    if isinstance(x, Tensor):
        if mask:
            code = BOOL
        return <Tensor>x if (<Tensor>x).code == code else differentiable_cast(<Tensor>x, code)
    if scalar_code(x) < 0:
        bad_operand(op, x, position)
    write_element(<char *>buffer, BOOL if mask else code, x)
    return None


cdef Tensor scalar_tensor(int op, object value, int code):
    cdef Tensor t = new_tensor(0, NULL, code, CPU)
    write_element(t.ptr, code, value)
    return t


cdef bint check_zero(int op, object b) except False:
    """Integer division by zero ends the process in C: refuse it first."""
    cdef bint zero
    if isinstance(b, Tensor):
        zero = (<Tensor>b).count > 0 and bool((b == 0).any())
    else:
        zero = b == 0
    if zero:
        raise RuntimeError(f"ZeroDivisionError: {name_of(op)} of integers by zero ({describe(b)})")
    return True


cdef object general(int op, object a, object b, object c, int nin, const double *par):
    """Any dtypes, shapes, strides and numbers among the operands."""
    cdef const ft_op *row = &rows[op]
    cdef Scalars numbers
    cdef Tensor x, z, w, y, first = None
    cdef Py_ssize_t sizes[64]
    cdef int code, rank, k = 0, dev = CPU
    for v in (a, b, c)[:nin]:
        k += 1
        if isinstance(v, Tensor):
            if first is None or (<Tensor>v).rank > first.rank:
                first = <Tensor>v
        elif scalar_code(v) < 0:
            bad_operand(op, v, k)
    if first is None:
        a = scalar_tensor(op, a, scalar_code(a))
        first = a
    check_devices(op, a, b, c)
    code = computing_code(op, result_code(a, b, c, row.mask))
    if row.loop[code] == NULL:
        unsupported(op, code)
    if row.zero_check and code <= INT64:
        check_zero(op, b)
    x = operand(op, a, 1, code, numbers.value[0], row.mask & 1)
    z = operand(op, b, 2, code, numbers.value[1], row.mask & 2) if nin > 1 else None
    w = operand(op, c, 3, code, numbers.value[2], row.mask & 4) if nin > 2 else None
    # the operand whose layout the result takes: the first that has the result's shape
    if x is not None:
        rank = broadcast_sizes(name_of(op), x, z, w, sizes)
    elif z is not None:
        rank = broadcast_sizes(name_of(op), z, w, None, sizes)
    else:
        rank = broadcast_sizes(name_of(op), w, None, None, sizes)
    if first.dev == CUDA:
        y = backend(first).elementwise(op, -1, code, (x if x is not None else a, z if z is not None else b, w if w is not None else c)[:nin], par_tuple(row, par))
    else:
        y = new_tensor(rank, sizes, row.out[code], first.dev)
        for v in (x, z, w):
            if v is not None and same_shape(<Tensor>v, y):
                if not (<Tensor>v).contig and is_dense(<Tensor>v):
                    y = empty_as(<Tensor>v, row.out[code])
                break
        run_strided(row.loop[code], y, x, numbers.value[0], z, numbers.value[1], w, numbers.value[2], None, nin, par)
    if grad_enabled() and ((x is not None and requires(x)) or (z is not None and requires(z)) or (w is not None and requires(w))):
        record(op, code, y, x, z, w, numbers.value[0], numbers.value[1], numbers.value[2], par)
    return y


cdef bint check_devices(int op, object a, object b, object c) except False:
    """All tensors on one device, but for 0-d CPU tensors, which act as numbers."""
    cdef int dev = -1
    cdef Tensor t
    for v in (a, b, c):
        if isinstance(v, Tensor):
            t = v
            if t.rank == 0 and t.dev == CPU:
                continue
            if dev >= 0 and t.dev != dev:
                raise RuntimeError(f"{name_of(op)}: Expected all tensors to be on the same device, but found at least two devices:"
                                   f" {', '.join(describe(u) + ' on ' + str(u.device) for u in (a, b, c) if isinstance(u, Tensor))}")
            dev = t.dev
    return True


# --- recording and going back ---
cdef bint record(int op, int code, Tensor y, Tensor x, Tensor z, Tensor w, void *sx, void *sz, void *sw, const double *par) except False:
    """Give y its node. Operands that were numbers are None, with their value at sx, sz, sw."""
    cdef const ft_op *row = &rows[op]
    cdef int need = 0, i
    cdef Node node = None
    cdef bint any_required = False
    cdef bint broadcast = False
    if not (is_float_code(y.code) or is_complex_code(y.code)):
        return True
    node = new_node(elementwise_backward, <str>LABELS[op])
    node.op = op
    for i in range(row.nin):
        v = x if i == 0 else z if i == 1 else w
        if v is None or row.saves[i] == 255:
            node.inputs.append(None)
            if node.nrs is not None:
                node.nrs.append(0)
            continue
        add_input(node, <Tensor>v)
        if node.inputs[i] is not None:
            need |= row.saves[i]
            any_required = True
            if (<Tensor>v).rank != y.rank or not same_shape(<Tensor>v, y):
                broadcast = True
    if not any_required:
        return True
    if par != NULL:
        for i in range(row.nparam):
            node.par[i] = par[i]
    if broadcast:
        node.out_meta = tuple([None if v is None else (<Tensor>v).shape for v in (x, z, w)])
    set_history(y, node, 0)
    if need:
        set_saved(node, (
            kept(x, sx, code, row.mask & 1) if need & 1 else None,
            (kept(z, sz, code, row.mask & 2) if need & 2 else None) if row.nin > 1 else None,
            (kept(w, sw, code, row.mask & 4) if need & 4 else None) if row.nin > 2 else None,
            y if need & 8 else None))
    return True


cdef Tensor kept(Tensor x, void *value, int code, bint mask):
    cdef Tensor t
    if x is not None:
        return x
    t = new_tensor(0, NULL, BOOL if mask else code, CPU)
    write_element(t.ptr, t.code, read_element(<const char *>value, t.code))
    return t


cdef object elementwise_backward(Node node, object grad):
    cdef const ft_op *row = &rows[node.op]
    cdef Tensor g = <Tensor>grad, r
    cdef tuple saved = None
    cdef list results
    cdef int i, found = 0
    cdef object first = None
    if row.nin == 1 and node.inputs[0] is None:
        return None
    if row.nin == 1:
        return input_gradient(node, row, 0, g)
    results = []
    for i in range(row.nin):
        if node.inputs[i] is None:
            results.append(None)
            continue
        r = input_gradient(node, row, i, g)
        if node.out_meta is not None and node.out_meta[i] is not None:
            r = shrink_to(r, <tuple>node.out_meta[i])
        results.append(r)
    return tuple(results)


cdef Tensor input_gradient(Node node, const ft_op *row, int i, Tensor g):
    cdef tuple saved
    cdef Tensor out
    cdef int bits = row.saves[i], k, n = 0, code
    cdef char *p[6]
    cdef Py_ssize_t s[6]
    cdef bint flat
    cdef Tensor t, b = None, c = None, d = None
    if (row.identity >> i) & 1:
        return g
    saved = get_saved(node) if bits else ()
    if grad_enabled() and (requires(g) or any_requires(saved)):
        return symbolic_gradient(node, row, i, g, saved)
    # the computing dtype: that of what was saved, or of the gradient
    code = g.code
    if bits & 7:
        for k in range(3):
            if (bits >> k) & 1 and not (row.mask >> k) & 1:
                code = (<Tensor>saved[k]).code
                break
    elif bits & 8:
        code = (<Tensor>saved[3]).code
    if row.dx[i][code] == NULL:
        return symbolic_gradient(node, row, i, g, saved)
    if g.dev != CPU:
        return backend(g).elementwise(node.op, i, code, (g,) + tuple([saved[k] for k in range(4) if (bits >> k) & 1]), par_tuple(row, node.par))
    flat = g.contig
    for k in range(4):
        if (bits >> k) & 1:
            t = <Tensor>saved[k]
            flat = flat and t.contig and t.count == g.count and same_shape(t, g)
            p[2 + n] = t.ptr
            s[2 + n] = ITEMSIZE[t.code]
            if n == 0:
                b = t
            elif n == 1:
                c = t
            else:
                d = t
            n += 1
    if flat:
        out = new_tensor(g.rank, g.sizes, code, CPU)
        p[0], p[1], s[0], s[1] = out.ptr, g.ptr, ITEMSIZE[code], ITEMSIZE[g.code]
        run_flat(row.dx[i][code], 2 + n, p, s, g.count, node.par)
    else:
        out = empty_as(g, code)
        run_strided(row.dx[i][code], out, g, NULL, b, NULL, c, NULL, d, 1 + n, node.par)
    return out


cdef bint any_requires(tuple saved):
    for v in saved:
        if v is not None and requires(<Tensor>v):
            return True
    return False


cdef Tensor symbolic_gradient(Node node, const ft_op *row, int i, Tensor g, tuple saved):
    """The derivative's expression evaluated over Tensors, so that it is itself recorded."""
    from fasttensor._optable.derive import derivatives     # only double backward needs the expressions
    cdef object f = derivatives(node.op)[i]
    if not saved:
        saved = (None, None, None, None)
    got = f(NAMESPACE, g, saved[:row.nin], saved[3], par_tuple(row, node.par))
    if not isinstance(got, Tensor):
        got = g * 0 + got
    if not same_shape(<Tensor>got, g):
        got = got.expand_as(g)
    return got


cdef object cast_backward(Node node, object grad):
    return differentiable_cast(<Tensor>grad, <int>node.par[0])


cdef Tensor differentiable_cast(Tensor x, int code):
    cdef Tensor y
    cdef Node node
    if x.code == code:
        return x
    y = empty_as(x, code)
    copy_into(y, x)
    if code >= FLOAT16 and requires(x) and grad_enabled():
        node = new_node(cast_backward, "ToCopyBackward0")
        add_input(node, x)
        node.par[0] = x.code
        set_history(y, node, 0)
    return y


# --- in place ---
cdef object inplace(int op, object self, object b, object c, const double *par):
    cdef const ft_op *row = &rows[op]
    cdef Scalars numbers
    cdef Tensor x, z = None, w = None, before, y
    cdef Node node
    cdef Py_ssize_t sizes[64]
    cdef int code, rank, nin = row.nin
    cdef bint recording
    if not isinstance(self, Tensor):
        bad_operand(op, self, 1)
    x = <Tensor>self
    name = name_of(op) + "_"
    check_inplace(x, name)
    if nin > 1 and not isinstance(b, Tensor) and scalar_code(b) < 0:
        bad_operand(op, b, 2)
    if nin > 2 and not isinstance(c, Tensor) and scalar_code(c) < 0:
        bad_operand(op, c, 3)
    check_devices(op, self, b, c)
    code = computing_code(op, result_code(self, b, c, row.mask))
    if row.loop[code] == NULL:
        unsupported(op, code)
    if category(row.out[code]) > category(x.code) and row.promote != 2:
        raise RuntimeError(f"{name}: result type {dtype_of(row.out[code]).name} can't be cast to the desired output type {dtype_of(x.code).name}")
    if internal_overlap(x):
        raise RuntimeError(f"{name}: unsupported operation: more than one element of the written-to tensor {describe(x)} refers to a"
                           " single memory location. Please clone() the tensor before performing the operation.")
    if row.zero_check and code <= INT64:
        check_zero(op, b)
    if nin > 1:
        z = operand(op, b, 2, code, numbers.value[1], row.mask & 2)
    if nin > 2:
        w = operand(op, c, 3, code, numbers.value[2], row.mask & 4)
    rank = broadcast_sizes(name, x, z, w, sizes)
    if rank != x.rank or not fits(x, sizes):
        raise RuntimeError(f"{name}: output with shape {list(x.shape)} doesn't match the broadcast shape {[sizes[i] for i in range(rank)]}")
    recording = grad_enabled() and (requires(x) or (z is not None and requires(z)) or (w is not None and requires(w)))
    if z is not None and overlaps(x, z):
        z = detached_copy(z) if not requires(z) else z.clone()
    if w is not None and overlaps(x, w):
        w = detached_copy(w) if not requires(w) else w.clone()
    before = x
    if recording or x.code != code:
        if x.code != code or needs_own_input(row, x, z, w):
            # the old value is needed after it is overwritten
            before = cast(x, code) if x.code != code else detached_copy(x)
    if x.dev == CPU and row.out[code] == x.code:
        if x.contig and (z is None or (z.contig and same_shape(x, z))) and (w is None or (w.contig and same_shape(x, w))):
            flat_inplace(row.loop[code], nin, x, before, z, numbers.value[1], w, numbers.value[2], code, row.mask, par)
        else:
            run_strided(row.loop[code], x, before, NULL, z, numbers.value[1], w, numbers.value[2], None, nin, par)
    else:
        if x.dev == CPU:
            y = new_tensor(x.rank, x.sizes, row.out[code], CPU)
            run_strided(row.loop[code], y, before, NULL, z, numbers.value[1], w, numbers.value[2], None, nin, par)
        else:
            y = backend(x).elementwise(op, -1, code, (before, z if z is not None else b, w if w is not None else c)[:nin], par_tuple(row, par))
        copy_into(x, y)
    wrote(x)
    if recording:
        record_inplace(op, code, x, before, z, w, numbers.value[1], numbers.value[2], par)
    return x


cdef bint fits(Tensor x, const Py_ssize_t *sizes) noexcept:
    cdef int d
    for d in range(x.rank):
        if x.sizes[d] != sizes[d]:
            return False
    return True


cdef Tensor detached_copy(Tensor x):
    cdef Tensor y = empty_as(x, x.code)
    copy_into(y, x)
    return y


cdef bint needs_own_input(const ft_op *row, Tensor x, Tensor z, Tensor w) noexcept:
    cdef int i, bits = 0
    for i in range(row.nin):
        if row.saves[i] != 255 and ((i == 0 and requires(x)) or (i == 1 and z is not None and requires(z)) or (i == 2 and w is not None and requires(w))):
            bits |= row.saves[i]
    return bits & 1


cdef void flat_inplace(ft_loop loop, int nin, Tensor x, Tensor before, Tensor z, void *sz, Tensor w, void *sw, int code, int mask, const double *par):
    cdef char *p[4]
    cdef Py_ssize_t s[4]
    p[0], p[1] = x.ptr, before.ptr
    s[0], s[1] = ITEMSIZE[x.code], ITEMSIZE[before.code]
    p[2] = z.ptr if z is not None else <char *>sz
    s[2] = ITEMSIZE[z.code] if z is not None else 0
    p[3] = w.ptr if w is not None else <char *>sw
    s[3] = ITEMSIZE[w.code] if w is not None else 0
    run_flat(loop, 1 + nin, p, s, x.count, par)


cdef bint record_inplace(int op, int code, Tensor x, Tensor before, Tensor z, Tensor w, void *sz, void *sw, const double *par) except False:
    cdef const ft_op *row = &rows[op]
    cdef Node node
    cdef Tensor result
    cdef int need = 0, i
    if not (is_float_code(x.code) or is_complex_code(x.code)):
        return True
    node = inplace_node(x, elementwise_backward, <str>LABELS[op])
    node.op = op
    if row.saves[0] == 255:
        node.inputs[0] = None
    elif node.inputs[0] is not None:
        need |= row.saves[0]
    for i in range(1, row.nin):
        v = z if i == 1 else w
        if v is None or row.saves[i] == 255:
            node.inputs.append(None)
            if node.nrs is not None:
                node.nrs.append(0)
            continue
        add_input(node, <Tensor>v)
        if node.inputs[i] is not None:
            need |= row.saves[i]
    if par != NULL:
        for i in range(row.nparam):
            node.par[i] = par[i]
    node.out_meta = tuple([None if v is None else (<Tensor>v).shape for v in (x, z, w)])
    if need:
        result = alias(x)
        set_saved(node, (
            before if need & 1 else None,
            (kept(z, sz, code, row.mask & 2) if need & 2 else None) if row.nin > 1 else None,
            (kept(w, sw, code, row.mask & 4) if need & 4 else None) if row.nin > 2 else None,
            result if need & 8 else None))
        if need & 8:
            node.saved_output |= 8
    rebase(x, node)
    return True


# --- operators ---
cdef object operator_with(int op, object a, object b):
    """NotImplemented for what is neither tensor nor number, so that Python asks the other operand."""
    if not (isinstance(a, Tensor) or scalar_code(a) >= 0) or not (isinstance(b, Tensor) or scalar_code(b) >= 0):
        return NotImplemented
    return call2(op, a, b, ONE, None)

cdef object add_slot(object a, object b):
    return operator_with(FT_ADD, a, b)
cdef object sub_slot(object a, object b):
    return operator_with(FT_SUB, a, b)
cdef object mul_slot(object a, object b):
    return operator_with(FT_MUL, a, b)
cdef object div_slot(object a, object b):
    return operator_with(FT__DIV, a, b)
cdef object floordiv_slot(object a, object b):
    return operator_with(FT_FLOOR_DIVIDE, a, b)
cdef object mod_slot(object a, object b):
    return operator_with(FT_REMAINDER, a, b)
cdef object and_slot(object a, object b):
    return operator_with(FT_BITWISE_AND, a, b)
cdef object or_slot(object a, object b):
    return operator_with(FT_BITWISE_OR, a, b)
cdef object xor_slot(object a, object b):
    return operator_with(FT_BITWISE_XOR, a, b)
cdef object lshift_slot(object a, object b):
    return operator_with(FT_BITWISE_LEFT_SHIFT, a, b)
cdef object rshift_slot(object a, object b):
    return operator_with(FT_BITWISE_RIGHT_SHIFT, a, b)
cdef object lt_slot(object a, object b):
    return operator_with(FT_LT, a, b)
cdef object le_slot(object a, object b):
    return operator_with(FT_LE, a, b)
cdef object eq_slot(object a, object b):
    return operator_with(FT_EQ, a, b)
cdef object ne_slot(object a, object b):
    return operator_with(FT_NE, a, b)
cdef object gt_slot(object a, object b):
    return operator_with(FT_GT, a, b)
cdef object ge_slot(object a, object b):
    return operator_with(FT_GE, a, b)
cdef object neg_slot(object a):
    return call1(FT_NEG, a, NULL, None)
cdef object abs_slot(object a):
    return call1(FT_ABS, a, NULL, None)
cdef object invert_slot(object a):
    return call1(FT_LOGICAL_NOT if (<Tensor>a).code == BOOL else FT_BITWISE_NOT, a, NULL, None)
cdef object pos_slot(object a):
    if (<Tensor>a).code == BOOL:
        raise RuntimeError(f"the + operator is not defined for {describe(a)}")
    return a
cdef object pow_slot(object a, object b):
    if scalar_code(a) < 0 and not isinstance(a, Tensor) or scalar_code(b) < 0 and not isinstance(b, Tensor):
        return NotImplemented
    return NAMESPACE["pow"](a, b)
cdef object iadd_slot(object a, object b):
    return inplace(FT_ADD, a, b, None, ONE)
cdef object isub_slot(object a, object b):
    return inplace(FT_SUB, a, b, None, ONE)
cdef object imul_slot(object a, object b):
    return inplace(FT_MUL, a, b, None, ONE)
cdef object idiv_slot(object a, object b):
    return inplace(FT__DIV, a, b, None, ONE)
cdef object ifloordiv_slot(object a, object b):
    return inplace(FT_FLOOR_DIVIDE, a, b, None, ONE)
cdef object imod_slot(object a, object b):
    return inplace(FT_REMAINDER, a, b, None, ONE)
cdef object ipow_slot(object a, object b):
    return inplace(FT_POW, a, b, None, ONE)
cdef object iand_slot(object a, object b):
    return inplace(FT_BITWISE_AND, a, b, None, ONE)
cdef object ior_slot(object a, object b):
    return inplace(FT_BITWISE_OR, a, b, None, ONE)
cdef object ixor_slot(object a, object b):
    return inplace(FT_BITWISE_XOR, a, b, None, ONE)
cdef object ilshift_slot(object a, object b):
    return inplace(FT_BITWISE_LEFT_SHIFT, a, b, None, ONE)
cdef object irshift_slot(object a, object b):
    return inplace(FT_BITWISE_RIGHT_SHIFT, a, b, None, ONE)

cdef binary_slot *_b = binary_slots()
_b[SLOT_ADD], _b[SLOT_SUB], _b[SLOT_MUL], _b[SLOT_TRUEDIV] = add_slot, sub_slot, mul_slot, div_slot
_b[SLOT_FLOORDIV], _b[SLOT_MOD], _b[SLOT_POW] = floordiv_slot, mod_slot, pow_slot
_b[SLOT_AND], _b[SLOT_OR], _b[SLOT_XOR], _b[SLOT_LSHIFT], _b[SLOT_RSHIFT] = and_slot, or_slot, xor_slot, lshift_slot, rshift_slot
_b[SLOT_LT], _b[SLOT_LE], _b[SLOT_EQ], _b[SLOT_NE], _b[SLOT_GT], _b[SLOT_GE] = lt_slot, le_slot, eq_slot, ne_slot, gt_slot, ge_slot
_b[SLOT_IADD], _b[SLOT_ISUB], _b[SLOT_IMUL], _b[SLOT_ITRUEDIV] = iadd_slot, isub_slot, imul_slot, idiv_slot
_b[SLOT_IFLOORDIV], _b[SLOT_IMOD], _b[SLOT_IPOW] = ifloordiv_slot, imod_slot, ipow_slot
_b[SLOT_IAND], _b[SLOT_IOR], _b[SLOT_IXOR], _b[SLOT_ILSHIFT], _b[SLOT_IRSHIFT] = iand_slot, ior_slot, ixor_slot, ilshift_slot, irshift_slot
cdef unary_slot *_u = unary_slots()
_u[SLOT_NEG], _u[SLOT_ABS], _u[SLOT_INVERT], _u[SLOT_POS] = neg_slot, abs_slot, invert_slot, pos_slot
