"""Threads: one `parallel_for` over chunks whose bounds depend on the size alone.

OpenMP is the runtime. Each thread has a run of neighbouring chunks, the same one at every call of a size, so
that it meets in its own cache what it left there; it claims them one by one through an atomic counter, and
then those that others have not begun, so that the caller does what a worker that has not woken yet would
have done. Results never depend on who did what.
A forked child has no OpenMP workers, and libgomp would wait for them for ever: it runs serially.
"""
import os

cdef extern from *:
    """
    #include <stdatomic.h>
    #include <pthread.h>
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static inline int omp_get_thread_num(void) { return 0; }
    static inline int omp_in_parallel(void) { return 0; }
    #endif

    typedef void (*ft_range_fn)(void *, Py_ssize_t, Py_ssize_t);
    /* the chunks of one thread, on a cache line of their own */
    typedef struct { _Alignas(64) _Atomic Py_ssize_t next; Py_ssize_t end; } ft_run;
    enum { FT_RUNS = 256 };
    static int ft_threads = 1;
    static int ft_forked = 0;
    static __thread int ft_inside = 0;
    static __thread int ft_index = 0;
    /* Kernels with few CPUs tend to wake a worker on the CPU of its caller and leave it there while another idles: the
       caller then ends every region alone and waits for a worker that cannot run (70 us instead of 10 for a small
       loop, for as long as the program goes on). A worker that finds itself there several times in a row moves. */
    enum { FT_MEETINGS = 4 };
    static __thread int ft_meetings = 0;
    #ifdef __linux__
    #include <sched.h>
    static inline int ft_cpu(void) { return sched_getcpu(); }
    static void ft_leave_cpu(int cpu) {
        cpu_set_t allowed, others;
        if (sched_getaffinity(0, sizeof allowed, &allowed)) return;
        others = allowed;
        CPU_CLR(cpu, &others);
        if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof others, &others)) return;
        sched_setaffinity(0, sizeof allowed, &allowed);         /* it is elsewhere now, and free to go anywhere again */
    }
    #else
    static inline int ft_cpu(void) { return -1; }
    static void ft_leave_cpu(int cpu) { (void)cpu; }
    #endif
    static inline void ft_meet(int cpu) {
        if (cpu < 0 || ft_cpu() != cpu) { ft_meetings = 0; return; }
        if (++ft_meetings >= FT_MEETINGS) { ft_meetings = 0; ft_leave_cpu(cpu); }
    }
    static void ft_after_fork(void) { ft_forked = 1; }
    static void ft_watch_forks(void) { pthread_atfork(NULL, NULL, ft_after_fork); }

    static void ft_parallel_for(Py_ssize_t n, Py_ssize_t grain, ft_range_fn body, void *context) {
        if (n <= 0) return;
        if (grain < 1) grain = 1;
        Py_ssize_t chunks = (n + grain - 1) / grain;
        int threads = ft_threads < chunks ? ft_threads : (int)chunks;
        if (threads <= 1 || ft_forked || ft_inside || omp_in_parallel()) {
            /* the same chunks, so that reductions by chunk give the same bits */
            for (Py_ssize_t c = 0; c < chunks; c++) {
                Py_ssize_t end = (c + 1) * grain;
                body(context, c * grain, end < n ? end : n);
            }
            return;
        }
        if (threads > FT_RUNS) threads = FT_RUNS;
        ft_run runs[FT_RUNS];
        for (int t = 0; t < threads; t++) {
            atomic_init(&runs[t].next, chunks * t / threads);
            runs[t].end = chunks * (t + 1) / threads;
        }
        int cpu = ft_cpu();
        #pragma omp parallel num_threads(threads)
        {
            ft_inside = 1;
            ft_index = omp_get_thread_num();
            if (ft_index) ft_meet(cpu);
            for (int k = 0; k < threads; k++) {
                ft_run *run = &runs[(ft_index + k) % threads];
                for (;;) {
                    Py_ssize_t c = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
                    if (c >= run->end) break;
                    Py_ssize_t end = (c + 1) * grain;
                    body(context, c * grain, end < n ? end : n);
                }
            }
            ft_inside = 0;
            ft_index = 0;
        }
    }
    """
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
    """Use at most `n` threads for one operation. Raises RuntimeError when `n` is not positive. Results do not depend on it.

    >>> torch.set_num_threads(torch.get_num_threads())
    """
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
