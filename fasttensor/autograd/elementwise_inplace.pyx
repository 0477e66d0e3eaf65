"""Elementwise operations in place: the result type must fit, a leaf must not require grad, and the
tensor's history changes."""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.iterator cimport broadcast_sizes
from fasttensor._core.dispatch cimport grad_enabled, copy_into, internal_overlap
from fasttensor._core.element cimport scalar_code
from fasttensor._core.dispatch import backend
from fasttensor.cpu.elementwise cimport table, ft_op, ft_loop, run_flat, run_strided, FT_ONE_DTYPE, FT_NO_BOOLS, FT_BOOL_FORM, FT_NO_COMPLEX
from fasttensor.cpu.copy cimport overlaps, apart
from fasttensor.autograd.recording cimport requires, edge, add_input, set_saved, set_history, is_node, NUMBERS
from fasttensor.autograd.history cimport check_inplace, inplace_node, rebase
from fasttensor.autograd.elementwise cimport *
from fasttensor.autograd.elementwise_refusals cimport *
from fasttensor.autograd.watching cimport watching, announced, announce, begin, finish
from fasttensor.autograd.elementwise_grad cimport kept, empty_as, par_tuple, elementwise_backward, label_of
from fasttensor.autograd.batched cimport Level, Batched, as_batched, has_batched, living, padded

cdef const ft_op *rows = table()


cdef object inplace(int op, object self, object b, object c, const double *par):
    cdef const ft_op *row = &rows[op]
    cdef Scalars numbers
    cdef Tensor x, z = None, w = None, before, y
    cdef Py_ssize_t sizes[64]
    cdef int code, rank, nin = row.nin
    cdef bint recording
    if watching and not announced():
        return watched_inplace(op, self, b, c, par)
    if not isinstance(self, Tensor):
        bad_operand(op, self, 1)
    x = <Tensor>self
    name = name_of(op) + "_"
    if has_batched((self, b, c)):
        return batched_inplace(op, x, b, c, par, name)
    check_inplace(x, name)
    if row.traits & FT_NO_BOOLS and (is_bool(x) or is_bool(b)):
        refuse_bool(op, x, b)
    if row.traits & FT_BOOL_FORM and isinstance(b, bool) and is_bool(x):
        return inplace(row.bool_form, x, not b, None, par)
    if row.traits & FT_ONE_DTYPE:
        one_dtype(op, x, b, c)
    if nin > 1 and not isinstance(b, Tensor) and scalar_code(b) < 0:
        bad_operand(op, b, 2)
    if nin > 2 and not isinstance(c, Tensor) and scalar_code(c) < 0:
        bad_operand(op, c, 3)
    if x.dev != META:           # which takes operands of any device
        check_devices(op, self, b, c)
    if x.dev == CPU and (is_meta(b) or is_meta(c)):
        raise RuntimeError(f"{name}: Expected all tensors to be on the same device, but found at least two devices, cpu and meta!")
    code = computing_code(op, operation_code(op, self, b, c))
    if row.loop[code] == NULL:
        if category(code) > category(x.code) and row.promote != 2 and not (code >= COMPLEX64 and row.traits & FT_NO_COMPLEX):
            cast_error(name, code, x.code)
        unsupported(op, code)
    if x.code >= COMPLEX64 and row.out[code] < COMPLEX64 and row.promote != 2:      # 2: a bool, which is 0 or 1 there
        raise RuntimeError(f"In-place {name_of(op)} is not supported for complex tensors: the values of {describe(x)} would be real; use {name_of(op)}()")
    if category(row.out[code]) > category(x.code) and row.promote != 2:
        cast_error(name, row.out[code], x.code)
    if internal_overlap(x):
        raise RuntimeError(f"{name}: unsupported operation: more than one element of the written-to tensor {describe(x)} refers to a"
                           " single memory location. Please clone() the tensor before performing the operation.")
    if row.zero_check and code <= INT64 and x.dev != META:
        check_zero(op, b, code)
    if nin > 1:
        z = operand(op, b, 2, code, numbers.value[1], row.mask & 2)
    if nin > 2:
        w = operand(op, c, 3, code, numbers.value[2], row.mask & 4)
    rank = broadcast_sizes(name, x, z, w, sizes)
    if rank != x.rank or not has_sizes(x, sizes):
        raise RuntimeError(f"{name}: output with shape {list(x.shape)} doesn't match the broadcast shape {[sizes[i] for i in range(rank)]}")
    recording = grad_enabled() and (requires(x) or (z is not None and requires(z)) or (w is not None and requires(w)))
    # an operand in x's own memory must be read before x is written, and kept if it is saved
    if z is not None and (overlaps(x, z) or (recording and z.store is x.store)):
        apart(name, x, z)
        z = detached_copy(z) if not requires(z) else z.clone()
    if w is not None and (overlaps(x, w) or (recording and w.store is x.store)):
        apart(name, x, w)
        w = detached_copy(w) if not requires(w) else w.clone()
    if recording and x.base is not None and saves_self(row, x, z, w):
        # through a view the node of the write is not where the saved value's history is: compute aside, then copy
        old = x.clone()
        return x.copy_(call1(op, old, par, None) if nin == 1 else call2(op, old, b, par, None) if nin == 2
                       else call3(op, old, b, c, par, None))
    before = x
    if recording or x.code != code:
        if x.code != code or saves_self(row, x, z, w) & 1:
            # the old value is needed after it is overwritten
            before = cast(x, code) if x.code != code else detached_copy(x)
            if recording and requires(x):
                before = with_history_of(before, x, code)
    if x.dev == CPU and FLOAT16 <= code <= BFLOAT16 and nin == 2 and z is None and x.code == code and keeps_number(op):
        copy_into(x, half_with_number(op, before, b, par))
    elif x.dev == CPU and FLOAT16 <= code <= BFLOAT16 and nin == 3 and w is None and x.code == code and keeps_number(op):
        halves_with_number(op, x, before, z, c, par)
    elif x.dev == CPU and row.out[code] == x.code:
        if x.contig and (z is None or (z.contig and same_shape(x, z))) and (w is None or (w.contig and same_shape(x, w))):
            flat_inplace(row.loop[code], nin, x, before, z, numbers.value[1], w, numbers.value[2], code, row.mask, par)
        else:
            run_strided(row.loop[code], x, before, NULL, z, numbers.value[1], w, numbers.value[2], None, nin, par)
    elif x.dev != META:
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


