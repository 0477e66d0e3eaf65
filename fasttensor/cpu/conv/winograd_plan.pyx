"""Which of Winograd's small filters a convolution of any stride, dilation and kernel is made of.

Along an axis, a tap reads source position `modulus * i + b` for the i-th output of a phase. Taps whose b leave one remainder modulo
`modulus` and follow each other are one filter over a part of the source; filters of up to three taps take two outputs at a time with
one product more than they have taps. A stride splits the taps by remainder (3 of stride 2 are 2 and 1: 5 products instead of 6), a
dilation the outputs into phases, and in the gradient of a strided convolution each residue of the input's positions is a phase.
"""
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice, settle


cdef inline Py_ssize_t gcd(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    while b:
        a, b = b, a - a // b * b
    return a


cdef inline Py_ssize_t floor_div(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    cdef Py_ssize_t d = a // b
    return d - 1 if a - d * b < 0 else d


cdef void modulus_of(const Geometry *geo, int a, bint gradient, Py_ssize_t *phases, Py_ssize_t *modulus) noexcept nogil:
    cdef Py_ssize_t apart = geo.dil[a] // gcd(geo.dil[a], geo.stride[a])
    phases[0] = geo.stride[a] * apart if gradient else apart
    modulus[0] = apart if gradient else geo.stride[a] * apart


cdef Py_ssize_t taps_of(const Geometry *geo, int a, bint gradient, Py_ssize_t phase, Py_ssize_t *tap, Py_ssize_t *shift) noexcept nogil:
    """The taps of a phase and the source position b of each for output 0, in the source's order."""
    cdef Py_ssize_t k, j, t, n = 0
    for j in range(geo.kernel[a]):
        k = geo.kernel[a] - 1 - j if gradient else j
        if gradient:
            t = phase % geo.stride[a] + geo.pad[a] - k * geo.dil[a]
            if t % geo.stride[a]:
                continue
            shift[n] = phase // geo.stride[a] + t // geo.stride[a]
        else:
            shift[n] = phase * geo.stride[a] + k * geo.dil[a] - geo.pad[a]
        tap[n] = k
        n += 1
    return n


cdef bint plan_axis(const Geometry *geo, int a, bint gradient, Axis *axis) noexcept nogil:
    cdef Py_ssize_t tap[MAXTAPS]
    cdef Py_ssize_t shift[MAXTAPS]
    cdef Py_ssize_t phase, slot, n, i, j, last, size = geo.size[a] if gradient else geo.out[a]
    cdef int pieces, taken, left
    cdef Piece *piece
    modulus_of(geo, a, gradient, &axis.phases, &axis.modulus)
    if axis.phases > MAXPHASES or geo.kernel[a] > MAXTAPS or axis.modulus > 16:
        return False
    # rows without a filter of two taps gain nothing from tiles of two
    axis.high = 1 if a == 1 and (geo.kernel[1] == 1 or size == 1) else 2
    axis.low = axis.reach = 0
    axis.tiles = (size + axis.phases * axis.high - 1) // (axis.phases * axis.high)
    for phase in range(axis.phases):
        n = taps_of(geo, a, gradient, phase, tap, shift)
        axis.count[phase], axis.all[phase], axis.most[phase] = 0, <int>n, 1
        for slot in range(axis.modulus):
            i = 0
            while i < n:
                if shift[i] - floor_div(shift[i], axis.modulus) * axis.modulus != slot:
                    i += 1
                    continue
                # all taps of a slot follow each other in it, others between them
                last = i
                left = 1
                for j in range(i + 1, n):
                    if shift[j] == shift[last] + axis.modulus:
                        last = j
                        left += 1
                pieces = left if axis.high == 1 else (left + 2) // 3
                while pieces > 0:
                    if axis.count[phase] == MAXPIECES:
                        return False
                    piece = &axis.piece[phase][axis.count[phase]]
                    taken = (left + pieces - 1) // pieces
                    piece.taps, piece.slot, piece.first = taken, slot, floor_div(shift[i], axis.modulus)
                    axis.low, axis.reach = min(axis.low, piece.first), max(axis.reach, piece.first + taken + axis.high - 2)
                    axis.most[phase] = max(axis.most[phase], taken)
                    for j in range(taken):
                        piece.tap[j] = tap[i]
                        last = shift[i] + axis.modulus
                        i += 1
                        while i < n and shift[i] != last:
                            i += 1
                    axis.count[phase] += 1
                    left -= taken
                    pieces -= 1
    axis.reach = (axis.reach - axis.low) // axis.high
    return True


cdef bint plan_depth(const Geometry *geo, bint gradient, Depth *depth) noexcept nogil:
    cdef Py_ssize_t phase, n = 0
    depth.phases = geo.stride[0] if gradient else 1
    depth.modulus = 1 if gradient else geo.stride[0]
    if depth.phases > MAXPHASES or depth.phases * geo.kernel[0] > MAXTAPS:
        return False
    for phase in range(depth.phases):
        depth.start[phase] = n
        n += taps_of(geo, 0, gradient, phase, depth.tap + n, depth.shift + n)
    depth.start[depth.phases] = n
    depth.span = 1
    for phase in range(depth.phases):
        if depth.start[phase + 1] > depth.start[phase]:
            depth.span = max(depth.span, depth.shift[depth.start[phase + 1] - 1] - depth.shift[depth.start[phase]] + 1)
    return depth.span <= MAXTAPS


cdef bint plan_tiling(const Geometry *geo, bint gradient, Tiling *tiling) noexcept nogil:
    """Finds the pieces; False where there are more than this algorithm is made for."""
    cdef Py_ssize_t row, column, a
    cdef double plain = 0, made = 0
    cdef Axis *y = &tiling.y
    cdef Axis *x = &tiling.x
    cdef int i, j
    tiling.inputs, tiling.outputs = geo.c // geo.groups, geo.o // geo.groups
    if gradient:
        tiling.inputs, tiling.outputs = tiling.outputs, tiling.inputs
    for a in range(3):
        tiling.out[a] = geo.size[a] if gradient else geo.out[a]
        tiling.source[a] = geo.out[a] if gradient else geo.size[a]
    tiling.height, tiling.width = geo.kernel[1], geo.kernel[2]
    tiling.taps = geo.kernel[0] * geo.kernel[1] * geo.kernel[2]
    if tiling.taps > MAXTAPS or tiling.taps == 0:
        return False
    if not plan_depth(geo, gradient, &tiling.depth) or not plan_axis(geo, 1, gradient, y) or not plan_axis(geo, 2, gradient, x):
        return False
    if y.phases * x.phases > MAXPHASES:
        return False
    for row in range(y.phases):
        for column in range(x.phases):
            plain += y.high * y.all[row] * x.high * x.all[column]
            for i in range(y.count[row]):
                for j in range(x.count[column]):
                    made += (1 if y.high == 1 else y.piece[row][i].taps + 1) * (x.piece[column][j].taps + 1)
    # the last tiles hang over the edge
    plain *= <double>(tiling.out[1] * tiling.out[2]) / (y.tiles * y.high * y.phases * x.tiles * x.high * x.phases)
    tiling.gain = plain / made if made > 0 else 0
    return True


cdef void plan_phase(Tiling *tiling, Py_ssize_t row, Py_ssize_t column, Phase *phase) noexcept nogil:
    """The filters of a phase of rows and one of columns, and where each stands among the terms of each point."""
    cdef int i, j, p, q, n, k
    cdef Filter *f = phase.filter
    phase.count = 0
    phase.most_y, phase.most_x = tiling.y.most[row], tiling.x.most[column]
    for k in range(16):
        phase.terms[k] = 0
    for i in range(tiling.y.count[row]):
        for j in range(tiling.x.count[column]):
            f.y, f.x = &tiling.y.piece[row][i], &tiling.x.piece[column][j]
            n = 1 if tiling.y.high == 1 else f.y.taps + 1
            for p in range(n):
                for q in range(f.x.taps + 1):
                    k = point(f.y.taps, p, tiling.y.high) * 4 + point(f.x.taps, q, 2)
                    f.point[p * 4 + q], f.at[p * 4 + q] = k, phase.terms[k]
                    phase.terms[k] += 1
            phase.count += 1
            f += 1
    phase.before[0] = 0
    for k in range(16):
        phase.before[k + 1] = phase.before[k] + phase.terms[k]


cdef inline int point(int taps, int i, int high) noexcept nogil:
    """Which of the points 0, 1, -1 and infinity the i-th of a filter is."""
    return 0 if high == 1 else 3 if i == taps else i


cdef void plan_lattice(const Tiling *tiling, Lattice *lat) noexcept nogil:
    """The source by remainders, so that one element of neighbouring tiles is one run; axis 0 is as it was, without padding."""
    cdef int a
    cdef const Axis *axis
    for a in range(3):
        lat.size[a], lat.dil[a] = tiling.source[a], 1
        lat.pad[a], lat.stride[a], lat.slots[a], lat.q[a] = 0, 1, 1, tiling.source[a]
        if a:
            axis = &tiling.y if a == 1 else &tiling.x
            lat.stride[a] = lat.slots[a] = axis.modulus * axis.high
            lat.pad[a] = -axis.low * axis.modulus
            lat.q[a] = axis.tiles + axis.reach
    settle(lat)
