from fasttensor._core.tensor cimport Tensor

cdef bint overlaps(Tensor a, Tensor b) noexcept
cdef bint internal_overlap(Tensor x) noexcept
cdef void fill(Tensor dst, void *value) noexcept
