/* Loaded before a program (LD_PRELOAD): makes allocations fail that fasttensor's own modules ask for, and counts what they hold.
   The library itself has no switch for it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);
static atomic_int watching, count, first, last;
static char early[1 << 16];     /* what dlsym asks for while the real functions are looked up */
static atomic_size_t early_used;

enum { SLOTS = 1 << 16 };
static void *held[SLOTS];
static long holding;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void look_up(void) {
    real_malloc = dlsym(RTLD_NEXT, "malloc");
    real_calloc = dlsym(RTLD_NEXT, "calloc");
    real_realloc = dlsym(RTLD_NEXT, "realloc");
    real_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    real_free = dlsym(RTLD_NEXT, "free");
}

static int ours(void *caller) {
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "/fasttensor/");
}

static int fails(void *caller) {
    if (!watching || !ours(caller)) return 0;
    int n = ++count;
    return n >= first && n <= last;
}

static void note(void *p, void *caller) {
    if (!watching || !p || !ours(caller)) return;
    pthread_mutex_lock(&lock);
    for (size_t i = ((uintptr_t)p >> 4) % SLOTS, tries = 0; tries < SLOTS; tries++, i = (i + 1) % SLOTS)
        if (!held[i]) { held[i] = p; holding++; break; }
    pthread_mutex_unlock(&lock);
}

static void forget(void *p) {
    if (!p || !holding) return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS; i++)
        if (held[i] == p) { held[i] = NULL; holding--; break; }
    pthread_mutex_unlock(&lock);
}

void *malloc(size_t n) {
    if (!real_malloc) look_up();
    if (fails(__builtin_return_address(0))) { errno = ENOMEM; return NULL; }
    void *p = real_malloc(n);
    note(p, __builtin_return_address(0));
    return p;
}

void *calloc(size_t n, size_t size) {
    if (!real_calloc) {
        size_t at = atomic_fetch_add(&early_used, (n * size + 15) & ~(size_t)15);
        return at + n * size <= sizeof early ? early + at : NULL;
    }
    if (fails(__builtin_return_address(0))) { errno = ENOMEM; return NULL; }
    void *p = real_calloc(n, size);
    note(p, __builtin_return_address(0));
    return p;
}

void *realloc(void *old, size_t n) {
    if (!real_realloc) look_up();
    if (fails(__builtin_return_address(0))) { errno = ENOMEM; return NULL; }
    forget(old);
    void *p = real_realloc(old, n);
    note(p, __builtin_return_address(0));
    return p;
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    if (!real_memalign) look_up();
    if (fails(__builtin_return_address(0))) return ENOMEM;
    int error = real_memalign(p, alignment, n);
    if (!error) note(*p, __builtin_return_address(0));
    return error;
}

void free(void *p) {
    if ((char *)p >= early && (char *)p < early + sizeof early) return;
    if (!real_free) look_up();
    forget(p);
    real_free(p);
}

/* From now on the allocations numbered `from` to `to` fail, from 1 on. */
void fail_between(int from, int to) { count = 0, first = from, last = to, watching = 1; }

/* How many allocations there were since. */
int fail_no_more(void) { watching = 0; return count; }

/* How many blocks that were allocated meanwhile are still held. */
long still_held(void) { return holding; }
