cdef enum:                          # beside 0 and 1, what _set_grad_enabled takes
    HIDDEN = 2
    OFF = 3

cdef bint dual_on() noexcept nogil
cdef bint hidden() noexcept nogil
cdef void set_dual_on(bint on) noexcept nogil
cdef void set_hidden(bint on) noexcept nogil
cdef bint any_duals() noexcept nogil
