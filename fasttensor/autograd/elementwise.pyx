"""Every elementwise operation's way from Python to the loops.

One driver serves all rows of the table. Operands of one dtype and shape that are contiguous go
straight to the loop; everything else is promoted, broadcast and handed to the iterator.
"""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.iterator cimport broadcast_sizes
from fasttensor._core.layout cimport joint_layout, like_layout
from fasttensor._core.dispatch cimport grad_enabled, copy_into
from fasttensor._core.element cimport scalar_code, write_operand
from fasttensor.autograd.elementwise_numbers cimport number_operand
from fasttensor._core.dispatch import backend
from fasttensor.cpu.elementwise cimport table, ft_op, ft_loop, run_flat, run_strided, FT_ONE_DTYPE, FT_WIDE_NUMBER, FT_NO_BOOLS, FT_BOOL_FORM, FT_REVERSED
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history
from fasttensor.autograd.elementwise_grad cimport record, empty_as, par_tuple
from fasttensor.autograd.watching cimport watching, announced, announce, begin, finish
from fasttensor.autograd.elementwise_out cimport into_out
from fasttensor.autograd.elementwise_refusals cimport *
from fasttensor.autograd.batched cimport Level, level_of, as_batched, wrap, padded

cdef const ft_op *rows = table()


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
    if number == INT64 and combine(dims, zero) == BOOL:
        for x in (a, b, c):
            if isinstance(x, int) and x >= 1 << 63:
                raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, which a bool tensor and {x} would need: convert it")
    return combine(combine(dims, zero), number)


cdef int operation_code(int op, object a, object b, object c) except -1:
    """The result type of a row's operands; where the tensors are of one dtype, numbers do not promote it."""
    cdef int mask = rows[op].mask
    if rows[op].traits & FT_ONE_DTYPE:
        mask |= (not isinstance(b, Tensor)) << 1 | (not isinstance(c, Tensor)) << 2
    return result_code(a, b, c, mask)


cdef int computing_code(int op, int code) noexcept nogil:
    return default_float() if rows[op].promote == 1 and code <= INT64 else code


cdef object watched(int op, int nin, object a, object b, object c, const double *par, object out):
    """A call that listeners are told of."""
    cdef object token = begin(name_of(op), (a, b, c)[:nin]), result = None
    announce(True)
    try:
        result = call1(op, a, par, out) if nin == 1 else call2(op, a, b, par, out) if nin == 2 else call3(op, a, b, c, par, out)
    finally:
        announce(False)
        finish(token, result)
    return result


# --- the unary path ---
cdef object call1(int op, object x, const double *par, object out):
    cdef Tensor t, y
    cdef const ft_op *row = &rows[op]
    cdef int code, result
    cdef ft_loop loop
    cdef char *p[2]
    cdef Py_ssize_t s[2]
    if watching and not announced():
        return watched(op, 1, x, None, None, par, out)
    if not isinstance(x, Tensor):
        bad_operand(op, x, 1)
    t = <Tensor>x
    if t.dev == BATCHED and out is None:
        return batched_elementwise(op, 1, x, None, None, par)
    if out is not None:
        announce(watching != 0)
        return into_out(op, 1, x, None, None, par, out)
    code = t.code
    if code <= INT64 and row.promote == 1:
        code = default_float()
        t = differentiable_cast(t, code)
    loop = row.loop[code]
    if loop == NULL:
        unsupported(op, code)
    result = row.out[code]
    if t.contig and t.dev == CPU:
        y = new_tensor(t.rank, t.sizes, result, CPU)
        p[0], p[1] = y.ptr, t.ptr
        s[0], s[1] = ITEMSIZE[result], ITEMSIZE[code]
        run_flat(loop, 2, p, s, t.count, par)
    elif t.dev == CPU:
        y = empty_as(t, result)
        run_strided(loop, y, t, NULL, None, NULL, None, NULL, None, 1, par)
    elif t.dev == META:
        y = empty_as(t, result)
    else:
        y = backend(t).elementwise(op, -1, code, (t,), par_tuple(row, par))
    if row.saves[0] != 255 and requires(t) and grad_enabled():
        record(op, code, y, t, None, None, NULL, NULL, NULL, par)
    return y


