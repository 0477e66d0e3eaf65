"""Sampling of images and volumes at the points of a grid, see grid_taps.h.

    grid_sample(x, grid, mode, padding, align)                  [N, C, D?, H, W], [N, ..., dims] -> [N, C, ...]
    grid_sample_backward(g, x, grid, mode, padding, align, image, points)   the gradients of x and of the grid, or None

float32 and float64, both tensors alike; `mode` 0 linear, 1 nearest, 2 cubic; `padding` 0 zeros, 1 border, 2 reflection.
"""
from libc.string cimport memset

from fasttensor._core.dtype cimport FLOAT32
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous

cdef extern from "grid_taps.h" nogil:
    ctypedef struct ft_grid:
        Py_ssize_t size[3]
        Py_ssize_t channels, points, volume
        int dims, mode, padding, align, taps
        int axis_taps[3]
    void ft_grid_forward_f32(const ft_grid *j, const float *x, const float *grid, float *out, Py_ssize_t begin, Py_ssize_t end)
    void ft_grid_forward_f64(const ft_grid *j, const double *x, const double *grid, double *out, Py_ssize_t begin, Py_ssize_t end)
    void ft_grid_image_f32(const ft_grid *j, const float *g, const float *grid, float *dx, Py_ssize_t first, Py_ssize_t last)
    void ft_grid_image_f64(const ft_grid *j, const double *g, const double *grid, double *dx, Py_ssize_t first, Py_ssize_t last)
    void ft_grid_points_f32(const ft_grid *j, const float *g, const float *x, const float *grid, float *d, Py_ssize_t begin, Py_ssize_t end)
    void ft_grid_points_f64(const ft_grid *j, const double *g, const double *x, const double *grid, double *d, Py_ssize_t begin, Py_ssize_t end)

cdef enum:
    BLOCK = 512                 # points of a task
    PLANES = 4                  # channels of a task: they share the search for the taps


cdef struct Job:
    ft_grid grid
    const char *x
    const char *places
    const char *g
    char *out
    Py_ssize_t tasks            # of one image
    Py_ssize_t item
    int code
    int kind                    # 0 values, 1 the image's gradient, 2 the grid's


cdef void run(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef ft_grid *j = &job.grid
    cdef Py_ssize_t i, n, first, last, image, outs
    cdef const char *x
    cdef const char *places
    cdef const char *g
    for i in range(begin, end):
        n = i // job.tasks
        image, outs = j.channels * j.volume * job.item, j.channels * j.points * job.item
        x, g, places = job.x + n * image, job.g + n * outs, job.places + n * j.points * j.dims * job.item
        first = (i % job.tasks) * (PLANES if job.kind == 1 else BLOCK)
        last = min(first + (PLANES if job.kind == 1 else BLOCK), j.channels if job.kind == 1 else j.points)
        if job.code == FLOAT32:
            if job.kind == 0:
                ft_grid_forward_f32(j, <float *>x, <float *>places, <float *>(job.out + n * outs), first, last)
            elif job.kind == 1:
                ft_grid_image_f32(j, <float *>g, <float *>places, <float *>(job.out + n * image), first, last)
            else:
                ft_grid_points_f32(j, <float *>g, <float *>x, <float *>places, <float *>(job.out + n * j.points * j.dims * 4), first, last)
        elif job.kind == 0:
            ft_grid_forward_f64(j, <double *>x, <double *>places, <double *>(job.out + n * outs), first, last)
        elif job.kind == 1:
            ft_grid_image_f64(j, <double *>g, <double *>places, <double *>(job.out + n * image), first, last)
        else:
            ft_grid_points_f64(j, <double *>g, <double *>x, <double *>places, <double *>(job.out + n * j.points * j.dims * 8), first, last)


cdef void work(Job *job, Py_ssize_t images, Py_ssize_t tasks):
    cdef Py_ssize_t cost = job.grid.taps * (job.grid.points * PLANES if job.kind == 1 else BLOCK * job.grid.channels) + 1
    job.tasks = tasks
    with nogil:
        parallel_for(images * tasks, max(1, 16384 // cost), run, job)


cdef bint settle(Job *job, Tensor x, Tensor grid, int mode, int padding, bint align) except False:
    cdef int a, taps = (2, 1, 4)[mode]
    cdef ft_grid *j = &job.grid
    j.dims, j.mode, j.padding, j.align, j.taps = x.rank - 2, mode, padding, align, 1
    j.channels, j.volume, j.points = x.sizes[1], 1, 1
    for a in range(3):
        j.size[a] = x.sizes[x.rank - 3 + a] if a >= 3 - j.dims else 1
        j.axis_taps[a] = taps if a >= 3 - j.dims else 1
        j.volume *= j.size[a]
        j.taps *= j.axis_taps[a]
    for a in range(1, grid.rank - 1):
        j.points *= grid.sizes[a]
    if j.volume >= 1 << 31:
        raise RuntimeError(f"grid_sample: an image of {j.volume} pixels is too large: at most {(1 << 31) - 1}, sample parts of it")
    job.item, job.code = 4 if x.code == FLOAT32 else 8, x.code
    job.x, job.places, job.g = <const char *>x.ptr, <const char *>grid.ptr, NULL
    return True


def grid_sample(Tensor x, Tensor grid, int mode, int padding, bint align):
    cdef Job job
    cdef Py_ssize_t sizes[5]
    cdef int a
    cdef Tensor out
    x, grid = contiguous(x), contiguous(grid)
    settle(&job, x, grid, mode, padding, align)
    sizes[0], sizes[1] = x.sizes[0], x.sizes[1]
    for a in range(1, grid.rank - 1):
        sizes[a + 1] = grid.sizes[a]
    out = new_tensor(x.rank, sizes, x.code, x.dev)
    job.out, job.kind = <char *>out.ptr, 0
    work(&job, x.sizes[0], (job.grid.points + BLOCK - 1) // BLOCK)
    return out


def grid_sample_backward(Tensor g, Tensor x, Tensor grid, int mode, int padding, bint align, bint image, bint points):
    cdef Job job
    cdef Tensor dx = None, dgrid = None
    g, x, grid = contiguous(g), contiguous(x), contiguous(grid)
    settle(&job, x, grid, mode, padding, align)
    job.g = <const char *>g.ptr
    if image:
        dx = new_tensor(x.rank, x.sizes, x.code, x.dev)
        memset(dx.ptr, 0, dx.count * job.item)
        job.out, job.kind = <char *>dx.ptr, 1
        work(&job, x.sizes[0], (job.grid.channels + PLANES - 1) // PLANES)
    if points:
        dgrid = new_tensor(grid.rank, grid.sizes, grid.code, grid.dev)
        if mode == 1:           # the nearest pixel stays the nearest one: 0 whatever it holds
            memset(dgrid.ptr, 0, dgrid.count * job.item)
            return dx, dgrid
        job.out, job.kind = <char *>dgrid.ptr, 2
        work(&job, x.sizes[0], (job.grid.points + BLOCK - 1) // BLOCK)
    return dx, dgrid
