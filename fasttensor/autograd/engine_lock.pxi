# The one lock of the engine. Part of engine.pyx.
from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_get_thread_ident, PyThread_release_lock, PyThread_type_lock)

# Runs share the state in nodes, so one thread at a time; a run may start another (checkpointing).
cdef PyThread_type_lock _lock = PyThread_allocate_lock()
cdef unsigned long _owner = 0
cdef int _depth = 0


cdef void lock() noexcept:
    global _owner, _depth
    cdef unsigned long me = PyThread_get_thread_ident()
    if not (_depth and _owner == me):       # the GIL guards these two
        if not PyThread_acquire_lock(_lock, NOWAIT_LOCK):
            with nogil:
                PyThread_acquire_lock(_lock, WAIT_LOCK)
        _owner = me
    _depth += 1


cdef void unlock() noexcept:
    global _depth
    _depth -= 1
    if not _depth:
        PyThread_release_lock(_lock)
