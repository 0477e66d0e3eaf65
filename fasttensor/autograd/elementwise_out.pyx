"""`out=` of elementwise operations: written by the loop itself where it may be, else computed and copied."""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.iterator cimport broadcast_sizes
from fasttensor._core.dispatch cimport grad_enabled, copy_into, internal_overlap
from fasttensor._core.element cimport scalar_code
from fasttensor.cpu.elementwise cimport table, ft_op, run_strided, FT_ONE_DTYPE, FT_NO_COMPLEX
from fasttensor.cpu.copy cimport overlaps, apart
from fasttensor.autograd.recording cimport requires
from fasttensor.autograd.elementwise cimport *
from fasttensor.autograd.elementwise_refusals cimport *
from fasttensor._core.layout import laid_out_as
from fasttensor.autograd.outputs import fit, same_dtype

cdef const ft_op *rows = table()


cdef object written_directly(int op, int nin, object a, object b, object c, const double *par, object out):
    """`out` when the loop may write to it: of the result's dtype and shape, and apart from the operands' memory. Else None."""
    cdef const ft_op *row = &rows[op]
    cdef Scalars numbers
    cdef Tensor target, x, z = None, w = None
    cdef Py_ssize_t sizes[64]
    cdef int code
    if not isinstance(out, Tensor):
        return None
    target = <Tensor>out
    if target.dev != CPU or requires(target) or internal_overlap(target):
        return None
    for v in (a, b, c)[:nin]:
        if isinstance(v, Tensor):
            if (<Tensor>v).dev != CPU or requires(<Tensor>v):
                return None
        elif scalar_code(v) < 0:
            return None
    if not isinstance(a, Tensor) or is_bool(a) or is_bool(b) or (row.zero_check and target.code <= INT64):
        return None
    code = computing_code(op, operation_code(op, a, b, c))
    if row.loop[code] == NULL or row.out[code] != target.code or (code <= BFLOAT16 and nin > 1 and keeps_number(op)):
        return None
    x = operand(op, a, 1, code, numbers.value[0], row.mask & 1)
    if nin > 1:
        z = operand(op, b, 2, code, numbers.value[1], row.mask & 2)
    if nin > 2:
        w = operand(op, c, 3, code, numbers.value[2], row.mask & 4)
    if broadcast_sizes(name_of(op), x, z, w, sizes) != target.rank or not has_sizes(target, sizes):
        return None
    if overlaps(target, x) or (z is not None and overlaps(target, z)) or (w is not None and overlaps(target, w)):
        return None
    fit(target, target.shape, name_of(op))
    run_strided(row.loop[code], target, x, NULL, z, numbers.value[1], w, numbers.value[2], None, nin, par)
    wrote(target)
    return target


cdef object into_out(int op, int nin, object a, object b, object c, const double *par, object out):
    cdef object done = written_directly(op, nin, a, b, c, par, out)
    if done is not None:
        return done
    if isinstance(out, Tensor):
        check_cast(op, nin, a, b, c, <Tensor>out)
    return finish_out(op, out, call1(op, a, par, None) if nin == 1 else call2(op, a, b, par, None) if nin == 2
                      else call3(op, a, b, c, par, None), (a, b, c)[:nin])


cdef bint check_cast(int op, int nin, object a, object b, object c, Tensor out) except False:
    """PyTorch refuses an output of another kind before it finds that the operands' dtype is not supported."""
    cdef int code
    for v in (a, b, c)[:nin]:
        if not isinstance(v, Tensor) and scalar_code(v) < 0:
            return True
    code = computing_code(op, operation_code(op, a, b, c))
    if rows[op].loop[code] == NULL and not (code >= COMPLEX64 and rows[op].traits & FT_NO_COMPLEX):
        if rows[op].same_out:
            if code != out.code:
                raise RuntimeError(f"{name_of(op)}: Found dtype {dtype_of(out.code).name} but expected {dtype_of(code).name} for out=")
        elif category(code) > category(out.code) and rows[op].promote != 2:
            cast_error(name_of(op), code, out.code)
    return True


cdef object finish_out(int op, object out, Tensor value, tuple operands):
    if not isinstance(out, Tensor):
        raise TypeError(f"{name_of(op)}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if value.dev == BATCHED or (<Tensor>out).dev == BATCHED:
        raise RuntimeError(f"vmap: {name_of(op)}: out= is not supported inside vmap: use the result")
    if grad_enabled() and (requires(value) or requires(<Tensor>out)):
        raise RuntimeError(f"{name_of(op)}(): functions with out=... arguments don't support automatic differentiation,"
                           " but one of the arguments requires grad.")
    if rows[op].same_out and not widens(op, operands):
        same_dtype(out, value.dtype, name_of(op))
    return write_out(<Tensor>out, value, name_of(op), operands)


cdef bint widens(int op, tuple operands):
    """Where PyTorch takes another dtype for out= after all: a real result of complex numbers, tensors of one dtype with a number beside them."""
    return rows[op].promote == 3 and (<Tensor>operands[0]).code >= COMPLEX64 \
        or rows[op].traits & FT_ONE_DTYPE and not isinstance(operands[len(operands) - 1], Tensor)


cdef Tensor write_out(Tensor out, Tensor value, str name, tuple operands):
    """Copy a result into out=, which takes the result's shape."""
    if category(value.code) > category(out.code):
        raise RuntimeError(f"{name}: result type {dtype_of(value.code).name} can't be cast to the desired output type {dtype_of(out.code).name}")
    if out.dev != value.dev:
        raise RuntimeError(f"{name}: out= is {describe(out)} on another device than the result {describe(value)}")
    if out.shape != value.shape:
        fit(out, value.shape, name)
        laid_out_as(out, value)
    else:
        fit(out, value.shape, name)
    for operand in operands:
        if isinstance(operand, Tensor):
            apart(name, out, <Tensor>operand)
    copy_into(out, value)
    wrote(out)
    return out
