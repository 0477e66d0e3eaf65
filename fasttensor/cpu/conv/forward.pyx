"""Convolution on tensors: the forward pass and both gradients, for 1, 2 and 3 spatial dimensions.

    convolution(x, w, bias, stride, padding, dilation, groups)
    convolution_input(g, w, sizes, stride, padding, dilation, groups, bias)    also the transposed convolution
    convolution_weight(g, x, sizes, stride, padding, dilation, groups)
    channel_sum(g)                                                             the bias's gradient

x is [N, C, ...], w [O, C / groups, ...]. Half types compute in float32, complex types as products
of real and imaginary parts, integers in their own type. This file only chooses among the algorithms.
"""
from libc.stdlib cimport malloc, free
from libc.string cimport memset

from fasttensor._core.dtype cimport (FLOAT32, FLOAT64, is_integral_code, is_complex_code,
                                     FLOAT16, BFLOAT16, real_code, promote)
from fasttensor._core.parallel cimport thread_count
from fasttensor._core.storage cimport Storage, new_storage, no_room
from fasttensor._core.tensor cimport Tensor, new_tensor, contiguous, cast, describe
from fasttensor.cpu.conv.lattice cimport (Geometry, Lattice, Tap, real, volume, forward_lattice, gradient_lattice,
                                          forward_taps, gradient_taps, fill_planes)
from fasttensor.cpu.conv.product cimport Product, AHEAD, multiply, scratch_bytes
from fasttensor.cpu.conv.weight cimport weight_scratch, weight_gradient, weight_finish, channel_sums
from fasttensor.cpu.conv.depthwise cimport depthwise_scratch, depthwise_forward, depthwise_input, depthwise_weight
from fasttensor.cpu.conv.winograd cimport winograd_fits, winograd
from fasttensor.cpu.conv.exact cimport exact_forward, exact_input, exact_weight

cdef bint describe_shapes(Geometry *geo, int rank, const Py_ssize_t *x, int wrank, const Py_ssize_t *w,
                          tuple stride, tuple padding, tuple dilation, Py_ssize_t groups) except False:
    """Fills everything but the output's extents from the shapes of the input and the weight."""
    cdef int nd = rank - 2, a, lead = 3 - nd
    if nd < 1 or nd > 3 or rank != wrank:
        raise RuntimeError(f"convolution: expected an input and a weight of 3 to 5 dimensions alike, got {rank} and {wrank}")
    geo.n, geo.c, geo.o, geo.groups = x[0], x[1], w[0], groups
    for a in range(3):
        geo.size[a] = geo.kernel[a] = geo.stride[a] = geo.dil[a] = geo.out[a] = 1
        geo.pad[a] = 0
    for a in range(nd):
        geo.size[lead + a], geo.kernel[lead + a] = x[2 + a], w[2 + a]
        geo.stride[lead + a], geo.pad[lead + a], geo.dil[lead + a] = stride[a], padding[a], dilation[a]
    if groups < 1 or geo.c % groups or geo.o % groups or geo.c != w[1] * groups:
        raise RuntimeError(f"convolution: a weight with {w[0]} outputs and {w[1]} inputs a group does not fit "
                           f"{geo.c} input channels with groups={groups}")
    return True


cdef Tensor contiguous_like(Tensor x, int code):
    return cast(contiguous(x), code)


cdef bint separate(const Geometry *geo) noexcept nogil:
    return geo.groups == geo.c and geo.c > 1 and geo.o // geo.c <= 8


cdef int split_residue(const Geometry *geo, Py_ssize_t *r, Py_ssize_t *cnt) noexcept nogil:
    """Input positions of one residue; 0 when there are none."""
    cdef int a
    for a in range(3):
        cnt[a] = (geo.size[a] - r[a] + geo.stride[a] - 1) // geo.stride[a]
        if cnt[a] <= 0:
            return 0
    return 1


cdef Storage laid_out(const real *x, const Lattice *lat, Py_ssize_t planes, const real **ready):
    """The prepared planes: `x` itself where its own layout will do."""
    cdef Storage store = None
    ready[0] = x
    if not lat.plain:
        # a vector more than is used, so that runs may be copied by whole vectors
        store = new_storage((planes * lat.plane + 64) * sizeof(real))
        with nogil:
            fill_planes(x, <real *>store.ptr, planes, lat)
        ready[0] = <real *>store.ptr
    return store


