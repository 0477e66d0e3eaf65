/* Spare objects of one compiled type.

   Cython's own free list clears and fills an object again at each use, and makes a dict for the attributes that hardly any
   tensor has: together two thirds of the cost of a small operation. An object that waits here keeps its fields as they are
   for a new one; its dict is NULL until an attribute is set. The GIL guards all of it. */
#ifndef FT_POOL_H
#define FT_POOL_H
#include <Python.h>

#define FT_SPARE 256

typedef struct {
    PyTypeObject *type;
    destructor dealloc;         /* Cython's, for what is not plain */
    int n;
    PyObject *spare[FT_SPARE];
} ft_pool;

static PyObject *ft_empty_tuple = NULL;

static int ft_pool_open(ft_pool *pool, PyTypeObject *type, destructor mine) {
    if (!ft_empty_tuple && !(ft_empty_tuple = PyTuple_New(0))) return -1;
    pool->type = type;
    pool->dealloc = type->tp_dealloc;
    type->tp_dealloc = mine;
    return 0;
}

/* A new reference to a spare object, or a new one without a dict, the place of which is at `dict`. */
static inline PyObject *ft_pool_take(ft_pool *pool, size_t dict) {
    PyObject *o;
    if (pool->n) {
        o = pool->spare[--pool->n];
        _Py_NewReference(o);
        PyObject_GC_Track(o);
        return o;
    }
    o = pool->type->tp_new(pool->type, ft_empty_tuple, NULL);
    if (o) Py_CLEAR(*(PyObject **)((char *)o + dict));
    return o;
}

/* To Cython's own, which empties the dict: but others may hold it, as after `other.__dict__ = one.__dict__`. */
static inline void ft_pool_pass(ft_pool *pool, PyObject *o, PyObject **dict) {
    Py_CLEAR(*dict);
    pool->dealloc(o);
}

/* Make a field None again. */
#define FT_RESET(field) do { \
        PyObject *old_ = (PyObject *)(field); \
        if (old_ != Py_None) { Py_INCREF(Py_None); (field) = (__typeof__(field))Py_None; Py_XDECREF(old_); } \
    } while (0)

#endif
