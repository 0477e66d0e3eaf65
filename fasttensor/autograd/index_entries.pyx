"""What stands between the brackets of x[...], as a tuple of ints, slices, bools, None, Ellipsis and tensors."""
from fasttensor._core.dtype cimport UINT8, dtype_of, INT64
from fasttensor._core.foreign import from_array
from fasttensor._core.nested import from_nested
from fasttensor._core.tensor cimport Tensor

cdef extern from "Python.h":
    bint PySequence_Check(object o)
    bint PyIndex_Check(object o)
    object PyNumber_Index(object o)


cdef bint is_array(object e):
    return hasattr(type(e), "__array_interface__") and hasattr(e, "ndim")


cdef bint spells_a_tuple(object index):
    """Whether a sequence stands for a tuple of indices, as in x[[slice(2), 0]]: one that holds tensors, sequences, slices, None or Ellipsis."""
    cdef Py_ssize_t i, n
    if not PySequence_Check(index) or isinstance(index, Tensor) or is_array(index):
        return False
    try:
        n = len(index)
    except TypeError:
        return False
    if n >= 32:
        return False
    for i in range(n):
        e = index[i]
        if e is None or e is Ellipsis or isinstance(e, (Tensor, slice)) or PySequence_Check(e):
            return True
    return False


cpdef tuple index_tuple(object index):
    """An index expression as a tuple, its sequences and arrays made tensors; IndexError for what is no index."""
    cdef tuple entries
    if isinstance(index, tuple):
        entries = <tuple>index if type(index) is tuple else tuple(index)
    elif spells_a_tuple(index):
        entries = tuple([index[i] for i in range(len(index))])
    else:
        entries = (index,)
    for e in entries:
        if not is_plain(e):
            return tuple([e if is_plain(e) else as_plain(e) for e in entries])
    return entries


cdef bint is_plain(object e):
    return isinstance(e, (int, Tensor, slice)) or e is None or e is Ellipsis


cdef object as_plain(object e):
    if is_array(e):
        if PyIndex_Check(e) and e.ndim == 0 and e.dtype.kind in "iu":
            return PyNumber_Index(e)
        if PySequence_Check(e):
            return from_array(e, False) if e.dtype.kind not in "iuf" or e.dtype.name == "uint8" else from_array(e.astype("int64"), False)
    elif PySequence_Check(e):
        made = from_nested(e)
        return made if (<Tensor>made).code <= UINT8 or (<Tensor>made).code == INT64 else from_nested(e, dtype_of(INT64))
    elif PyIndex_Check(e):
        return PyNumber_Index(e)
    name = type(e).__name__ if type(e).__module__ != "numpy" else "numpy." + type(e).__name__
    raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {name})")
