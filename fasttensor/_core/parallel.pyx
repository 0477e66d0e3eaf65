"""Threads: one `parallel_for` over chunks whose bounds depend on the size alone.

The team of threads is the library's own (`team.h`). Each thread has a run of neighbouring chunks, the same one at every
call of a size, so that it meets in its own cache what it left there; it claims them one by one through an atomic counter,
and then those that others have not begun, so that the caller does what a worker that has not woken yet would
have done. Results never depend on who did what.
A forked child has no workers: it runs serially.
"""
import os

cdef extern from "team.h":
    void ft_parallel_for(Py_ssize_t n, Py_ssize_t grain, range_fn body, void *context) noexcept nogil
    void ft_watch_forks() noexcept nogil
    int ft_threads
    int ft_forked
    int ft_index


cdef void parallel_for(Py_ssize_t n, Py_ssize_t grain, range_fn body, void *context) noexcept nogil:
    ft_parallel_for(n, grain, body, context)


cdef int thread_count() noexcept nogil:
    return 1 if ft_forked else ft_threads


cdef int thread_index() noexcept nogil:
    return ft_index


def cgroup_quota():
    """CPUs that the container's quota allows, or None."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        if quota != "max":
            return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        pass
    return None


def default_threads():
    """The least of the CPUs this process may use, the container's quota and OMP_NUM_THREADS."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    quota = cgroup_quota()
    if quota:
        count = min(count, quota)
    try:
        count = min(count, max(1, int(os.environ.get("OMP_NUM_THREADS", "").split(",")[0])))
    except ValueError:
        pass
    return count


def set_num_threads(int n):
    """Use at most `n` threads for one operation. Raises RuntimeError when `n` is not positive."""
    global ft_threads
    if n < 1:
        raise RuntimeError(f"set_num_threads: expected a positive number, got {n}")
    ft_threads = min(n, 1024)


def get_num_threads():
    """The number of threads that one operation may use.

    >>> import fasttensor
    >>> fasttensor.get_num_threads() >= 1
    True
    """
    return thread_count()


ft_watch_forks()
ft_threads = default_threads()
