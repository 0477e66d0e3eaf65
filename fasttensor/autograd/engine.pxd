cdef object sweep(list outputs, list gradients, bint keep, bint create, object inputs, bint accumulate, str name, bint allow_unused)
