from fasttensor._core.tensor cimport Tensor

cdef bint touches(Tensor a, Tensor b) noexcept          # some memory in common, as far as the bounds tell
cdef bint overlaps(Tensor a, Tensor b) noexcept         # the same, but they are not one and the same view
cdef bint mixes(Tensor a, Tensor b) noexcept            # and both fill the memory between their first and last elements
cdef bint apart(str name, Tensor written, Tensor read) except False
cdef bint disjoint(str name, Tensor written, Tensor read) except False
cdef void fill(Tensor dst, void *value) noexcept
