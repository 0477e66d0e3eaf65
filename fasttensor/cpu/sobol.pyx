"""Direction numbers of Sobol sequences.

The primitive polynomials of a degree are the minimal polynomials of the powers a**s of one primitive element a, with s prime to the
order 2**degree - 1 and one s of each class {s, 2s, 4s, ...}. Every s-th bit of the shift register of a satisfies the recurrence
of a**s, which Berlekamp's and Massey's algorithm finds from 2 * degree bits (J. L. Massey, "Shift-register synthesis and BCH
decoding", IEEE Trans. Inf. Theory 15, 1969). That is a few thousand short runs where a search tests 2**degree polynomials.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from fasttensor._core.dtype cimport INT64
from fasttensor._core.tensor cimport CPU, Tensor, new_tensor
from fasttensor._core.storage cimport no_room

cdef extern from *:
    int __builtin_parityll(unsigned long long x) nogil

cdef enum:
    BITS = 30
    MOST_DEGREE = 18


cdef int rising(const void *a, const void *b) noexcept nogil:
    cdef uint32_t x = (<const uint32_t *>a)[0], y = (<const uint32_t *>b)[0]
    return (x > y) - (x < y)


cdef bint shifts_through_all(uint32_t p, int degree) noexcept nogil:
    """Whether the shift register of the polynomial p passes through every state but zero: p is primitive."""
    cdef uint32_t state = 1, steps = 0, order = (1u << degree) - 1
    while True:
        state <<= 1
        if state >> degree:
            state ^= p
        steps += 1
        if state == 1 or steps > order:
            return steps == order


cdef uint32_t divisor(uint32_t a, uint32_t b) noexcept nogil:
    while b:
        a, b = b, a % b
    return a


cdef uint32_t recurrence(const uint8_t *bits, uint32_t s, uint32_t order, int degree) noexcept nogil:
    """The polynomial of the sequence of every s-th bit."""
    cdef uint64_t c = 1, b = 1, kept, window = 0
    cdef int n, length = 0, m = 1
    cdef uint32_t at = 0
    for n in range(2 * degree):
        window = window << 1 | bits[at]
        at = (at + s) % order
        if __builtin_parityll(c & window):
            kept = c
            c ^= b << m
            if 2 * length <= n:
                length, b, m = n + 1 - length, kept, 1
                continue
        m += 1
    return <uint32_t>c


cdef int polynomials(int degree, uint32_t *found, uint8_t *bits, uint8_t *seen) noexcept nogil:
    """All primitive polynomials of a degree in rising order; returns their number."""
    cdef uint32_t order = (1u << degree) - 1, p, s, t, state = 1
    cdef int count = 0
    p = (1u << degree) + 1
    while not shifts_through_all(p, degree):
        p += 2
    for s in range(order):
        bits[s] = state & 1
        seen[s] = 0
        state <<= 1
        if state >> degree:
            state ^= p
    for s in range(1, order + (order == 1)):
        if order > 1 and (seen[s] or divisor(s, order) != 1):
            continue
        t = s
        while order > 1 and not seen[t]:
            seen[t] = 1
            t = t * 2 % order
        found[count] = recurrence(bits, s, order, degree)
        count += 1
    qsort(found, count, sizeof(uint32_t), rising)
    return count


cdef uint32_t taken(const uint8_t *table, int64_t *at, int n) noexcept nogil:
    """The next n bits of the table, the highest first."""
    cdef uint32_t value = 0
    for _ in range(n):
        value = value << 1 | (table[at[0] >> 3] >> (7 - (at[0] & 7)) & 1)
        at[0] += 1
    return value


cdef void fill(int64_t *out, int64_t dimension, const uint8_t *table, uint32_t *found, uint8_t *bits, uint8_t *seen) noexcept nogil:
    cdef int64_t row = 1, at = 0
    cdef uint32_t m[BITS]
    cdef int degree = 0, count, i, j, k, taps
    cdef int tap[MOST_DEGREE]
    cdef uint32_t p, new
    for j in range(BITS):
        out[j] = 1 << (BITS - 1 - j)
    while row < dimension:
        degree += 1
        count = polynomials(degree, found, bits, seen)
        for i in range(count):
            if row == dimension:
                break
            p, taps = found[i], 0
            for k in range(1, degree + 1):
                if p >> (degree - k) & 1:
                    tap[taps] = k
                    taps += 1
            m[0] = 1
            for j in range(1, degree):          # number j is odd and below 2**(j + 1): j bits of it are kept
                m[j] = 2 * taken(table, &at, j) + 1
            for j in range(degree, BITS):
                new = m[j - degree]
                for k in range(taps):
                    new ^= m[j - tap[k]] << tap[k]
                m[j] = new
            for j in range(BITS):
                out[row * BITS + j] = <int64_t>m[j] << (BITS - 1 - j)
            row += 1


def sobol_directions(const uint8_t[::1] table, int64_t dimension):
    """The direction numbers of the first dimensions: (dimension, 30) integers of 30 bits.

    S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008): the
    polynomials are all primitive ones up to degree 18 in rising order, the first numbers those of the table ``new-joe-kuo-6.21201``.
    """
    cdef Py_ssize_t sizes[2]
    sizes[0], sizes[1] = dimension, BITS
    cdef Tensor made = new_tensor(2, sizes, INT64, CPU)
    cdef int most = 5 if dimension < 10 else 9 if dimension < 100 else MOST_DEGREE
    cdef uint8_t *room = <uint8_t *>malloc((6 << most) + 64)
    if room == NULL:
        raise no_room("sobol_directions: no memory for polynomials")
    with nogil:
        fill(<int64_t *>made.ptr, dimension, &table[0], <uint32_t *>room, room + (4 << most), room + (5 << most))
    free(room)
    return made
