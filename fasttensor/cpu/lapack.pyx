"""What the modules on LAPACK share: finding routines, column-major copies, running over batches.

Routines are LAPACKE's, found through `blas`: they bring their own workspaces and refuse NaN where an
iteration would not end.
"""
from libc.limits cimport INT_MAX
from libc.string cimport memset
from fasttensor._core.dtype cimport INT32, FLOAT32, COMPLEX64, COMPLEX128, ITEMSIZE
from fasttensor._core.dispatch cimport copy_into
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, new_view, describe
from fasttensor._core.storage cimport no_room
from fasttensor.cpu.blas cimport symbol
from fasttensor.cpu.factor cimport NO_MEMORY

cdef dict FOUND = {}
cdef str LETTERS = "sdcz"


cdef void *found(str name) except NULL:
    cdef void *address
    kept = FOUND.get(name)
    if kept is not None:
        return <void *><size_t>kept
    address = symbol(name)
    if address == NULL:
        raise RuntimeError("Calling torch.linalg or lapack on a CPU tensor requires LAPACK, which was not found: pip install"
                           f" scipy-openblas32, or name a library in FASTTENSOR_BLAS ({name} is missing)")
    FOUND[name] = <size_t>address
    return address


cdef void *routine(str real, str other, int code) except NULL:
    return found("LAPACKE_" + LETTERS[code - FLOAT32] + (other if code >= COMPLEX64 else real))


cdef void *complex_routine(str name, int code) except? NULL:
    """LAPACK's routine for complex matrices."""
    return routine(name, name, code) if code >= COMPLEX64 else NULL


cdef void *blas_routine(str name, int code) except NULL:
    return found("cblas_" + LETTERS[code - FLOAT32] + name)


cdef Tensor turned(Tensor x):
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d, r = x.rank
    for d in range(r):
        sizes[d], steps[d] = x.sizes[d], x.steps[d]
    sizes[r - 2], sizes[r - 1] = x.sizes[r - 1], x.sizes[r - 2]
    steps[r - 2], steps[r - 1] = x.steps[r - 1], x.steps[r - 2]
    return new_view(x, r, sizes, steps, x.offset)


cdef check(Tensor x):
    if x.rank < 2 or not FLOAT32 <= x.code <= COMPLEX128:
        raise RuntimeError(f"linalg: expected a batch of matrices of float32, float64, complex64 or complex128, got {describe(x)}")
    if x.sizes[x.rank - 1] > INT_MAX or x.sizes[x.rank - 2] > INT_MAX:
        raise RuntimeError(f"linalg: LAPACK counts with 32 bits, got {describe(x)}")


cdef Tensor rows(Tensor x):
    check(x)
    cdef Tensor y = new_tensor(x.rank, x.sizes, x.code, x.dev)
    copy_into(y, x)
    return y


cdef Tensor columns(Tensor x):
    check(x)
    cdef Tensor view = turned(x)
    cdef Tensor y = new_tensor(view.rank, view.sizes, x.code, x.dev)
    copy_into(y, view)
    return y


cdef Tensor batch_of(Tensor x, int drop, int code, Py_ssize_t a, Py_ssize_t b):
    cdef Py_ssize_t sizes[66]
    cdef int d, r = x.rank - drop
    for d in range(r):
        sizes[d] = x.sizes[d]
    if a >= 0:
        sizes[r] = a
        r += 1
    if b >= 0:
        sizes[r] = b
        r += 1
    return new_tensor(r, sizes, code, x.dev)


cdef void operand(Task *t, int place, Tensor x, int drop) noexcept:
    cdef Py_ssize_t step = ITEMSIZE[x.code]
    cdef int d
    for d in range(x.rank - drop, x.rank):
        step *= x.sizes[d]
    t.p[place], t.step[place] = x.ptr, step


cdef Tensor run(Task *t, Tensor a, void (*body)(void *, Py_ssize_t, Py_ssize_t) noexcept nogil):
    cdef Tensor info = batch_of(a, 2, INT32, -1, -1)
    cdef double work = <double>a.sizes[a.rank - 2] * a.sizes[a.rank - 1] * (a.sizes[a.rank - 1] + 8)
    cdef Py_ssize_t grain = 1 if work > 1e5 else <Py_ssize_t>(1e5 / (work + 1)) + 1
    cdef Py_ssize_t i
    memset(info.ptr, 0, info.count * 4)
    t.info = <int *>info.ptr
    if info.count and a.count:
        with nogil:
            parallel_for(info.count, grain, body, t)
        for i in range(info.count):
            if t.info[i] == NO_MEMORY:
                raise no_room(f"linalg: no memory to work on {describe(a)}")
    return info
