from fasttensor._core.storage cimport Storage
from fasttensor._core.tensor cimport Tensor

cdef bint resize_storage(Storage store, size_t nbytes, Tensor sole=*) except False
