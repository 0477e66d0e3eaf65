from fasttensor._core.tensor cimport Tensor

cdef Tensor like_layout(Tensor x, int code)         # uninitialised, with x's strides where x is dense, else in x's order of dimensions
cdef Tensor layout_on(Tensor x, int code, int dev)
# The result of an elementwise operation on up to three tensors; `alone` where no number is beside them
cdef Tensor joint_layout(int rank, const Py_ssize_t *sizes, int code, int dev, Tensor a, Tensor b, Tensor c, bint alone)

# Images: channels innermost in memory (torch.channels_last) or not
cdef bint channels_inside(Tensor x) noexcept        # what PyTorch calls the suggested memory format; of 3-d tensors, as images of one row
cdef Tensor empty_images(int rank, const Py_ssize_t *sizes, int code, int dev)     # uninitialised, channels innermost
cdef Tensor images_inside(Tensor y)                 # y itself, or a copy with its channels innermost
cdef Tensor channels_behind(Tensor t, bint back)    # a view with the channels as the last dimension, or back as the second
cdef bint same_order(Tensor a, Tensor b) noexcept   # equal strides where there is more than one element
