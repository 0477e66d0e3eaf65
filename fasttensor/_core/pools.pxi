# Tensors and nodes that wait for their next use; included in tensor.pyx.

cdef extern from "pool.h":
    pass

cdef extern from *:
    """
    typedef struct __pyx_obj_10fasttensor_5_core_6tensor_Tensor ft_tensor;
    typedef struct __pyx_obj_10fasttensor_5_core_6tensor_Node ft_node;
    static ft_pool ft_tensors, ft_nodes;

    static inline void ft_keep_tensor(PyObject *o) {
        ft_tensor *t = (ft_tensor *)o;
        Py_CLEAR(t->__dict__);
        FT_RESET(t->node);
        FT_RESET(t->base);
        FT_RESET(t->grad_);
        FT_RESET(t->acc);
        FT_RESET(t->meta);
        FT_RESET(t->store);
        /* what was just freed may have filled the pool */
        if (ft_tensors.n < FT_SPARE) ft_tensors.spare[ft_tensors.n++] = o;
        else ft_tensors.dealloc(o);
    }

    static void ft_tensor_dealloc(PyObject *o) {
        ft_tensor *t = (ft_tensor *)o;
        int plain = Py_TYPE(o) == ft_tensors.type && !t->__weakref__ && t->sizes == t->inline_dims && ft_tensors.n < FT_SPARE;
        PyObject_GC_UnTrack(o);
        if (plain && (PyObject *)t->node == Py_None && (PyObject *)t->base == Py_None && t->grad_ == Py_None && !t->__dict__) {
            ft_keep_tensor(o);
            return;
        }
        /* a chain of nodes and saved tensors can be longer than the stack is deep */
        Py_TRASHCAN_BEGIN(o, ft_tensor_dealloc)
        if (plain) ft_keep_tensor(o);
        else ft_pool_pass(&ft_tensors, o, &t->__dict__);
        Py_TRASHCAN_END
    }

    static void ft_node_dealloc(PyObject *o) {
        ft_node *n = (ft_node *)o;
        PyObject_GC_UnTrack(o);
        Py_TRASHCAN_BEGIN(o, ft_node_dealloc)
        if (Py_TYPE(o) != ft_nodes.type || n->__weakref__ || ft_nodes.n >= FT_SPARE) ft_pool_pass(&ft_nodes, o, &n->__dict__);
        else {
            Py_CLEAR(n->__dict__);
            FT_RESET(n->rule);
            FT_RESET(n->inputs);
            FT_RESET(n->nrs);
            FT_RESET(n->metas);
            FT_RESET(n->saved);
            FT_RESET(n->label);
            FT_RESET(n->out_meta);
            FT_RESET(n->grad);
            FT_RESET(n->extra);
            FT_RESET(n->needs_input_grad);
            if (ft_nodes.n < FT_SPARE) ft_nodes.spare[ft_nodes.n++] = o;
            else ft_nodes.dealloc(o);
        }
        Py_TRASHCAN_END
    }

    /* of a node that was shown to a program: what made it an ordinary object of a class of its own ends here */
    static void ft_shown_dealloc(PyObject *o) {
        PyTypeObject *shown = Py_TYPE(o);
        Py_SET_TYPE(o, ft_nodes.type);
        ft_node_dealloc(o);
        Py_DECREF(shown);
    }

    static void ft_give_class(PyObject *o, PyObject *cls) {
        PyTypeObject *before = Py_TYPE(o);
        ((PyTypeObject *)cls)->tp_dealloc = ft_shown_dealloc;
        Py_INCREF(cls);
        Py_SET_TYPE(o, (PyTypeObject *)cls);
        if (before != ft_nodes.type) Py_DECREF(before);
    }

    static int ft_open_pools(PyObject *tensor, PyObject *node) {
        if (ft_pool_open(&ft_tensors, (PyTypeObject *)tensor, ft_tensor_dealloc) < 0) return -1;
        return ft_pool_open(&ft_nodes, (PyTypeObject *)node, ft_node_dealloc);
    }

    /* without shape, dtype, device and memory */
    static inline PyObject *ft_fresh_tensor(void) {
        PyObject *o = ft_pool_take(&ft_tensors, offsetof(ft_tensor, __dict__));
        ft_tensor *t = (ft_tensor *)o;
        if (!o) return NULL;
        t->offset = 0;
        t->needs_grad = t->inference = t->nr = 0;
        t->base_seq = t->visit = 0;
        t->ptr = NULL;
        return o;
    }

    static inline PyObject *ft_fresh_node(void) {
        PyObject *o = ft_pool_take(&ft_nodes, offsetof(ft_node, __dict__));
        ft_node *n = (ft_node *)o;
        if (!o) return NULL;
        n->op = -1;
        n->n_outputs = 1;
        n->out_rank = -1;
        n->saved_output = 0;
        n->saved_version = n->visit = 0;
        n->released = n->materialize = n->needed = 0;
        n->pending = 0;
        n->run = NULL;
        memset(n->par, 0, sizeof n->par);
        return o;
    }
    """
    void ft_give_class(object node, object cls)
    int ft_open_pools(object tensor, object node) except -1
    Tensor ft_fresh_tensor()
    Node ft_fresh_node()

ft_open_pools(Tensor, Node)


cdef Node fresh_node():
    return ft_fresh_node()
