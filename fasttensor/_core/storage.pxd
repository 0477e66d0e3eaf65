# Memory of tensors: 64-byte aligned blocks from a bounded cache, or memory that another object owns.
cdef class Storage:
    cdef char *ptr
    cdef size_t length           # bytes
    cdef size_t capacity        # bytes of the cached block; 0 when `owner` holds the memory
    cdef object owner           # keeps foreign memory alive: array, mmap, another Storage, capsule
    cdef unsigned long version  # in-place writes so far, shared by all views
    cdef unsigned char dev      # 0 cpu, 1 cuda, 2 meta
    cdef bint read_only
    cdef bint watched           # saved by autograd: record the next writer's line
    cdef object writer          # "file:line" of the last write since it was watched
    cdef dict __dict__
    cdef object __weakref__

cdef Storage new_storage(size_t nbytes)
cdef Storage foreign_storage(void *ptr, size_t nbytes, object owner)
cdef object no_room(str what)
cdef void bump(Storage store)
