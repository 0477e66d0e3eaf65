# Tensors of one element as Python's numbers; included in tensor.pyx.

cdef object real_of(object value, str what):
    """A complex number without an imaginary part as a float."""
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError(f"{what}: value cannot be converted to a real number without overflow: {value}; take .real or .abs() first")
        return value.real
    return value


cdef object the_element(Tensor self, str what):
    if self.count != 1:
        # as PyTorch has them: x.item() and float(x)
        kind = RuntimeError if what == "item" else ValueError
        raise kind(f"{what}: a Tensor with {self.count} elements ({describe(self)}) cannot be converted to Scalar")
    if self.dev == META:
        raise RuntimeError(f"{what}: Tensor.item() cannot be called on meta tensors ({describe(self)})")
    if self.dev != CPU:
        return hook("item")(self)
    return read_element(self.ptr, self.code)
