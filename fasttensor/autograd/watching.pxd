# Operations as a profiler or anomaly mode sees them. `watching` counts who listens.
cdef int watching
# Whether operators must pass through the public functions: for a listener, or for autocast.
cdef int routing
cdef bint announced() noexcept nogil
cdef object begin(str name, tuple inputs)
cdef bint finish(object token, object result) except False
cdef void announce(bint on) noexcept nogil
