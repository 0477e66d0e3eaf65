"""The gradients of a convolution's weight and bias.

gw[o, c, tap] = sum over images and pixels of g[o, pixel] * x[c, pixel + tap]

Vectors run over output channels, so the output gradient is transposed to [pixel][o] once; each
of some (c, tap) rows of the input's lattice is broadcast pixel by pixel. Sums stay in registers
over a block of image rows. Few rows and channels make few tiles: then images are split among
tasks whose partial sums are added in a fixed order.
"""
from libc.string cimport memset

from fasttensor._core.parallel cimport parallel_for
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice, Tap, real, volume

cdef extern from "micro.h" nogil:
    enum: FT_VECTOR_BYTES
    enum: FT_ROWS
    enum: FT_VECS
    void ft_rows_f32(int rows, int nv, Py_ssize_t planes, Py_ssize_t step, Py_ssize_t height, Py_ssize_t width, Py_ssize_t pitch,
                     const float **a, const float *b, float *c, Py_ssize_t ldc)
    void ft_rows_f64(int rows, int nv, Py_ssize_t planes, Py_ssize_t step, Py_ssize_t height, Py_ssize_t width, Py_ssize_t pitch,
                     const double **a, const double *b, double *c, Py_ssize_t ldc)
    void ft_copy_f32(float *dst, const float *src, Py_ssize_t n)
    void ft_copy_f64(double *dst, const double *src, Py_ssize_t n)

cdef extern from "transpose.h" nogil:
    void ft_transpose(char *dst, Py_ssize_t ds, const char *src, Py_ssize_t ss, Py_ssize_t n, Py_ssize_t m, int size)

cdef enum:
    BLOCK_BYTES = 1 << 17       # of the transposed gradient: stays in L2 while the rows of a task pass


cdef struct Work:
    const Geometry *geo
    const Lattice *lat
    const void *x
    const void *g
    const Py_ssize_t *off
    void *transposed
    void *partial
    void *out
    Py_ssize_t ximage, xgroup
    Py_ssize_t images
    bint fresh                  # the first images: sums start at zero
    Py_ssize_t pixels           # of an image
    Py_ssize_t co, k            # outputs and terms of a group
    Py_ssize_t panels           # of outputs
    Py_ssize_t blocks           # row tiles of k
    Py_ssize_t per              # row tiles a task
    Py_ssize_t parts            # tasks of one panel
    Py_ssize_t splits           # of the images


cdef inline Py_ssize_t panel_vectors(Py_ssize_t vectors, Py_ssize_t panel, Py_ssize_t panels, Py_ssize_t *first) noexcept nogil:
    """Vectors of a panel, spread evenly: 4 as 2 + 2."""
    first[0] = vectors * panel // panels
    return vectors * (panel + 1) // panels - first[0]


