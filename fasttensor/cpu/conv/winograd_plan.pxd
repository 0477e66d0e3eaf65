# How Winograd's small filters make up a convolution: the pieces of its kernel along each axis.
from fasttensor.cpu.conv.lattice cimport Geometry, Lattice

cdef enum:
    MAXPHASES = 16              # of both axes together
    MAXPIECES = 4               # of one axis and phase
    MAXTAPS = 128               # of a kernel

cdef struct Piece:              # neighbouring taps of one axis that make one filter
    int taps                    # 1 to 3
    Py_ssize_t slot, first      # the source position of the first for output 0 is first * modulus + slot
    Py_ssize_t tap[3]           # in the kernel, in the source's order

cdef struct Axis:
    int high                    # outputs of a tile
    Py_ssize_t phases           # outputs that follow each other have other taps or places: a tile's are `phases` apart
    Py_ssize_t modulus          # the source position of a tap moves by this from one of a tile's outputs to the next
    Py_ssize_t low              # the first `first`, at most 0
    Py_ssize_t reach            # tiles' worth of source behind the last tile
    Py_ssize_t tiles            # that cover a phase
    int count[MAXPHASES]        # pieces of a phase
    int most[MAXPHASES]         # taps of the longest
    int all[MAXPHASES]          # taps of all
    Piece piece[MAXPHASES][MAXPIECES]

cdef struct Filter:             # a piece of rows by a piece of columns
    Piece *y
    Piece *x
    int point[16]               # of 4 x 4, that the filter's (i, j) is, at i * 4 + j
    Py_ssize_t at[16]           # before it among the filters that have the point

cdef struct Phase:              # of rows and columns
    int count
    int most_y, most_x
    Filter filter[MAXPIECES * MAXPIECES]
    Py_ssize_t terms[16]        # filters that have each point
    Py_ssize_t before[17]       # terms of all points before each

cdef struct Depth:              # taps of axis 0, which is not tiled
    Py_ssize_t phases, modulus
    Py_ssize_t span             # of source positions that one output's taps lie in
    Py_ssize_t start[MAXPHASES + 1]     # of each phase among the taps, in the source's order
    Py_ssize_t tap[MAXTAPS]
    Py_ssize_t shift[MAXTAPS]   # the source position for output i is i * modulus + shift

cdef struct Tiling:
    Axis y, x
    Depth depth
    Py_ssize_t inputs, outputs  # channels of a group
    Py_ssize_t taps, height, width      # of the kernel
    Py_ssize_t out[3]
    Py_ssize_t source[3]
    double gain                 # products of a plain convolution for each of this one

cdef bint plan_tiling(const Geometry *geo, bint gradient, Tiling *tiling) noexcept nogil
cdef void plan_phase(Tiling *tiling, Py_ssize_t row, Py_ssize_t column, Phase *phase) noexcept nogil
cdef void plan_lattice(const Tiling *tiling, Lattice *lat) noexcept nogil
