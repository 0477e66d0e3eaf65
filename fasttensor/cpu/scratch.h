/* Scratch memory of the running thread, kept for its next task: fresh pages cost more than small tasks. Each file that
   includes this has blocks of its own. */
#ifndef FT_SCRATCH_H
#define FT_SCRATCH_H
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct { void *raw; size_t size; } ft_scratch_block;
static pthread_key_t ft_scratch_key;
static pthread_once_t ft_scratch_once = PTHREAD_ONCE_INIT;
static _Thread_local ft_scratch_block *ft_scratch_mine;

static void ft_scratch_free(void *p) {
  free(((ft_scratch_block *)p)->raw);
  free(p);
}
static void ft_scratch_init(void) { pthread_key_create(&ft_scratch_key, ft_scratch_free); }

static inline void *ft_scratch(size_t bytes) {
  ft_scratch_block *s = ft_scratch_mine;
  if (__builtin_expect(s && s->size >= bytes, 1)) return s->raw;
  if (!s) {
    pthread_once(&ft_scratch_once, ft_scratch_init);
    s = (ft_scratch_block *)calloc(1, sizeof *s);
    if (!s) return NULL;
    pthread_setspecific(ft_scratch_key, s);
    ft_scratch_mine = s;
  }
  free(s->raw);
  s->size = 0;
  bytes = (bytes + 65535) & ~(size_t)65535;
  s->raw = aligned_alloc(64, bytes);
  if (s->raw) s->size = bytes;
  return s->raw;
}
#endif