# --- the binary path ---
cdef object call2(int op, object a, object b, const double *par, object out):
    cdef Tensor x, z, y
    cdef const ft_op *row = &rows[op]
    cdef int code, result
    cdef ft_loop loop
    cdef char *p[3]
    cdef Py_ssize_t s[3]
    cdef char buffer[16]
    if watching and not announced():
        return watched(op, 2, a, b, None, par, out)
    if out is not None:
        announce(watching != 0)
        return into_out(op, 2, a, b, None, par, out)
    if row.traits & (FT_NO_BOOLS | FT_BOOL_FORM) and (is_bool(a) or is_bool(b)):
        if row.traits & FT_NO_BOOLS:
            refuse_bool(op, a, b)
        if isinstance(b, bool) and is_bool(a):
            announce(watching != 0)
            return call2(row.bool_form, a, not b, NULL, None)
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
                number_operand(op, buffer, code, 2, b)
                if code <= BFLOAT16 and keeps_number(op):
                    y = half_with_number(op, x, b, par)
                    if requires(x) and grad_enabled():
                        record(op, code, y, x, None, None, NULL, buffer, NULL, par)
                    return y
                y = new_tensor(x.rank, x.sizes, result, CPU)
                p[0], p[1], p[2] = y.ptr, x.ptr, buffer
                s[0], s[1], s[2] = ITEMSIZE[result], ITEMSIZE[code], 0
                run_flat(loop, 3, p, s, x.count, par)
                if row.saves[0] != 255 and requires(x) and grad_enabled():
                    record(op, code, y, x, None, None, NULL, buffer, NULL, par)
                return y
    return general(op, a, b, None, 2, par)


cdef bint keeps_number(int op) noexcept:
    """Whether the operation takes a number beside half types as it is, not rounded to them first, as PyTorch does."""
    return rows[op].traits & FT_WIDE_NUMBER != 0


cdef Tensor half_with_number(int op, Tensor x, object b, const double *par):
    """A half-precision tensor and a number, computed in float32 and rounded once."""
    cdef Tensor wide = cast(x, FLOAT32), y = new_like(wide, FLOAT32)
    cdef char *p[3]
    cdef Py_ssize_t s[3]
    cdef float number = b
    p[0], p[1], p[2] = y.ptr, wide.ptr, <char *>&number
    s[0], s[1], s[2] = 4, 4, 0
    run_flat(rows[op].loop[FLOAT32], 3, p, s, y.count, par)
    return cast(y, x.code)


cdef bint halves_with_number(int op, Tensor y, Tensor x, Tensor z, object c, const double *par) except False:
    """The same of three operands, the last a number, into y."""
    cdef Tensor wide = like_layout(y, FLOAT32)
    cdef float number = c
    run_strided(rows[op].loop[FLOAT32], wide, cast(x, FLOAT32), NULL, cast(z, FLOAT32), NULL, None, <char *>&number, None, 3, par)
    copy_into(y, wide)
    return True


cdef object call3(int op, object a, object b, object c, const double *par, object out):
    if watching and not announced():
        return watched(op, 3, a, b, c, par, out)
    if rows[op].traits & FT_ONE_DTYPE:
        one_dtype(op, a, b, c)
    if out is not None:
        return into_out(op, 3, a, b, c, par, out)
    return general(op, a, b, c, 3, par)


cdef object operand(int op, object x, int position, int code, void *buffer, bint mask):
    """A Tensor of the computing dtype, or None with the number in `buffer`."""
    if isinstance(x, Tensor):
        if mask:
            code = BOOL
        return <Tensor>x if (<Tensor>x).code == code else differentiable_cast(<Tensor>x, code)
    if scalar_code(x) < 0:
        bad_operand(op, x, position)
    number_operand(op, <char *>buffer, BOOL if mask else code, position, x)
    return None


cdef Tensor scalar_tensor(int op, object value, int code):
    cdef Tensor t = new_tensor(0, NULL, code, CPU)
    write_operand(t.ptr, code, value)
    return t


