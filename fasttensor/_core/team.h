/* A team of threads that shares the chunks of a loop.

   The caller opens a job, works on it and closes it when every chunk is claimed; it waits for the workers that entered
   it, and never for one that still sleeps. A worker without work looks for the next job for a while, because a thread
   that sleeps takes tens of microseconds to come back, and then sleeps. One that is interrupted while it looks is on
   a machine with other work, and looks for a shorter time.

   The team serves one caller at a time; another one that comes meanwhile does its loop alone. */
#ifndef FT_TEAM_H
#define FT_TEAM_H
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef void (*ft_range_fn)(void *, ptrdiff_t, ptrdiff_t);
typedef _Atomic uint32_t ft_word;
/* the chunks of one thread, on a cache line of their own */
typedef struct { _Alignas(64) _Atomic ptrdiff_t next; ptrdiff_t end; } ft_run;
typedef struct { _Alignas(64) ft_word asleep; } ft_worker;
enum { FT_TEAM = 256, FT_LOOK_NS = 200000, FT_INTERRUPTED_NS = 50000, FT_WAIT_NS = 50000 };

static struct {
    _Alignas(64) ft_word job;           /* counts; odd while a job is open */
    _Alignas(64) ft_word inside;        /* workers that may be touching the job */
    ft_word caller_asleep;
    _Alignas(64) atomic_flag taken;
    int workers;                        /* started so far */
    int threads;                        /* of the job: the caller and workers 1 .. threads - 1 */
    ptrdiff_t n, grain;
    ft_range_fn body;
    void *context;
    ft_run runs[FT_TEAM];
    ft_worker worker[FT_TEAM];
} ft_team = {.taken = ATOMIC_FLAG_INIT};
static int ft_threads = 1;
static int ft_forked = 0;
static __thread int ft_inside = 0;
static __thread int ft_index = 0;

static inline void ft_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline int64_t ft_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Sleep while the word holds `value`; wakes may come for no reason. */
#ifdef __linux__
static void ft_sleep(ft_word *word, uint32_t value) {
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static void ft_wake(ft_word *word) { syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }
#else
static pthread_mutex_t ft_sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ft_sleep_change = PTHREAD_COND_INITIALIZER;
static void ft_sleep(ft_word *word, uint32_t value) {
    pthread_mutex_lock(&ft_sleep_lock);
    if (atomic_load(word) == value) pthread_cond_wait(&ft_sleep_change, &ft_sleep_lock);
    pthread_mutex_unlock(&ft_sleep_lock);
}
static void ft_wake(ft_word *word) {
    (void)word;
    pthread_mutex_lock(&ft_sleep_lock);
    pthread_cond_broadcast(&ft_sleep_change);
    pthread_mutex_unlock(&ft_sleep_lock);
}
#endif

/* Chunks of the own run, then those that others have not begun. */
static void ft_claim(int index) {
    const int threads = ft_team.threads;
    const ptrdiff_t n = ft_team.n, grain = ft_team.grain;
    const ft_range_fn body = ft_team.body;
    void *const context = ft_team.context;
    ft_inside = 1;
    ft_index = index;
    for (int k = 0; k < threads; k++) {
        ft_run *run = &ft_team.runs[(index + k) % threads];
        for (;;) {
            const ptrdiff_t c = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
            if (c >= run->end) break;
            const ptrdiff_t end = (c + 1) * grain;
            body(context, c * grain, end < n ? end : n);
        }
    }
    ft_inside = 0;
    ft_index = 0;
}

/* Looks for a job after number `seen` for at most `*look` nanoseconds; returns the job's number now. */
static uint32_t ft_look(uint32_t seen, int64_t *look) {
    const int64_t start = ft_now();
    int64_t last = start;
    for (;;) {
        for (int i = 0; i < 32; i++) {
            const uint32_t job = atomic_load_explicit(&ft_team.job, memory_order_acquire);
            if (job != seen) return job;
            ft_pause();
        }
        const int64_t now = ft_now();
        if (now - last > FT_INTERRUPTED_NS) {
            *look /= 4;
            return seen;
        }
        if (now - start > *look) return seen;
        last = now;
    }
}

static void *ft_work(void *argument) {
    const int index = (int)(intptr_t)argument;
    ft_word *asleep = &ft_team.worker[index].asleep;
    uint32_t seen = 0;
    int64_t look = FT_LOOK_NS;
    for (;;) {
        uint32_t job = ft_look(seen, &look);
        if (job == seen) {
            atomic_store(asleep, 1);
            while (atomic_load(&ft_team.job) == seen && atomic_load(asleep) == 1) ft_sleep(asleep, 1);
            atomic_store(asleep, 0);
            look += FT_LOOK_NS / 16;
            if (look > FT_LOOK_NS) look = FT_LOOK_NS;
            job = atomic_load(&ft_team.job);
        }
        seen = job;
        if (!(job & 1)) continue;
        /* Entering and closing are ordered: either the caller sees this worker inside or the worker sees the job closed. */
        atomic_fetch_add(&ft_team.inside, 1);
        seen = atomic_load(&ft_team.job);
        if ((seen & 1) && index < ft_team.threads) ft_claim(index);
        if (atomic_fetch_sub(&ft_team.inside, 1) == 1 && atomic_load(&ft_team.caller_asleep)) {
            atomic_store(&ft_team.caller_asleep, 0);
            ft_wake(&ft_team.caller_asleep);
        }
    }
    return NULL;
}

/* Starts workers until there are `wanted`; fewer when the system gives no more. */
static int ft_start(int wanted) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);   /* signals are for the program's own threads */
    while (ft_team.workers < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, ft_work, (void *)(intptr_t)(ft_team.workers + 1))) break;
        pthread_detach(thread);
        ft_team.workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ft_team.workers;
}

