"""Convolution by Winograd's minimal filtering F(2x2, r x r) for small r: of float32, in one to three dimensions.

Each 2 x 2 block of outputs of a 3 x 3 kernel takes 16 products a channel instead of 36: transformed inputs times
transformed weights, summed over channels by 16 matrix products, transformed back. Lavin and Gray,
"Fast Algorithms for Convolutional Neural Networks" (2015). Larger, strided and dilated kernels are sums of small filters
(winograd_plan.pyx), whose terms are more terms of the same products; so are the taps along depth. Tiles are lanes of vectors: the input is
laid out by remainders of row and column, so that element (i, j) of neighbouring tiles is one run.
The error is a direct convolution's; but a tile spreads an infinity or a NaN over its four outputs,
so inputs are checked, and the caller turns to another algorithm when one is not finite.
"""
from libc.string cimport memset

from fasttensor._core.parallel cimport parallel_for, thread_count, thread_index
from fasttensor._core.storage cimport Storage, new_storage
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice, fill_plane, volume
from fasttensor.cpu.conv.winograd_weight cimport POINT_GAP, Weights, make_weights, weights_at, weights_floats
from fasttensor.cpu.conv.winograd_plan cimport Depth, Filter, MAXPHASES, MAXTAPS, Phase, Tiling, plan_lattice, plan_phase, plan_tiling

cdef extern from "winograd.h" nogil:
    enum: FT_VECTOR_BYTES
    enum: FT_ROWS
    enum: FT_VECS
    void ft_winograd_input(int high, int ry, int rx, const float **d, int nv, float **v)
    void ft_winograd_output(int high, int ry, int rx, const float *m, Py_ssize_t step, int nv, float bias, float *rows, Py_ssize_t pitch)
    void ft_interleave(float *dst, const float *lines, Py_ssize_t pitch, int phases, Py_ssize_t n)
    ctypedef struct Run "ft_tiles":
        Py_ssize_t at, n                # tiles at .. at + n of the panel
        Py_ssize_t start                # of its elements in the planes of the first channel
        Py_ssize_t image, row, column   # of the first tile
    enum: FT_PACKED
    void ft_winograd_pack(float *packed, const float *x, const Py_ssize_t *off, int elements, const Run *run, int runs)
    int ft_all_finite(const float *x, Py_ssize_t n)
    void ft_tile_f32(int rows, int nv, Py_ssize_t k, const float **a, const Py_ssize_t *aoff, const float *b,
                     const Py_ssize_t *off, const float *init, float *c, Py_ssize_t ldc, int add)
    void ft_copy_f32(float *dst, const float *src, Py_ssize_t n)

cdef enum:
    LANES = FT_VECTOR_BYTES // 4
    WIDE = LANES * FT_VECS          # tiles of a panel
    PACKING = 6                     # the cost of a vector copied to a packed panel, beside a product of vectors
    TOGETHER = 4                    # channels packed before the first is read: vectors that span two fresh stores would wait for them
    LEAST = 16                      # channels
    TILE = FT_ROWS * WIDE           # floats of a tile of one point


cdef struct Work:
    Tiling tiling
    Lattice lat
    Phase phase[MAXPHASES]          # of rows and columns
    const float *x
    Weights weights
    const float *bias
    float *out
    float *ready                    # the input laid out, [n][inputs][slots][depth][rows][columns]
    char *scratch
    Py_ssize_t bytes                # scratch of one thread
    Py_ssize_t terms                # of a point, at most, with those of all taps of depth
    Py_ssize_t n                    # images
    Py_ssize_t depths               # planes of the output a task
    Py_ssize_t ximage, oimage       # elements
    Py_ssize_t panels, splits, per  # panels of one plane of the output; tasks that share one; outputs of a task
    Py_ssize_t image_panels         # of one image, 0 where panels run through images
    bint finite


cdef bint winograd_fits(const Geometry *geo, bint gradient) noexcept nogil:
    """Whether the shape is one that this algorithm is the faster for."""
    cdef Tiling t
    if not plan_tiling(geo, gradient, &t):
        return False
    # weights cost a transform, thin tiles waste lanes, and phases read many short rows
    return min(t.inputs, t.outputs) >= (LEAST if geo.groups == 1 else 2 * LEAST) and geo.n * t.y.tiles * t.x.tiles >= 4 * LANES and t.gain >= GAIN \
        and t.y.phases * t.x.phases == 1


