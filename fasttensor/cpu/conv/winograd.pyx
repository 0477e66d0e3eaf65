"""3 x 3 convolution with stride 1 by Winograd's minimal filtering F(2x2, 3x3).

Each 2 x 2 block of outputs takes 16 products a channel instead of 36: transformed inputs times
transformed weights, summed over channels by 16 matrix products, transformed back. Lavin and Gray,
"Fast Algorithms for Convolutional Neural Networks" (2015). Tiles are lanes of vectors: the input is
laid out split by parity of row and column, so that element (i, j) of neighbouring tiles is one run.
The error is a direct convolution's; but a tile spreads an infinity or a NaN over its four outputs,
so inputs are checked, and the caller turns to another algorithm when one is not finite.
"""
from fasttensor._core.parallel cimport parallel_for, thread_count, thread_index
from fasttensor._core.storage cimport Storage, new_storage
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice, fill_plane, settle

cdef extern from "winograd.h" nogil:
    enum: FT_VECTOR_BYTES
    enum: FT_ROWS
    enum: FT_VECS
    void ft_winograd_input(const float **d, int nv, float *v, Py_ssize_t step)
    void ft_winograd_output(const float *m, Py_ssize_t step, int nv, float bias, float *rows, Py_ssize_t pitch)
    int ft_winograd_weight(const float *w, Py_ssize_t stride, int turn, int n, float *u, Py_ssize_t step)
    int ft_all_finite(const float *x, Py_ssize_t n)
    void ft_tile_f32(int rows, int nv, Py_ssize_t k, const float **a, const Py_ssize_t *aoff, const float *b,
                     const Py_ssize_t *off, const float *init, float *c, Py_ssize_t ldc, int add)
    void ft_copy_f32(float *dst, const float *src, Py_ssize_t n)

cdef enum:
    LANES = FT_VECTOR_BYTES // 4
    WIDE = LANES * FT_VECS          # tiles of a panel
    W_BLOCK = 8                     # outputs
    NARROW = 12                     # rows of fewer tiles are packed run by run, through all images


cdef struct Run:
    Py_ssize_t at, n                # tiles at .. at + n of the panel
    Py_ssize_t image, row, column   # of the first tile


cdef struct Work:
    const float *x
    const float *w
    const float *bias
    float *out
    float *ready                    # the input laid out, [n][inputs][4][rows + 1][columns + 1]
    float *u                        # [16][outputs][inputs], a line more apart: a power of two would map all parts to one set of the cache
    char *scratch
    Py_ssize_t bytes                # scratch of one thread
    Py_ssize_t ustep                # from one of the 16 parts of u to the next
    Py_ssize_t n, inputs, outputs, height, width
    Py_ssize_t rows, columns, pitch     # tiles of an image; of a laid-out row
    Py_ssize_t panels, splits, per  # panels; tasks that share one; outputs of a task
    Py_ssize_t image_panels         # of one image, 0 where panels run through images
    const Lattice *lat
    bint gradient
    bint finite