cdef Py_ssize_t chunk_images(const Geometry *geo, Py_ssize_t channels, const Lattice *lat, Py_ssize_t itemsize) noexcept nogil:
    """Images prepared at a time: at most some 16 MB, so that they are still in cache when read."""
    if lat.plain:
        return max(1, geo.n)
    return max(1, min(geo.n, (16 << 20) // max(1, channels * lat.plane * itemsize)))


cdef bint run_forward(Geometry *geo, const real *x, const real *w, const real *bias, real *out) except False:
    cdef Lattice lat
    cdef Product p
    cdef Storage scratch, _store
    cdef Py_ssize_t ci = geo.c // geo.groups, co = geo.o // geo.groups, kernel = volume(geo.kernel), c, t, image, chunk
    cdef Tap *taps
    cdef Py_ssize_t *off
    cdef const real *ready
    forward_lattice(geo, &lat)
    if separate(geo):
        scratch = new_storage(thread_count() * depthwise_scratch(geo, &lat) * sizeof(real))
        with nogil:
            depthwise_forward(geo, &lat, x, w, bias, out, <real *>scratch.ptr)
        return True
    if real is float:
        if winograd_fits(geo, False) and winograd(geo, x, w, bias, out, False):
            return True
    scratch = new_storage(thread_count() * scratch_bytes())
    taps = <Tap *>malloc(kernel * sizeof(Tap) + ci * kernel * sizeof(Py_ssize_t) + 1)
    if taps == NULL:
        raise no_room(NO_MEMORY)
    off = <Py_ssize_t *>(taps + kernel)
    forward_taps(geo, &lat, taps)
    for c in range(ci):
        for t in range(kernel):
            off[c * kernel + t] = c * lat.plane + taps[t].offset
    p.groups, p.m, p.k, p.channels, p.off, p.exact = geo.groups, co, ci * kernel, ci, off, lat.plain
    p.cnt, p.q, p.taps = geo.out, lat.q, taps
    p.xgroup, p.ximage = ci * lat.plane, geo.c * lat.plane
    p.w, p.wgroup, p.wrow, p.woff, p.bias = w, co * p.k, p.k, NULL, bias
    p.orow = volume(geo.out)
    p.ogroup, p.oimage = co * p.orow, geo.o * p.orow
    p.ostep[0], p.ostep[1], p.ostep[2] = geo.out[1] * geo.out[2], geo.out[2], 1
    chunk = chunk_images(geo, geo.c, &lat, sizeof(real))
    image = 0
    try:
        while image < geo.n:
            p.images = min(chunk, geo.n - image)
            _store = laid_out(x + image * geo.c * lat.volume, &lat, p.images * geo.c, &ready)
            p.x, p.out = ready, out + image * p.oimage
            with nogil:
                multiply(&p, scratch.ptr, <real *>NULL)
            image += p.images
    finally:
        free(taps)
    return True


NO_MEMORY = "convolution: no memory for the offsets of the kernel's elements"


cdef bint run_input(Geometry *geo, const real *g, const real *w, const real *bias, real *out) except False:
    cdef Lattice lat
    cdef Product p
    cdef Storage scratch, _store
    cdef Py_ssize_t ci = geo.c // geo.groups, co = geo.o // geo.groups, kernel = volume(geo.kernel), o, t, n, image, chunk
    cdef Py_ssize_t r[3]
    cdef Tap *taps
    cdef Py_ssize_t *off
    cdef Py_ssize_t *woff
    cdef const real *ready
    gradient_lattice(geo, &lat)
    if separate(geo):
        scratch = new_storage(thread_count() * depthwise_scratch(geo, &lat) * sizeof(real))
        with nogil:
            depthwise_input(geo, &lat, g, w, bias, out, <real *>scratch.ptr)
        return True
    if real is float:
        if winograd_fits(geo, True) and winograd(geo, g, w, bias, out, True):
            return True
    scratch = new_storage(thread_count() * scratch_bytes())
    taps = <Tap *>malloc(kernel * sizeof(Tap) + (2 * co * kernel + AHEAD) * sizeof(Py_ssize_t))
    if taps == NULL:
        raise no_room(NO_MEMORY)
    off = <Py_ssize_t *>(taps + kernel)
    woff = off + co * kernel
    p.groups, p.m, p.channels, p.off, p.q, p.exact, p.taps = geo.groups, ci, co, off, lat.q, lat.plain, taps
    p.xgroup, p.ximage = co * lat.plane, geo.o * lat.plane
    p.w, p.wgroup, p.wrow, p.woff, p.bias = w, co * ci * kernel, kernel, woff, bias
    p.orow = volume(geo.size)
    p.ogroup, p.oimage = ci * p.orow, geo.c * p.orow
    p.ostep[2] = geo.stride[2]
    p.ostep[1] = geo.stride[1] * geo.size[2]
    p.ostep[0] = geo.stride[0] * geo.size[1] * geo.size[2]
    chunk = chunk_images(geo, geo.o, &lat, sizeof(real))
    image = 0
    try:
        while image < geo.n:
            p.images = min(chunk, geo.n - image)
            _store = laid_out(g + image * geo.o * lat.volume, &lat, p.images * geo.o, &ready)
            p.x = ready
            for r[0] in range(geo.stride[0]):
                for r[1] in range(geo.stride[1]):
                    for r[2] in range(geo.stride[2]):
                        if not split_residue(geo, r, p.cnt):
                            continue
                        with nogil:
                            n = gradient_taps(geo, &lat, r, taps)
                            for o in range(co):
                                for t in range(n):
                                    off[o * n + t] = o * lat.plane + taps[t].offset
                                    woff[o * n + t] = o * ci * kernel + taps[t].index
                            p.k = co * n
                            for t in range(AHEAD):
                                woff[p.k + t] = 0
                            p.out = out + image * p.oimage + (r[0] * geo.size[1] + r[1]) * geo.size[2] + r[2]
                            multiply(&p, scratch.ptr, <real *>NULL)
            image += p.images
    finally:
        free(taps)
    return True


cdef bint run_weight(Geometry *geo, const real *x, const real *g, real *out) except False:
    cdef Lattice lat
    cdef Storage scratch, _store, sums
    cdef Py_ssize_t kernel = volume(geo.kernel), chunk, splits, image = 0, images
    cdef size_t size, parts
    cdef const real *ready
    cdef Tap *taps
    cdef real *partial
    if geo.n == 0 or volume(geo.out) == 0:
        memset(out, 0, geo.o * (geo.c // geo.groups) * kernel * sizeof(real))
        return True
    forward_lattice(geo, &lat)
    if separate(geo):
        scratch = new_storage(thread_count() * depthwise_scratch(geo, &lat) * sizeof(real))
        with nogil:
            depthwise_weight(geo, &lat, x, g, out, <real *>scratch.ptr)
        return True
    size = weight_scratch(geo, geo.n, &chunk, &splits, &parts, sizeof(real))
    scratch, sums = new_storage(size * sizeof(real)), new_storage(parts * sizeof(real))
    partial = <real *>sums.ptr
    taps = <Tap *>malloc(kernel * sizeof(Tap) + (geo.c * kernel + geo.o) * sizeof(Py_ssize_t))
    if taps == NULL:
        raise no_room(NO_MEMORY)
    forward_taps(geo, &lat, taps)
    try:
        while image < geo.n:
            images = min(chunk, geo.n - image)
            _store = laid_out(x + image * geo.c * lat.volume, &lat, images * geo.c, &ready)
            with nogil:
                weight_gradient(geo, &lat, ready, geo.c * lat.plane, g + image * geo.o * volume(geo.out), images,
                                taps, <Py_ssize_t *>(taps + kernel), <real *>scratch.ptr, partial, splits, image == 0)
            image += images
    finally:
        free(taps)
    with nogil:
        weight_finish(geo, partial, splits, out)
    return True


cdef Tensor part_of(Tensor x, int which):
    """The real (0) or imaginary (1) parts of a contiguous complex tensor."""
    cdef Tensor out = new_tensor(x.rank, x.sizes, real_code(x.code), x.dev)
    cdef Py_ssize_t i
    if out.code == FLOAT32:
        for i in range(x.count):
            (<float *>out.ptr)[i] = (<float *>x.ptr)[2 * i + which]
    else:
        for i in range(x.count):
            (<double *>out.ptr)[i] = (<double *>x.ptr)[2 * i + which]
    return out


cdef void combine(Tensor out, Tensor rr, Tensor ii, Tensor ri, Tensor ir):
    cdef Py_ssize_t i
    if rr.code == FLOAT32:
        for i in range(rr.count):
            (<float *>out.ptr)[2 * i] = (<float *>rr.ptr)[i] - (<float *>ii.ptr)[i]
            (<float *>out.ptr)[2 * i + 1] = (<float *>ri.ptr)[i] + (<float *>ir.ptr)[i]
    else:
        for i in range(rr.count):
            (<double *>out.ptr)[2 * i] = (<double *>rr.ptr)[i] - (<double *>ii.ptr)[i]
            (<double *>out.ptr)[2 * i + 1] = (<double *>ri.ptr)[i] + (<double *>ir.ptr)[i]


cdef enum:
    FORWARD
    INPUT
    WEIGHT


cdef bint run_exact(Geometry *geo, int direction, Tensor a, Tensor b, Tensor bias, Tensor out) except False:
    cdef void *extra = bias.ptr if bias is not None else NULL
    with nogil:
        if direction == FORWARD:
            exact_forward(geo, a.ptr, b.ptr, extra, out.ptr, out.code)
        elif direction == INPUT:
            exact_input(geo, a.ptr, b.ptr, extra, out.ptr, out.code)
        else:
            exact_weight(geo, b.ptr, a.ptr, out.ptr, out.code)
    return True


cdef bint run_real(Geometry *geo, int direction, const real *a, const real *b, const real *bias, real *out) except False:
    if direction == FORWARD:
        return run_forward(geo, a, b, bias, out)
    if direction == INPUT:
        return run_input(geo, a, b, bias, out)
    return run_weight(geo, b, a, out)


cdef Tensor direct(Geometry *geo, int direction, Tensor a, Tensor b, object bias, int rank, const Py_ssize_t *sizes):
    """Runs one direction on operands of any dtypes. (a, b) is (x, w), (g, w) or (g, x)."""
    cdef int code = promote(a.code, b.code), work
    cdef Tensor out, extra = None, ar, ai, br, bi
    work = FLOAT32 if code == FLOAT16 or code == BFLOAT16 else code
    a, b = contiguous_like(a, work), contiguous_like(b, work)
    if bias is not None:
        extra = contiguous_like(bias, work)
    out = new_tensor(rank, sizes, work, a.dev)
    if out.count == 0:
        return out if work == code else cast(out, code)
    if is_complex_code(work):
        ar, ai, br, bi = part_of(a, 0), part_of(a, 1), part_of(b, 0), part_of(b, 1)
        combine(out, direct(geo, direction, ar, br, part_of(extra, 0) if extra is not None else None, rank, sizes),
                direct(geo, direction, ai, bi, None, rank, sizes),
                direct(geo, direction, ar, bi, part_of(extra, 1) if extra is not None else None, rank, sizes),
                direct(geo, direction, ai, br, None, rank, sizes))
    elif is_integral_code(work):
        run_exact(geo, direction, a, b, extra, out)
    elif work == FLOAT32:
        run_real(geo, direction, <const float *>a.ptr, <const float *>b.ptr, <const float *>extra.ptr if extra is not None else NULL, <float *>out.ptr)
    else:
        run_real(geo, direction, <const double *>a.ptr, <const double *>b.ptr, <const double *>extra.ptr if extra is not None else NULL, <double *>out.ptr)
    return out if work == code else cast(out, code)


def convolution(Tensor x, Tensor w, bias, tuple stride, tuple padding, tuple dilation, Py_ssize_t groups):
    """[N, C, ...] with [O, C / groups, ...] to [N, O, ...]."""
    cdef Geometry geo
    cdef Py_ssize_t sizes[5]
    cdef int a, lead = 5 - w.rank
    describe_shapes(&geo, x.rank, x.sizes, w.rank, w.sizes, stride, padding, dilation, groups)
    sizes[0], sizes[1] = geo.n, geo.o
    for a in range(lead, 3):
        geo.out[a] = (geo.size[a] + 2 * geo.pad[a] - geo.dil[a] * (geo.kernel[a] - 1) - 1) // geo.stride[a] + 1
        if geo.size[a] + 2 * geo.pad[a] < geo.dil[a] * (geo.kernel[a] - 1) + 1:
            raise RuntimeError(f"convolution: the kernel of {describe(w)} with dilation {dilation} is larger than the padded input {describe(x)}")
        sizes[2 + a - lead] = geo.out[a]
    return direct(&geo, FORWARD, x, w, bias, x.rank, sizes)


cdef bint match_output(Geometry *geo, Tensor g, tuple stride) except False:
    cdef int a, lead = 5 - g.rank
    if g.sizes[0] != geo.n or g.sizes[1] != geo.o:
        raise RuntimeError(f"convolution: a gradient {describe(g)} does not fit {geo.n} images of {geo.o} channels")
    for a in range(lead, 3):
        geo.out[a] = g.sizes[2 + a - lead]
    return True


def convolution_input(Tensor g, Tensor w, sizes, tuple stride, tuple padding, tuple dilation, Py_ssize_t groups, bias=None):
    """The gradient of an input of shape `sizes` from the output's gradient `g`; the transposed
    convolution of `g` when `bias` is added."""
    cdef Geometry geo
    cdef Py_ssize_t dims[5]
    cdef int a
    for a in range(g.rank):
        dims[a] = sizes[a]
    describe_shapes(&geo, g.rank, dims, w.rank, w.sizes, stride, padding, dilation, groups)
    match_output(&geo, g, stride)
    return direct(&geo, INPUT, g, w, bias, w.rank, dims)


def convolution_weight(Tensor g, Tensor x, sizes, tuple stride, tuple padding, tuple dilation, Py_ssize_t groups):
    """The gradient of a weight of shape `sizes`."""
    cdef Geometry geo
    cdef Py_ssize_t dims[5]
    cdef int a
    for a in range(g.rank):
        dims[a] = sizes[a]
    describe_shapes(&geo, x.rank, x.sizes, g.rank, dims, stride, padding, dilation, groups)
    match_output(&geo, g, stride)
    return direct(&geo, WEIGHT, g, x, None, x.rank, dims)


def channel_sum(Tensor g):
    """Sums over all dimensions but the second."""
    cdef int code = g.code, work = FLOAT32 if code == FLOAT16 or code == BFLOAT16 else code, a
    cdef Tensor out, parts
    cdef Py_ssize_t plane = 1
    for a in range(2, g.rank):
        plane *= g.sizes[a]
    g = contiguous_like(g, work)
    out = new_tensor(1, &g.sizes[1], work, g.dev)
    if is_complex_code(work):
        parts = channel_sum(part_of(g, 0))
        combined(out, parts, channel_sum(part_of(g, 1)))
    elif work == FLOAT32:
        with nogil:
            channel_sums(<float *>g.ptr, g.sizes[0], g.sizes[1], plane, <float *>out.ptr)
    elif work == FLOAT64:
        with nogil:
            channel_sums(<double *>g.ptr, g.sizes[0], g.sizes[1], plane, <double *>out.ptr)
    else:
        raise RuntimeError(f"channel_sum: expected a floating point or complex tensor, got {describe(g)}")
    return out if work == code else cast(out, code)


cdef void combined(Tensor out, Tensor re, Tensor im):
    cdef Py_ssize_t i
    for i in range(re.count):
        if re.code == FLOAT32:
            (<float *>out.ptr)[2 * i], (<float *>out.ptr)[2 * i + 1] = (<float *>re.ptr)[i], (<float *>im.ptr)[i]
        else:
            (<double *>out.ptr)[2 * i], (<double *>out.ptr)[2 * i + 1] = (<double *>re.ptr)[i], (<double *>im.ptr)[i]
