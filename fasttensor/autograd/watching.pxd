# Operations as a profiler, anomaly mode or autocast sees them. `watching` counts who listens.
cdef int watching
cdef bint announced() noexcept nogil
cdef object begin(str name, tuple inputs)
cdef bint finish(object token, object result) except False
cdef void announce(bint on) noexcept nogil