static void ft_wait_for_workers(void) {
    const int64_t start = ft_now();
    while (ft_now() - start < FT_WAIT_NS)
        for (int i = 0; i < 32; i++) {
            if (!atomic_load(&ft_team.inside)) return;
            ft_pause();
        }
    for (;;) {
        atomic_store(&ft_team.caller_asleep, 1);
        if (!atomic_load(&ft_team.inside)) break;
        ft_sleep(&ft_team.caller_asleep, 1);
    }
    atomic_store(&ft_team.caller_asleep, 0);
}

static void ft_parallel_for(ptrdiff_t n, ptrdiff_t grain, ft_range_fn body, void *context) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    const ptrdiff_t chunks = (n + grain - 1) / grain;
    int threads = ft_threads < chunks ? ft_threads : (int)chunks;
    if (threads > FT_TEAM) threads = FT_TEAM;
    if (threads <= 1 || ft_forked || ft_inside || atomic_flag_test_and_set_explicit(&ft_team.taken, memory_order_acquire)) {
        /* the same chunks, so that reductions by chunk give the same bits */
        for (ptrdiff_t c = 0; c < chunks; c++) {
            const ptrdiff_t end = (c + 1) * grain;
            body(context, c * grain, end < n ? end : n);
        }
        return;
    }
    if (ft_team.workers < threads - 1) threads = ft_start(threads - 1) + 1;
    for (int t = 0; t < threads; t++) {
        atomic_store_explicit(&ft_team.runs[t].next, chunks * t / threads, memory_order_relaxed);
        ft_team.runs[t].end = chunks * (t + 1) / threads;
    }
    ft_team.threads = threads;
    ft_team.n = n;
    ft_team.grain = grain;
    ft_team.body = body;
    ft_team.context = context;
    atomic_fetch_add(&ft_team.job, 1);
    for (int t = 1; t < threads; t++)
        if (atomic_load(&ft_team.worker[t].asleep)) {
            atomic_store(&ft_team.worker[t].asleep, 0);
            ft_wake(&ft_team.worker[t].asleep);
        }
    ft_claim(0);
    atomic_fetch_add(&ft_team.job, 1);
    ft_wait_for_workers();
    atomic_flag_clear_explicit(&ft_team.taken, memory_order_release);
}

static void ft_after_fork(void) { ft_forked = 1; }
static void ft_watch_forks(void) { pthread_atfork(NULL, NULL, ft_after_fork); }
#endif
