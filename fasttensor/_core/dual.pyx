"""Whether this thread is inside a level of dual numbers, and whether operations are recorded there for their
tangents only, as inside no_grad."""

cdef extern from *:
    """
    static __thread int ft_dual_on = 0;
    static __thread int ft_hidden = 0;
    """
    int ft_dual_on
    int ft_hidden

cdef bint _ever = False             # tensors that are recorded for tangents only may exist from then on


cdef bint dual_on() noexcept nogil:
    return ft_dual_on


cdef bint hidden() noexcept nogil:
    return ft_hidden


cdef void set_dual_on(bint on) noexcept nogil:
    global ft_dual_on, _ever
    ft_dual_on = on
    if on:
        _ever = True


cdef void set_hidden(bint on) noexcept nogil:
    global ft_hidden
    ft_hidden = on


cdef bint any_duals() noexcept nogil:
    return _ever