cdef object general(int op, object a, object b, object c, int nin, const double *par):
    """Any dtypes, shapes, strides and numbers among the operands."""
    cdef const ft_op *row = &rows[op]
    cdef Scalars numbers
    cdef Tensor x, z, w, y, second, first = None
    cdef Py_ssize_t sizes[64]
    cdef int code, rank, dev, k = 0
    for v in (a, b, c)[:nin]:
        k += 1
        if isinstance(v, Tensor):
            if (<Tensor>v).dev == BATCHED:
                return batched_elementwise(op, nin, a, b, c, par)
            if first is None or (<Tensor>v).rank > first.rank:
                first = <Tensor>v
        elif scalar_code(v) < 0:
            bad_operand(op, v, k)
    if first is None:
        a = scalar_tensor(op, a, scalar_code(a))
        first = a
    if row.traits & FT_ONE_DTYPE:
        one_dtype(op, a, b, c)
    dev = check_devices(op, a, b, c)
    code = computing_code(op, operation_code(op, a, b, c))
    if row.loop[code] == NULL:
        unsupported(op, code)
    if row.zero_check and code <= INT64 and dev != META:
        check_zero(op, b, code)
    x = operand(op, a, 1, code, numbers.value[0], row.mask & 1)
    z = operand(op, b, 2, code, numbers.value[1], row.mask & 2) if nin > 1 else None
    w = operand(op, c, 3, code, numbers.value[2], row.mask & 4) if nin > 2 else None
    if x is not None:
        rank = broadcast_sizes(name_of(op), x, z, w, sizes)
    elif z is not None:
        rank = broadcast_sizes(name_of(op), z, w, None, sizes)
    else:
        rank = broadcast_sizes(name_of(op), w, None, None, sizes)
    if dev == CUDA:
        operands = (x if x is not None else a, z if z is not None else b, w if w is not None else c)[:nin]
        y = backend(first).elementwise(op, -1, code, operands, par_tuple(row, par))
    else:
        first, second = (z, x) if row.traits & FT_REVERSED and x is not None and z is not None else (x, z)
        y = joint_layout(rank, sizes, row.out[code], dev, first, second, w, nin == 1 + (z is not None) + (w is not None) and x is not None)
        if dev == CPU and nin == 3 and w is None and FLOAT16 <= code <= BFLOAT16 and keeps_number(op):
            halves_with_number(op, y, x, z, c, par)
        elif dev == CPU:
            run_strided(row.loop[code], y, x, numbers.value[0], z, numbers.value[1], w, numbers.value[2], None, nin, par)
    if grad_enabled() and ((x is not None and requires(x)) or (z is not None and requires(z)) or (w is not None and requires(w))):
        record(op, code, y, x, z, w, numbers.value[0], numbers.value[1], numbers.value[2], par)
    return y


cdef object batched_elementwise(int op, int nin, object a, object b, object c, const double *par):
    """The operation on the batch's own memory: only the dtypes and ranks of a sample decide how it broadcasts."""
    cdef Level level = level_of((a, b, c))
    cdef list operands = batched_operands(op, level, a, b, c)
    cdef object y
    if nin == 1:
        y = call1(op, operands[0], par, None)
    elif nin == 2:
        y = call2(op, operands[0], operands[1], par, None)
    else:
        y = call3(op, operands[0], operands[1], operands[2], par, None)
    return wrap(<Tensor>y, level)


cdef list batched_operands(int op, Level level, object a, object b, object c):
    cdef int code = operation_code(op, a, b, c), rank = 0, k = 0
    cdef list operands = []
    cdef Tensor t
    for v in (a, b, c):
        if isinstance(v, Tensor) and (<Tensor>v).rank > rank:
            rank = (<Tensor>v).rank
    for v in (a, b, c):
        if isinstance(v, Tensor):
            t = v
            # a sample of rank 0 must not decide the dtype as the batch of them would
            if t.rank == 0 and t.code != code and not (rows[op].mask >> k) & 1:
                t = differentiable_cast(t, code)
            v = padded(t, level, rank)
        operands.append(v)
        k += 1
    return operands


cdef object cast_backward(Node node, object grad):
    return differentiable_cast(<Tensor>grad, <int>node.par[0])


cdef Tensor differentiable_cast(Tensor x, int code):
    cdef Tensor y
    cdef Node node
    if x.code == code:
        return x
    if x.dev == BATCHED:
        return wrap(differentiable_cast(as_batched(x).value, code), as_batched(x).level)
    y = empty_as(x, code)
    copy_into(y, x)
    if code >= FLOAT16 and requires(x) and grad_enabled():
        node = new_node(cast_backward, "ToCopyBackward0")
        add_input(node, x)
        node.par[0] = x.code
        set_history(y, node, 0)
    return y