cdef bint winograd_fits(const Geometry *geo, Py_ssize_t inputs, Py_ssize_t outputs, const Py_ssize_t *out) noexcept nogil:
    """Whether the shape is one that this algorithm is the faster for."""
    cdef Py_ssize_t tiles = geo.n * ((out[1] + 1) // 2) * ((out[2] + 1) // 2)
    if (geo.kernel[0] != 1 or geo.kernel[1] != 3 or geo.kernel[2] != 3 or geo.size[0] != 1 or geo.pad[0] != 0 or geo.groups != 1
            or geo.stride[1] != 1 or geo.stride[2] != 1 or geo.dil[1] != 1 or geo.dil[2] != 1):
        return False
    # weights cost a transform, and thin tiles waste lanes
    return inputs >= 16 and outputs >= 16 and tiles >= 4 * LANES and out[1] >= 2 and out[2] >= 2


cdef void weights(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Transforms the weights of some blocks of outputs. Rows of u are written from their beginnings to their ends, 16 lines of memory
    at a time; a gradient's weights lie by input, so that it takes a few outputs together, which share lines of w."""
    cdef Work *job = <Work *>context
    cdef Py_ssize_t block, c, o, first, last, together = W_BLOCK if job.gradient else 1
    cdef const float *w
    for block in range(begin, end):
        first = block * W_BLOCK
        while first < min(job.outputs, (block + 1) * W_BLOCK):
            last = min(job.outputs, first + together)
            for c in range(0, job.inputs, 16):
                for o in range(first, last):
                    # w is [outputs][inputs][9]; for a gradient [inputs][outputs][9], turned round
                    w = job.w + (c * job.outputs + o) * 9 if job.gradient else job.w + (o * job.inputs + c) * 9
                    if not ft_winograd_weight(w, 9 * job.outputs if job.gradient else 9, -1 if job.gradient else 1,
                                              <int>min(16, job.inputs - c), job.u + o * job.inputs + c, job.ustep):
                        job.finite = False
            first = last


cdef void lay_out(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Work *job = <Work *>context
    cdef Py_ssize_t i
    for i in range(begin, end):
        if not ft_all_finite(job.x + i * job.lat.volume, job.lat.volume):
            job.finite = False
        fill_plane(job.x + i * job.lat.volume, job.ready + i * job.lat.plane, job.lat)


cdef int place(Work *job, Py_ssize_t panel, Run *runs, Py_ssize_t *first, int *nv) noexcept nogil:
    """The row segments of a panel; `first` is its start in the image, -1 where it is packed run by run."""
    cdef Py_ssize_t t, last, pitch = job.columns, image, count = 0, n, at = 0, total, left
    if job.image_panels:
        pitch = job.pitch
        image = panel // job.image_panels
        total = job.rows * pitch - 1
        t = panel % job.image_panels * WIDE
        first[0] = t
    else:
        image, total = 0, job.n * job.rows * pitch
        t = panel * WIDE
        first[0] = -1
    last = min(t + WIDE, total)
    nv[0] = <int>((last - t + LANES - 1) // LANES)
    while t < last:
        n = min(last - t, pitch - t % pitch)
        left = min(n, job.columns - t % pitch)      # the rest lies past the row's end
        if left > 0:
            runs[count].at, runs[count].n, runs[count].column = at, left, t % pitch
            runs[count].row = t // pitch % job.rows
            runs[count].image = image + t // (pitch * job.rows)
            count += 1
        at += n
        t += n
    return count


cdef void transform(Work *job, Run *runs, int count, Py_ssize_t first, int nv, float *v, float *packed) noexcept nogil:
    """v[16][inputs][tiles] of a panel."""
    cdef Py_ssize_t part = (job.rows + 1) * job.pitch, plane = 4 * part, wide = nv * LANES, c
    cdef Py_ssize_t off[16]
    cdef const float *d[16]
    cdef const float *x
    cdef int i, j, k
    for i in range(4):
        for j in range(4):
            off[i * 4 + j] = ((i % 2) * 2 + j % 2) * part + i // 2 * job.pitch + j // 2
    for c in range(job.inputs):
        x = job.ready + (runs[0].image * job.inputs + c) * plane
        if first >= 0:
            for k in range(16):
                d[k] = x + off[k] + first
        else:
            for i in range(count):
                x = job.ready + (runs[i].image * job.inputs + c) * plane + runs[i].row * job.pitch + runs[i].column
                # whole vectors: what they write too much, the next run overwrites
                for k in range(16):
                    j = 0
                    while j < runs[i].n:
                        ft_copy_f32(packed + k * 2 * WIDE + runs[i].at + j, x + off[k] + j, LANES)
                        j += LANES
            for k in range(16):
                d[k] = packed + k * 2 * WIDE
        ft_winograd_input(d, nv, v + c * wide, job.inputs * wide + LANES)


cdef void panel_task(Work *job, Py_ssize_t index) noexcept nogil:
    cdef Run runs[WIDE]
    cdef Py_ssize_t first, o, wide, left, low, high
    cdef int nv, count, rows, r, i, k
    cdef float *v = <float *>(job.scratch + thread_index() * job.bytes)
    cdef float *m = v + 16 * (job.inputs * WIDE + LANES)
    cdef float *packed = m + 16 * FT_ROWS * WIDE
    cdef float *lines = packed + 16 * 2 * WIDE
    cdef float *dst
    cdef const float *a[16]
    count = place(job, index // job.splits, runs, &first, &nv)
    wide = nv * LANES
    transform(job, runs, count, first, nv, v, packed)
    low = index % job.splits * job.per
    high = min(job.outputs, low + job.per)
    o = low
    while o < high:
        rows = <int>min(FT_ROWS, high - o)
        for k in range(16):
            for r in range(rows):
                a[r] = job.u + k * job.ustep + (o + r) * job.inputs
            ft_tile_f32(rows, nv, job.inputs, a, NULL, v + k * (job.inputs * wide + LANES), NULL, NULL, m + k * FT_ROWS * wide, wide, 0)
        for r in range(rows):
            ft_winograd_output(m + r * wide, FT_ROWS * wide, nv, job.bias[o + r] if job.bias != NULL else 0, lines, 2 * WIDE)
            for i in range(count):
                dst = job.out + ((runs[i].image * job.outputs + o + r) * job.height + 2 * runs[i].row) * job.width + 2 * runs[i].column
                left = min(2 * runs[i].n, job.width - 2 * runs[i].column)
                ft_copy_f32(dst, lines + 2 * runs[i].at, left)
                if 2 * runs[i].row + 1 < job.height:
                    ft_copy_f32(dst + job.width, lines + 2 * WIDE + 2 * runs[i].at, left)
        o += rows


cdef void panels_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        panel_task(<Work *>context, begin)


cdef bint winograd(const Geometry *geo, const float *x, const float *w, const float *bias, float *out, bint gradient) except -1:
    """Computes the convolution, or with `gradient` (x being the output's) the input's gradient.

    Returns False, having done nothing, when the input or the weights are not finite."""
    cdef Work job
    cdef Lattice lat
    cdef Storage ready, u, scratch
    cdef Py_ssize_t chunk, image = 0, plane, size, result
    cdef int a
    job.gradient, job.w, job.bias, job.finite = gradient, w, bias, True
    if gradient:
        job.inputs, job.outputs, job.height, job.width = geo.o, geo.c, geo.size[1], geo.size[2]
    else:
        job.inputs, job.outputs, job.height, job.width = geo.c, geo.o, geo.out[1], geo.out[2]
    job.rows, job.columns = (job.height + 1) // 2, (job.width + 1) // 2
    job.pitch = job.columns + 1
    for a in range(3):
        lat.size[a] = geo.out[a] if gradient else geo.size[a]
        lat.pad[a] = geo.kernel[a] - 1 - geo.pad[a] if gradient else geo.pad[a]
        lat.stride[a], lat.dil[a], lat.slots[a] = 2 if a else 1, 1, 2 if a else 1
    lat.q[0], lat.q[1], lat.q[2] = 1, job.rows + 1, job.pitch
    settle(&lat)
    job.lat, job.image_panels = &lat, 0
    plane = job.inputs * lat.plane
    # some 16 MB of images at a time stay in cache between the two passes
    chunk = max(1, min(geo.n, (16 << 20) // (plane * 4)))
    # the last runs are copied by whole vectors
    ready = new_storage((chunk * plane + 2 * WIDE) * 4)
    job.ustep = job.outputs * job.inputs + LANES
    u = new_storage(16 * job.ustep * 4)
    job.bytes = (16 * (job.inputs * WIDE + LANES) + 16 * FT_ROWS * WIDE + 16 * 2 * WIDE + 4 * WIDE) * 4
    scratch = new_storage(thread_count() * job.bytes)
    job.ready, job.u, job.scratch = <float *>ready.ptr, <float *>u.ptr, scratch.ptr
    result = job.outputs * job.height * job.width
    with nogil:
        parallel_for((job.outputs + W_BLOCK - 1) // W_BLOCK, max(1, 2048 // job.inputs), weights, &job)
        if not job.finite:
            return False
        while image < geo.n:
            job.n = min(chunk, geo.n - image)
            job.x, job.out = x + image * job.inputs * lat.volume, out + image * result
            parallel_for(job.n * job.inputs, max(1, 16384 // lat.plane), lay_out, &job)
            if not job.finite:
                return False
            if job.columns >= NARROW:
                job.image_panels = (job.rows * job.pitch - 1 + WIDE - 1) // WIDE
                job.panels = job.n * job.image_panels
            else:
                job.panels = (job.n * job.rows * job.columns + WIDE - 1) // WIDE
            size = (job.outputs + FT_ROWS - 1) // FT_ROWS
            job.splits = max(1, min(8 // job.panels, size // 4))
            job.per = (size + job.splits - 1) // job.splits * FT_ROWS
            job.splits = (job.outputs + job.per - 1) // job.per
            parallel_for(job.panels * job.splits, 1, panels_range, &job)
            image += job.n
    return True
