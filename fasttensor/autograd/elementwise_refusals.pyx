"""What elementwise operations do not take: each check raises PyTorch's error."""
from fasttensor._core.dtype cimport *
from fasttensor._core.tensor cimport *
from fasttensor._core.element cimport read_element, scalar_code, write_operand
from fasttensor.cpu.elementwise cimport table, ft_op, FT_NO_COMPLEX

cdef const ft_op *rows = table()


cdef str name_of(int op):
    return rows[op].name.decode().strip("_")


cdef object unsupported(int op, int code):
    cdef const char *why = rows[op].refuses[0] if code == BOOL and rows[op].refuses[0] != NULL else rows[op].refuses[1]
    if code <= INT64 and why != NULL:
        raise RuntimeError(f"{name_of(op)}: " + why.decode().format(dtype=repr(dtype_of(code).name)))
    if code >= COMPLEX64 and rows[op].traits & FT_NO_COMPLEX:
        raise RuntimeError(f"{name_of(op)} not implemented for complex tensors, got {dtype_of(code).name}")
    raise NotImplementedError(f'"{name_of(op)}" not implemented for {dtype_of(code).name!r}: convert an operand, for example with .float()')


cdef object bad_operand(int op, object x, int position):
    raise TypeError(f"{name_of(op)}(): argument {position} must be Tensor or Number, not {type(x).__name__}")


cdef object refuse_number(int op, object x, int position):
    """PyTorch takes only a Tensor there."""
    raise TypeError(f"{name_of(op)}(): argument {position} must be Tensor, not {type(x).__name__}: use torch.tensor({x!r})"
                    if scalar_code(x) >= 0 else f"{name_of(op)}(): argument {position} must be Tensor, not {type(x).__name__}")


cdef bint one_dtype(int op, object a, object b, object c) except False:
    """RuntimeError for tensors of unlike dtypes where PyTorch does not promote; a weight without dimensions counts as a number."""
    if isinstance(a, Tensor):
        for other in (b, c):
            if isinstance(other, Tensor) and (<Tensor>other).code != (<Tensor>a).code and (other is b or (<Tensor>other).rank):
                if rows[op].nin == 2:
                    raise RuntimeError(f"{name_of(op)} is not yet implemented for tensors with different dtypes, got {describe(a)} and {describe(other)}")
                raise RuntimeError(f"{name_of(op)}: expected dtype {dtype_of((<Tensor>a).code).name} for `{'end' if other is b else 'weight'}` but got"
                                   f" {describe(other)}; convert one with .to()")
    return True


cdef bint cast_error(str name, int from_code, int to_code) except False:
    raise RuntimeError(f"{name}: result type {dtype_of(from_code).name} can't be cast to the desired output type {dtype_of(to_code).name}")


cdef bint is_bool(object x) noexcept:
    return (<Tensor>x).code == BOOL if isinstance(x, Tensor) else isinstance(x, bool)


cdef object refuse_bool(int op, object a, object b):
    cdef bint both = isinstance(a, Tensor) and isinstance(b, Tensor) and is_bool(a) and is_bool(b)
    raise RuntimeError(f"{name_of(op)}: " + rows[op].bools[0 if both else 1].decode().format(a=describe(a), b=describe(b)))


cdef bint check_zero(int op, object b, int code) except False:
    """Integer division by zero ends the process in C: refuse it first."""
    cdef bint zero
    cdef char number[8]
    if isinstance(b, Tensor):
        zero = (<Tensor>b).count > 0 and bool((b == 0).any())
    else:
        write_operand(number, code, b)          # where it wraps around it may become zero
        zero = not read_element(number, code)
    if zero:
        raise RuntimeError(f"ZeroDivisionError: {name_of(op)} of integers by zero ({describe(b)})")
    return True


cdef int check_devices(int op, object a, object b, object c) except -1:
    """The device of all tensors but the 0-d ones of the CPU, which act as numbers."""
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
    return dev if dev >= 0 else CPU
