"""Running the operation table's loops on the CPU."""
from fasttensor._core.tensor cimport Tensor
from fasttensor._core.iterator cimport Iterator, start, add_operand, add_scalar, finish, run
from fasttensor._core.parallel cimport parallel_for

cdef extern from "elementwise.h" nogil:
    const ft_op FT_OPS[]

cdef enum:
    GRAIN = 32768       # elements of one chunk: a few microseconds, more than waking a thread costs

cdef struct Flat:
    ft_loop loop
    int nop
    char **p
    const Py_ssize_t *s
    const double *par


cdef const ft_op *table() noexcept nogil:
    return FT_OPS


cdef void flat_chunk(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Flat *job = <Flat *>context
    cdef char *p[8]
    cdef int k
    for k in range(job.nop):
        p[k] = job.p[k] + begin * job.s[k]
    job.loop(p, job.s, end - begin, job.par)


cdef void run_flat(ft_loop loop, int nop, char **p, const Py_ssize_t *s, Py_ssize_t n, const double *par) noexcept:
    cdef Flat job
    if n <= GRAIN // 4:
        loop(p, s, n, par)
        return
    job.loop, job.nop, job.p, job.s, job.par = loop, nop, p, s, par
    with nogil:
        parallel_for(n, GRAIN, flat_chunk, &job)


cdef bint run_strided(ft_loop loop, Tensor out, Tensor a, void *sa, Tensor b, void *sb, Tensor c, void *sc,
                      Tensor d, int nin, const double *par) except False:
    cdef Iterator it
    start(&it, out.rank, out.sizes)
    add_operand(&it, out)
    if a is not None:
        add_operand(&it, a)
    else:
        add_scalar(&it, sa)
    if nin > 1:
        if b is not None:
            add_operand(&it, b)
        else:
            add_scalar(&it, sb)
    if nin > 2:
        if c is not None:
            add_operand(&it, c)
        else:
            add_scalar(&it, sc)
    if nin > 3:
        add_operand(&it, d)
    finish(&it)
    if it.rank > 1 and it.count > GRAIN // 4:
        it.plane = ft_plane_of(loop)
    run(&it, loop, par, GRAIN)
    return True
