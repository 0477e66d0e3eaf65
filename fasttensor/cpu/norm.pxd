from fasttensor._core.tensor cimport Tensor

# The row primitives shared by the normalisations of rows and of channels.
cdef extern from "norm_loops.h" nogil:
    enum:
        NORM_COLS
    ctypedef struct ft_norm:
        double (*sum)(const void *, Py_ssize_t) noexcept nogil
        double (*squares)(const void *, Py_ssize_t, double) noexcept nogil
        void (*dots)(const void *, const void *, Py_ssize_t, double, double *) noexcept nogil
        void (*affine)(const void *, void *, Py_ssize_t, double, double, double) noexcept nogil
        void (*affine2)(const void *, const void *, void *, Py_ssize_t, double, double, double, double) noexcept nogil
        void (*scale)(const void *, void *, Py_ssize_t, double, double, const void *, const void *) noexcept nogil
        void (*scale_back)(const void *, const void *, void *, Py_ssize_t, double, double, const void *, void *, void *, int) noexcept nogil
        void (*add)(const void *, Py_ssize_t, Py_ssize_t, void *) noexcept nogil
        void (*col_sum)(const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *) noexcept nogil
        void (*col_squares)(const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double *, double *) noexcept nogil
        void (*col_dots)(const void *, const void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double *, double *, double *) noexcept nogil
        void (*col_affine)(const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double *, const double *,
                           const double *) noexcept nogil
        void (*col_affine2)(const void *, const void *, void *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double *, const double *,
                            const double *, const double *) noexcept nogil
    const ft_norm FT_NORM_OF[2]

# RuntimeError unless weights and statistics have the input's dtype, or float32 beside half precision
cdef bint parameters_fit(str name, Tensor x, Tensor a, Tensor b, Tensor c, Tensor d) except False
