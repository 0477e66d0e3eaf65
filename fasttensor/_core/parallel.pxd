# The one door to threads.
ctypedef void (*range_fn)(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil

# Runs body over [0, n) in chunks of `grain` indices (the bounds depend on n and grain only).
# Serial when one chunk suffices, when one thread is set, in a forked child, or inside a
# parallel body. May be called with or without the GIL: the body must not touch Python.
cdef void parallel_for(Py_ssize_t n, Py_ssize_t grain, range_fn body, void *context) noexcept nogil
cdef int thread_count() noexcept nogil
# Index of the running thread inside a body, 0 <= i < thread_count(): for scratch memory only,
# never for results.
cdef int thread_index() noexcept nogil