cdef double GAIN = 1.6


cdef void lay_out(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Work *job = <Work *>context
    cdef Py_ssize_t i
    cdef const float *x
    for i in range(begin, end):
        x = job.x + i // job.tiling.inputs * job.ximage + i % job.tiling.inputs * job.lat.volume
        if not ft_all_finite(x, job.lat.volume):
            job.finite = False
        fill_plane(x, job.ready + i * job.lat.plane, &job.lat)


cdef int place(Work *job, Py_ssize_t panel, Run *runs, Py_ssize_t *first, int *nv) noexcept nogil:
    """The row segments of a panel; `first` is its start in the plane, -1 where it is packed run by run."""
    cdef Py_ssize_t rows = job.tiling.y.tiles, columns = job.tiling.x.tiles
    cdef Py_ssize_t t, last, pitch = columns, image, count = 0, n, at = 0, total, left, vectors, panels = job.panels
    if job.image_panels:
        pitch = job.lat.q[2]
        panels = job.image_panels
        image, panel = panel // panels, panel % panels
        total = rows * pitch - (pitch - columns)
    else:
        image, total = 0, job.n * rows * columns
    vectors = (total + LANES - 1) // LANES      # spread evenly: 4 as 2 + 2
    t = vectors * panel // panels * LANES
    last = min(total, vectors * (panel + 1) // panels * LANES)
    nv[0] = <int>((last - t + LANES - 1) // LANES)
    first[0] = t if job.image_panels else -1
    while t < last:
        n = min(last - t, pitch - t % pitch)
        left = min(n, columns - t % pitch)      # the rest lies past the row's end
        if left > 0:
            runs[count].at, runs[count].n, runs[count].column = at, left, t % pitch
            runs[count].row = t // pitch % rows
            runs[count].image = image + t // (pitch * rows)
            runs[count].start = runs[count].image * job.tiling.inputs * job.lat.plane + runs[count].row * job.lat.q[2] + runs[count].column
            count += 1
        at += n
        t += n
    return count


cdef void transform(Work *job, Phase *phase, Run *runs, int count, Py_ssize_t first, int nv, Py_ssize_t depth, float *v, float *packed) noexcept nogil:
    """v[point][filter][inputs][tiles] of a panel of one plane of the source."""
    cdef Tiling *t = &job.tiling
    cdef Py_ssize_t *q = job.lat.q
    cdef Py_ssize_t row = q[2], plane = q[0] * q[1] * q[2], wide = nv * LANES, c, i, j, k
    cdef Py_ssize_t off[16]
    cdef const float *d[16]
    cdef float *to[16]
    cdef float *start[16]
    cdef const float *x
    cdef Filter *filter
    cdef int f, p, e, high = t.y.high, ey, ex, ny, nx
    for f in range(phase.count):
        filter = &phase.filter[f]
        ey, ex = filter.y.taps + high - 1, filter.x.taps + 1
        ny, nx = (1 if high == 1 else ey), ex
        for p in range(ey):
            for e in range(ex):
                i, j = filter.y.first - t.y.low + p, filter.x.first - t.x.low + e
                k = (i % high * t.y.modulus + filter.y.slot) * job.lat.slots[2] + j % 2 * t.x.modulus + filter.x.slot
                off[p * ex + e] = k * plane + i // high * row + j // 2
        for p in range(ny):
            for e in range(nx):
                k = filter.point[p * 4 + e]
                start[p * 4 + e] = v + k * LANES + (phase.before[k] + filter.at[p * 4 + e]) * t.inputs * wide
        for c in range(t.inputs):
            x = job.ready + c * job.lat.plane + depth * q[1] * q[2]
            if first < 0 and c % TOGETHER == 0:
                for e in range(<int>min(TOGETHER, t.inputs - c)):
                    ft_winograd_pack(packed + e * 16 * FT_PACKED, x + e * job.lat.plane, off, ey * ex, runs, count)
            for p in range(ey):
                for e in range(ex):
                    if first >= 0:
                        d[p * 4 + e] = x + runs[0].image * t.inputs * job.lat.plane + off[p * ex + e] + first
                    else:
                        d[p * 4 + e] = packed + (c % TOGETHER * 16 + p * ex + e) * FT_PACKED
            for p in range(ny):
                for e in range(nx):
                    to[p * 4 + e] = start[p * 4 + e] + c * wide
            ft_winograd_input(high, filter.y.taps, filter.x.taps, d, nv, to)


cdef inline Py_ssize_t slice_floats(const Work *job, Py_ssize_t index, Py_ssize_t wide) noexcept nogil:
    """Of one plane of the source, transformed for a phase."""
    return job.phase[index].before[16] * job.tiling.inputs * wide + 16 * LANES


cdef void multiply_points(Work *job, Phase *phase, const float *u, Py_ssize_t o, int rows, Py_ssize_t skipped, Py_ssize_t taps, Py_ssize_t all,
                          const float *v, const Py_ssize_t *slots, Py_ssize_t step, int nv, Py_ssize_t *off, float *m) noexcept nogil:
    """m[point][row][tile] for `rows` outputs from o on, of the taps of depth skipped .. skipped + taps of `all`, whose planes are at
    slots[tap] * step of v."""
    cdef Py_ssize_t wide = nv * LANES, k, terms, n, inputs = job.tiling.inputs
    cdef const float *a[16]
    cdef const float *b
    cdef int r, i, j, ny = 1 if job.tiling.y.high == 1 else phase.most_y + 1, nx = phase.most_x + 1
    n = -1
    for i in range(ny):
        for j in range(nx):
            k = (3 if i == phase.most_y and job.tiling.y.high == 2 else i) * 4 + (3 if j == phase.most_x else j)
            terms = phase.terms[k] * inputs
            for r in range(rows):
                a[r] = u + k * POINT_GAP + all * phase.before[k] * inputs * job.tiling.outputs + ((o + r) * all + skipped) * terms
            b = v + k * LANES + phase.before[k] * inputs * wide
            if taps == 1:
                b += slots[0] * step
            elif terms != n:
                n = terms
                for r in range(<int>taps):
                    offsets(off + r * n, n, slots[r] * step, wide)
            ft_tile_f32(rows, nv, taps * terms, a, NULL, b, NULL if taps == 1 else off, NULL, m + k * FT_ROWS * wide, wide, 0)


cdef void offsets(Py_ssize_t *off, Py_ssize_t n, Py_ssize_t start, Py_ssize_t step) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        off[i] = start + i * step


cdef void write_rows(Work *job, Run *runs, int count, Py_ssize_t plane, Py_ssize_t row_phase, const float *lines, Py_ssize_t pitch) noexcept nogil:
    """Rows of one output channel; `plane` is where its plane begins in an image."""
    cdef Tiling *t = &job.tiling
    cdef Py_ssize_t height = t.out[1], width = t.out[2], steps = 2 * t.x.phases, left, row
    cdef int i, h
    cdef float *dst
    for i in range(count):
        left = min(steps * runs[i].n, width - steps * runs[i].column)
        for h in range(t.y.high):
            row = (t.y.high * runs[i].row + h) * t.y.phases + row_phase
            if row < height and left > 0:
                dst = job.out + runs[i].image * job.oimage + plane + row * width + steps * runs[i].column
                ft_copy_f32(dst, lines + h * pitch + steps * runs[i].at, left)


cdef void panel_task(Work *job, Py_ssize_t index) noexcept nogil:
    """Some outputs of one panel, of some planes of depth and one phase of rows."""
    cdef Tiling *t = &job.tiling
    cdef Depth *d = &t.depth
    cdef Run runs[WIDE]
    cdef Py_ssize_t held[MAXTAPS]           # the plane of the source in each slot of v
    cdef Py_ssize_t slots[MAXTAPS]
    cdef float *v[MAXPHASES]
    cdef Py_ssize_t step[MAXPHASES]
    cdef Py_ssize_t first, low, wide, depth, deep, row, all, skipped, taps, z, slot, columns = t.x.phases
    cdef int nv, count, i
    cdef Phase *phases
    cdef float *m = <float *>(job.scratch + thread_index() * job.bytes)
    cdef float *packed = m + columns * 16 * TILE
    cdef float *values = packed + TOGETHER * 16 * FT_PACKED
    low = index % job.splits * job.per
    index //= job.splits
    count = place(job, index % job.panels, runs, &first, &nv)
    index //= job.panels
    row = index % t.y.phases
    index //= t.y.phases
    wide = nv * LANES
    phases = &job.phase[row * columns]
    for i in range(columns):
        step[i] = slice_floats(job, row * columns + i, wide)
        v[i] = values
        values += step[i] * d.span
    for slot in range(d.span):
        held[slot] = -1
    for depth in range(index * job.depths, min(t.out[0], (index + 1) * job.depths)):
        deep, skipped, taps = depth % d.phases, 0, 0
        all = d.start[deep + 1] - d.start[deep]
        for i in range(all):            # taps before the first plane, then taps inside
            z = depth // d.phases * d.modulus + d.shift[d.start[deep] + i]
            if z < 0:
                skipped += 1
            elif z < t.source[0]:
                slots[taps] = slot = z % d.span
                taps += 1
                if held[slot] != z:
                    held[slot] = z
                    transform_phases(job, phases, runs, count, first, nv, z, v, step, slot, packed)
        outputs(job, low, row, depth, runs, count, nv, v, step, slots, skipped, taps, m)


cdef void transform_phases(Work *job, Phase *phases, Run *runs, int count, Py_ssize_t first, int nv, Py_ssize_t z, float **v,
                           const Py_ssize_t *step, Py_ssize_t slot, float *packed) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(job.tiling.x.phases):
        transform(job, &phases[i], runs, count, first, nv, z, v[i] + slot * step[i], packed)


cdef void outputs(Work *job, Py_ssize_t o, Py_ssize_t row, Py_ssize_t depth, Run *runs, int count, int nv, float **v, const Py_ssize_t *step,
                  const Py_ssize_t *slots, Py_ssize_t skipped, Py_ssize_t taps, float *m) noexcept nogil:
    """The outputs from o on of a task, of one plane, from the transformed source."""
    cdef Tiling *t = &job.tiling
    cdef Py_ssize_t last = min(t.outputs, o + job.per), columns = t.x.phases, line = 4 * WIDE, wide = nv * LANES, deep = depth % t.depth.phases
    cdef Py_ssize_t all = t.depth.start[deep + 1] - t.depth.start[deep], z
    cdef int rows, r, i, h
    cdef Phase *phases = &job.phase[row * columns]
    cdef const float *u[MAXPHASES]
    cdef float *lines = m + job.bytes // 4 - 2 * columns * line - LANES     # [column phase][row][2 * WIDE]
    cdef float *joined = lines + columns * line
    cdef Py_ssize_t *off = <Py_ssize_t *>(lines - 2 * job.terms)
    for i in range(columns):
        u[i] = weights_at(&job.weights, deep, row * columns + i)
    while o < last:
        rows = <int>min(FT_ROWS, last - o)
        for i in range(columns):
            multiply_points(job, &phases[i], u[i], o, rows, skipped, taps, all, v[i], slots, step[i], nv, off, m + i * 16 * TILE)
        for r in range(rows):
            for i in range(columns):
                ft_winograd_output(t.y.high, phases[i].most_y, phases[i].most_x, m + i * 16 * TILE + r * wide, FT_ROWS * wide, nv,
                                   job.bias[o + r] if job.bias != NULL else 0, lines + i * line, 2 * WIDE)
            z = ((o + r) * t.out[0] + depth) * t.out[1] * t.out[2]
            if columns == 1:
                write_rows(job, runs, count, z, row, lines, 2 * WIDE)
                continue
            for h in range(t.y.high):
                ft_interleave(joined + h * columns * 2 * WIDE, lines + h * 2 * WIDE, line, <int>columns, 2 * wide)
            write_rows(job, runs, count, z, row, joined, columns * 2 * WIDE)
        o += rows


cdef void panels_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    for begin in range(begin, end):
        panel_task(<Work *>context, begin)


cdef Py_ssize_t scratch_floats(Work *job) noexcept nogil:
    """Of one thread: points, packed tiles, transformed planes, offsets of terms, rows of outputs."""
    cdef Tiling *t = &job.tiling
    cdef Py_ssize_t row, column, most = 0, some, columns = t.x.phases, k
    job.terms = 0
    for row in range(t.y.phases):
        some = 0
        for column in range(columns):
            some += slice_floats(job, row * columns + column, WIDE) * t.depth.span
            for k in range(16):
                job.terms = max(job.terms, job.phase[row * columns + column].terms[k] * t.depth.span * t.inputs)
        most = max(most, some)
    return columns * 16 * TILE + TOGETHER * 16 * FT_PACKED + most + 2 * job.terms + 2 * columns * 4 * WIDE + LANES


cdef void choose_panels(Work *job) noexcept nogil:
    """Whether panels are packed through all images, or runs of the plane with the ends of its rows; and how they make tasks."""
    cdef Tiling *t = &job.tiling
    cdef Py_ssize_t pitch = job.lat.q[2], rows = t.y.tiles, columns = t.x.tiles, flat, packed, blocks, tasks, i, elements = 0
    for i in range(job.phase[0].count):
        elements += (job.phase[0].filter[i].y.taps + 1) * (job.phase[0].filter[i].x.taps + 1)
    flat = (rows * pitch - (pitch - columns) + LANES - 1) // LANES * job.n
    packed = (job.n * rows * columns + LANES - 1) // LANES
    # a vector of tiles costs a product for each point and output; packing costs copies for each row
    job.image_panels = 0
    if (flat - packed) * job.phase[0].before[16] * t.outputs * t.depth.start[1] <= PACKING * elements * (job.n * rows + packed // FT_VECS):
        job.image_panels = (flat // job.n + FT_VECS - 1) // FT_VECS
        job.panels = job.n * job.image_panels
    else:
        job.panels = (packed + FT_VECS - 1) // FT_VECS
    tasks = job.panels * t.y.phases
    # planes of depth share transformed planes of the source: several to a task, but leave enough tasks
    job.depths = max(1, min(t.out[0], tasks * t.out[0] // 16))
    tasks *= (t.out[0] + job.depths - 1) // job.depths
    blocks = (t.outputs + FT_ROWS - 1) // FT_ROWS
    job.splits = max(1, min(8 // tasks, blocks // 4))
    job.per = (blocks + job.splits - 1) // job.splits * FT_ROWS
    job.splits = (t.outputs + job.per - 1) // job.per


cdef bint run_group(Work *job, const Geometry *geo, Py_ssize_t chunk) noexcept nogil:
    """All images of one group."""
    cdef Tiling *t = &job.tiling
    cdef Py_ssize_t image = 0
    cdef const float *x = job.x
    cdef float *out = job.out
    if not make_weights(&job.weights):
        return False
    while image < geo.n:
        job.n = min(chunk, geo.n - image)
        job.x, job.out = x + image * job.ximage, out + image * job.oimage
        parallel_for(job.n * t.inputs, max(1, 16384 // job.lat.plane), lay_out, job)
        if not job.finite:
            return False
        choose_panels(job)
        parallel_for(job.panels * job.splits * t.y.phases * ((t.out[0] + job.depths - 1) // job.depths), 1, panels_range, job)
        image += job.n
    return True


cdef bint winograd(const Geometry *geo, const float *x, const float *w, const float *bias, float *out, bint gradient) except -1:
    """Computes the convolution, or with `gradient` (x being the output's) the input's gradient.

    Returns False when the input or the weights are not finite."""
    cdef Work *job
    cdef Tiling *t
    cdef Storage store = new_storage(sizeof(Work)), ready, u, scratch
    cdef Py_ssize_t chunk, plane, row, column, group
    cdef bint done = True
    memset(store.ptr, 0, sizeof(Work))
    job = <Work *>store.ptr
    t = &job.tiling
    job.finite = True
    plan_tiling(geo, gradient, t)
    plan_lattice(t, &job.lat)
    for row in range(t.y.phases):
        for column in range(t.x.phases):
            plan_phase(t, row, column, &job.phase[row * t.x.phases + column])
    plane = t.inputs * job.lat.plane
    # some 16 MB of images at a time stay in cache between the two passes
    chunk = max(1, min(geo.n, (16 << 20) // (plane * 4)))
    # the last runs are copied by whole vectors
    ready = new_storage((chunk * plane + 2 * WIDE) * 4)
    job.weights.tiling, job.weights.phase, job.weights.gradient = t, job.phase, gradient
    u = new_storage(weights_floats(&job.weights) * 4)
    job.bytes = (scratch_floats(job) * 4 + 63) // 64 * 64
    scratch = new_storage(thread_count() * job.bytes)
    job.ready, job.weights.u, job.scratch = <float *>ready.ptr, <float *>u.ptr, scratch.ptr
    job.ximage = geo.groups * t.inputs * job.lat.volume
    job.oimage = geo.groups * t.outputs * volume(t.out)
    with nogil:
        for group in range(geo.groups):
            job.x, job.out = x + group * t.inputs * job.lat.volume, out + group * t.outputs * volume(t.out)
            job.weights.w = w + group * t.outputs * t.inputs * t.taps
            job.bias = bias + group * t.outputs if bias != NULL else NULL
            done = done and run_group(job, geo, chunk)
    return done
