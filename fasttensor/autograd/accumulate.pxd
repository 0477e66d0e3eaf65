from fasttensor._core.tensor cimport Tensor, Node

cdef tuple check_seed(Tensor root, object g, str name)
cdef release(Node node)
cdef object run_hooks(object hooks, object g, str what)
cdef object before_node(Node node, object g)
cdef object after_node(Node node, object grads, object g)
cdef check_anomaly(Node node, object grads)
cdef explain_error(Node node)
cdef object summed(Tensor old, Tensor g, bint create)
cdef accumulate_retained(Tensor t, object g)
cdef accumulate_grad(Tensor leaf, Tensor g, bint create)
cdef check_hook(str what, Tensor g, object got)
cdef Tensor fitting(Node node, Py_ssize_t i, Tensor g, object target, int nr)