cdef object watched_inplace(int op, object self, object b, object c, const double *par):
    cdef object token = begin(name_of(op) + "_", (self, b, c)[:rows[op].nin]), result = None
    announce(True)
    try:
        result = inplace(op, self, b, c, par)
    finally:
        announce(False)
        finish(token, result)
    return result


cdef object batched_inplace(int op, Tensor x, object b, object c, const double *par, str name):
    cdef Level level = living((x, b, c))
    cdef int code = operation_code(op, x, b, c), k = 1
    cdef list others = []
    cdef Tensor t
    if not isinstance(x, Batched) or (<Batched>x).level is not level:
        from fasttensor.autograd.writing import refuse_unbatched
        refuse_unbatched(name, x, b if isinstance(b, Batched) else c)
    for v in (b, c):
        if isinstance(v, Tensor):
            t = v
            if t.rank > x.rank:
                raise RuntimeError(f"{name}: {describe(t)} does not broadcast to the output {describe(x)}")
            if t.rank == 0 and t.code != code and not (rows[op].mask >> k) & 1:
                t = differentiable_cast(t, code)
            v = padded(t, level, x.rank)
        others.append(v)
        k += 1
    inplace(op, as_batched(x).value, others[0], others[1], par)
    return x


cdef bint is_meta(object v) noexcept:
    return isinstance(v, Tensor) and (<Tensor>v).dev == META


cdef Tensor detached_copy(Tensor x):
    cdef Tensor y = empty_as(x, x.code)
    copy_into(y, x)
    return y


cdef Tensor with_history_of(Tensor copy, Tensor x, int code):
    """A copy of x's value, recorded as x is, so that second derivatives pass through the saved value."""
    cdef object e = edge(x)
    if x.code != code:
        return differentiable_cast(x, code)
    if is_node(e):
        set_history(copy, <Node>e, x.nr)
    return copy


cdef int saves_self(const ft_op *row, Tensor x, Tensor z, Tensor w) noexcept:
    """Whether a gradient that will be asked for reads x's old value (1) or new value (8)."""
    cdef int i, bits = 0
    for i in range(row.nin):
        if row.saves[i] != 255 and ((i == 0 and requires(x)) or (i == 1 and z is not None and requires(z)) or (i == 2 and w is not None and requires(w))):
            bits |= row.saves[i]
    return bits & 9


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
    node = inplace_node(x, elementwise_backward, label_of(op, x, z, w))
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
        node.saved_output = ((z is None) << 1 | (w is None) << 2) << NUMBERS
        set_saved(node, (
            before if need & 1 else None,
            (kept(z, sz, code, row.mask & 2) if need & 2 else None) if row.nin > 1 else None,
            (kept(w, sw, code, row.mask & 4) if need & 4 else None) if row.nin > 2 else None,
            result if need & 8 else None))
        if need & 8:
            node.saved_output |= 8
    rebase(x, node)
    return True