cdef void transpose_task(Work *job, Py_ssize_t index, const real *kind) noexcept nogil:
    """One panel of one image and group, as [pixel][lane]."""
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // sizeof(real), first
    cdef Py_ssize_t panel = index % job.panels, rest = index // job.panels
    cdef Py_ssize_t group = rest % job.geo.groups, image = rest // job.geo.groups
    cdef Py_ssize_t vectors = (job.co + lanes - 1) // lanes
    cdef Py_ssize_t width = panel_vectors(vectors, panel, job.panels, &first) * lanes
    cdef Py_ssize_t have = min(width, job.co - first * lanes)
    cdef const real *src = <const real *>job.g + ((image * job.geo.groups + group) * job.co + first * lanes) * job.pixels
    cdef real *dst = <real *>job.transposed + ((group * vectors + first) * job.images + image * (width // lanes)) * job.pixels * lanes
    if have < width:
        memset(dst, 0, job.pixels * width * sizeof(real))
    ft_transpose(<char *>dst, width * sizeof(real), <const char *>src, job.pixels * sizeof(real), have, job.pixels, sizeof(real))


cdef void sum_task(Work *job, Py_ssize_t index, const real *kind) noexcept nogil:
    """Some rows of k for one panel of outputs over some of the images."""
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // sizeof(real), first, size
    cdef Py_ssize_t part = index % job.parts, rest = index // job.parts
    cdef Py_ssize_t panel = rest % job.panels, split, group, image, last, together, d, h, high, tile, r0, r1, height, r
    cdef Py_ssize_t vectors = (job.co + lanes - 1) // lanes
    cdef Py_ssize_t nv = panel_vectors(vectors, panel, job.panels, &first), width = nv * lanes
    cdef Py_ssize_t *cnt = <Py_ssize_t *>job.geo.out
    cdef Py_ssize_t *q = <Py_ssize_t *>job.lat.q
    cdef const real *b
    cdef const real *x
    cdef const real *a[16]
    cdef real *c
    rest //= job.panels
    split, group = rest % job.splits, rest // job.splits
    c = <real *>job.partial + (((group * job.splits + split) * vectors + first) * lanes) * job.k
    if job.fresh:
        r0, r1 = job.k * part * job.per // job.blocks, job.k * min(job.blocks, (part + 1) * job.per) // job.blocks
        memset(c + r0 * width, 0, (r1 - r0) * width * sizeof(real))
    size = cnt[2] * width * sizeof(real)
    height = max(1, BLOCK_BYTES // size)
    # small images: several in one go, with the sums in registers
    together = max(1, BLOCK_BYTES // (size * cnt[1])) if cnt[0] == 1 else 1
    image, last = job.images * split // job.splits, job.images * (split + 1) // job.splits
    while image < last:
        together = min(together, last - image)
        x = <const real *>job.x + image * job.ximage + group * job.xgroup
        b = <const real *>job.transposed + ((group * vectors + first) * job.images + image * nv) * job.pixels * lanes
        for d in range(cnt[0]):
            h = 0
            while h < cnt[1]:
                high = min(height, cnt[1] - h)
                for tile in range(part * job.per, min(job.blocks, (part + 1) * job.per)):
                    r0, r1 = job.k * tile // job.blocks, job.k * (tile + 1) // job.blocks
                    for r in range(r0, r1):
                        a[r - r0] = x + job.off[r] + (d * q[1] + h) * q[2]
                    if real is float:
                        ft_rows_f32(<int>(r1 - r0), <int>nv, together, job.ximage, high, cnt[2], q[2], a, b, c + r0 * width, width)
                    else:
                        ft_rows_f64(<int>(r1 - r0), <int>nv, together, job.ximage, high, cnt[2], q[2], a, b, c + r0 * width, width)
                b += high * cnt[2] * width
                h += high
        image += together


cdef void transpose_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        transpose_task(<Work *>context, begin, <float *>NULL)


cdef void transpose_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        transpose_task(<Work *>context, begin, <double *>NULL)


cdef void sum_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        sum_task(<Work *>context, begin, <float *>NULL)


cdef void sum_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        sum_task(<Work *>context, begin, <double *>NULL)


cdef bint swapped(const Geometry *geo) noexcept nogil:
    """A window of one pixel: input and gradient may change places, so that the one with fewer channels is transposed."""
    cdef int a
    for a in range(3):      # windows that stop short of an edge leave a lattice wider than the output
        if geo.stride[a] == 1 and geo.pad[a] == 0 and geo.size[a] > geo.out[a]:
            return False
    return volume(geo.kernel) == 1 and geo.c < geo.o


cdef void partition(Work *job, const Geometry *geo, Py_ssize_t images, Py_ssize_t lanes) noexcept nogil:
    cdef Py_ssize_t vectors, tasks
    job.geo, job.images = geo, images
    job.co, job.k = geo.o // geo.groups, geo.c // geo.groups * volume(geo.kernel)
    if swapped(geo):
        job.co, job.k = job.k, job.co
    job.pixels = volume(geo.out)
    vectors = (job.co + lanes - 1) // lanes
    job.panels = (vectors + FT_VECS - 1) // FT_VECS
    job.blocks = (job.k + FT_ROWS - 1) // FT_ROWS
    # A task's row tiles share its block of the transposed gradient: several, but leave enough tasks.
    job.per = max(1, min(16, job.blocks * job.panels * geo.groups // 16))
    job.parts = (job.blocks + job.per - 1) // job.per
    tasks = job.parts * job.panels * geo.groups
    job.splits = 1 if tasks >= 12 else max(1, min(images, 16 // max(tasks, 1)))


cdef size_t weight_scratch(const Geometry *geo, Py_ssize_t images, Py_ssize_t *chunk, Py_ssize_t *splits, size_t *sums, size_t itemsize) noexcept nogil:
    """Elements of `transposed` for `chunk` images at a time, and of `partial` in `sums`."""
    cdef Work job
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // <Py_ssize_t>itemsize, vectors
    partition(&job, geo, images, lanes)
    vectors = (job.co + lanes - 1) // lanes
    # whole images in blocks of at most 64 MB
    chunk[0] = max(1, min(images, (64 << 20) // max(1, vectors * FT_VECTOR_BYTES * geo.groups * job.pixels)))
    splits[0] = min(job.splits, chunk[0])
    sums[0] = geo.groups * splits[0] * vectors * lanes * job.k
    return vectors * lanes * geo.groups * job.pixels * chunk[0]


cdef void weight_gradient(const Geometry *geo, const Lattice *lat, const real *x, Py_ssize_t ximage, const real *g, Py_ssize_t images,
                          const Tap *taps, Py_ssize_t *off, real *transposed, real *partial, Py_ssize_t splits, bint fresh) noexcept nogil:
    """Adds the images' part to `partial`, or starts it when `fresh`."""
    cdef Work job
    cdef Lattice dense
    cdef Py_ssize_t c, t, kernel = volume(geo.kernel), flops
    partition(&job, geo, images, FT_VECTOR_BYTES // sizeof(real))
    job.splits, job.fresh = splits, fresh
    job.lat, job.x, job.g, job.ximage, job.off = lat, x, g, ximage, off
    job.xgroup = geo.c // geo.groups * lat.plane
    job.transposed, job.partial = transposed, partial
    for c in range(geo.c // geo.groups):
        for t in range(kernel):
            off[c * kernel + t] = c * lat.plane + taps[t].offset
    if swapped(geo):
        # a window of one pixel reads every position of the lattice once, in order
        job.x, job.g, job.ximage = g, x, geo.o * job.pixels
        job.xgroup = job.k * job.pixels
        for c in range(job.k):
            off[c] = c * job.pixels
        dense = lat[0]
        for t in range(3):
            dense.q[t] = geo.out[t]
        job.lat = &dense
    parallel_for(images * geo.groups * job.panels, max(1, 32768 // (job.pixels * 32 + 1)),
                 transpose_f32 if real is float else transpose_f64, &job)
    flops = 1 + job.per * FT_ROWS * images * job.pixels * FT_VECS * (FT_VECTOR_BYTES // <Py_ssize_t>sizeof(real)) // splits
    parallel_for(geo.groups * splits * job.panels * job.parts, max(1, 500000 // flops), sum_f32 if real is float else sum_f64, &job)


cdef void finish_task(Work *job, Py_ssize_t index, const real *kind) noexcept nogil:
    """Adds the splits of some rows of k and writes them as [o][k], or [k][o] where the operands were swapped."""
    cdef Py_ssize_t lanes = FT_VECTOR_BYTES // sizeof(real), first, s, i, r0, r1, width, have
    cdef Py_ssize_t part = index % job.parts, rest = index // job.parts, panel = rest % job.panels, group = rest // job.panels
    cdef Py_ssize_t vectors = (job.co + lanes - 1) // lanes
    cdef real *sums
    cdef real *out = <real *>job.out + group * job.co * job.k
    width = panel_vectors(vectors, panel, job.panels, &first) * lanes
    have = min(width, job.co - first * lanes)
    r0, r1 = job.k * part // job.parts, job.k * (part + 1) // job.parts
    sums = <real *>job.partial + (group * job.splits * vectors + first) * lanes * job.k + r0 * width
    for s in range(1, job.splits):
        for i in range((r1 - r0) * width):
            sums[i] += sums[s * vectors * lanes * job.k + i]
    if swapped(job.geo):
        for i in range(r1 - r0):
            if real is float:
                ft_copy_f32(out + (r0 + i) * job.co + first * lanes, sums + i * width, have)
            else:
                ft_copy_f64(out + (r0 + i) * job.co + first * lanes, sums + i * width, have)
    else:
        ft_transpose(<char *>(out + first * lanes * job.k + r0), job.k * sizeof(real), <const char *>sums, width * sizeof(real),
                     r1 - r0, have, sizeof(real))


cdef void finish_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        finish_task(<Work *>context, begin, <float *>NULL)


cdef void finish_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        finish_task(<Work *>context, begin, <double *>NULL)


cdef void weight_finish(const Geometry *geo, const real *partial, Py_ssize_t splits, real *out) noexcept nogil:
    """Turns [group][split][panel][k][lane] into the weight's [group][o][k]."""
    cdef Work job
    partition(&job, geo, 1, FT_VECTOR_BYTES // sizeof(real))
    job.partial, job.out, job.splits = <void *>partial, out, splits
    job.parts = (job.k + 63) // 64
    parallel_for(geo.groups * job.panels * job.parts, 16, finish_f32 if real is float else finish_f64, &job)


cdef struct Sums:
    const void *g
    void *out
    Py_ssize_t images, channels, plane


cdef void sums_task(Sums *job, Py_ssize_t channel, const real *kind) noexcept nogil:
    cdef const real *g
    cdef Py_ssize_t image, i, j
    cdef real part[32]
    cdef double total = 0
    for image in range(job.images):
        g = <const real *>job.g + (image * job.channels + channel) * job.plane
        memset(part, 0, sizeof(part))
        i = 0
        while i + 32 <= job.plane:
            for j in range(32):
                part[j] += g[i + j]
            i += 32
        for j in range(job.plane - i):
            part[j] += g[i + j]
        for j in range(32):
            total += part[j]
    (<real *>job.out)[channel] = <real>total


cdef void sums_f32(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        sums_task(<Sums *>context, begin, <float *>NULL)


cdef void sums_f64(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        sums_task(<Sums *>context, begin, <double *>NULL)


cdef void channel_sums(const real *g, Py_ssize_t images, Py_ssize_t channels, Py_ssize_t plane, real *out) noexcept nogil:
    """The bias's gradient: sums of [images][channels][plane] over images and planes."""
    cdef Sums job
    job.g, job.out, job.images, job.channels, job.plane = g, out, images, channels, plane
    parallel_for(channels, max(1, 65536 // (images * plane + 1)), sums_f32 if real is float else sums_f64, &job)
