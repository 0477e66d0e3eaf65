"""Recording elementwise operations, and their gradients.

Going back runs the row's fused loop; where the gradient is itself recorded, the row's derivative
expression is evaluated over Tensors instead.
"""
from cpython.ref cimport PyObject
from fasttensor._core.dtype cimport ITEMSIZE, BOOL, is_float_code, is_complex_code
from fasttensor._core.layout cimport like_layout
from fasttensor._core.tensor cimport Tensor, Node, new_tensor, cast, same_shape, CPU, META
from fasttensor._core.dispatch cimport find_hook, grad_enabled
from fasttensor._core.element cimport write_element, read_element
from fasttensor._core.dispatch import backend
from fasttensor.cpu.elementwise cimport table, ft_op, run_flat, run_strided, FT_NOPS
from fasttensor.autograd.dependence cimport depending
from fasttensor.autograd.recording cimport requires, new_node, add_input, set_history, set_saved, get_saved, shrink_to, NUMBERS


class Names(dict):
    """Functions over Tensors by the names that derivative expressions use: the table's own, and what
    the functional layer provides."""

    def __missing__(self, name):
        from fasttensor.autograd.generated_functions import FUNCTIONS
        function = find_hook("derivative." + name) or FUNCTIONS.get(name) or FUNCTIONS.get("_" + name)
        if function is None:
            raise RuntimeError(f"derivative expressions know no function {name!r}")
        self[name] = function
        return function


cdef const ft_op *rows = table()
cdef list LABELS = []               # PyTorch's node names by row, see ft_op.label
NAMESPACE = Names()                 # functions over Tensors for double backward

cdef int _row, _kind
for _row in range(FT_NOPS):
    LABELS.extend([rows[_row].label[_kind].decode() for _kind in range(3)])


cdef str label_of(int op, Tensor x, Tensor z, Tensor w):
    """The node's name, which for a few rows tells a tensor operand from a number."""
    cdef int nin = rows[op].nin, kind = 0
    if nin == 1 or (z if nin == 2 else w) is not None:
        kind = 1 if x is not None else 2
    return <str>LABELS[3 * op + kind]


cdef Tensor empty_as(Tensor x, int code):
    """Like x in shape and, where x is dense, in strides; else in the order of its dimensions."""
    return like_layout(x, code)


cdef tuple par_tuple(const ft_op *row, const double *par):
    cdef int i
    return tuple([par[i] for i in range(row.nparam)]) if par != NULL else ()


cdef bint record(int op, int code, Tensor y, Tensor x, Tensor z, Tensor w, void *sx, void *sz, void *sw, const double *par) except False:
    """Give y its node. Operands that were numbers are None, with their value at sx, sz, sw."""
    cdef const ft_op *row = &rows[op]
    cdef int need = 0, i
    cdef Node node = None
    cdef bint any_required = False
    cdef bint broadcast = False
    if not (is_float_code(y.code) or is_complex_code(y.code)):
        return True
    node = new_node(elementwise_backward, label_of(op, x, z, w))
    node.op = op
    for i in range(row.nin):
        v = x if i == 0 else z if i == 1 else w
        if v is None or row.saves[i] == 255:
            node.inputs.append(None)
            if node.nrs is not None:
                node.nrs.append(0)
            continue
        add_input(node, <Tensor>v)
        if node.inputs[i] is not None:
            need |= row.saves[i]
            any_required = True
            if (<Tensor>v).rank != y.rank or not same_shape(<Tensor>v, y):
                broadcast = True
    if not any_required:
        return True
    if par != NULL:
        for i in range(row.nparam):
            node.par[i] = par[i]
    if broadcast:
        node.out_meta = tuple([None if v is None else (<Tensor>v).shape for v in (x, z, w)])
    set_history(y, node, 0)
    if need:
        node.saved_output = ((x is None) | (z is None) << 1 | (w is None) << 2) << NUMBERS
        set_saved(node, (
            kept(x, sx, code, row.mask & 1) if need & 1 else None,
            (kept(z, sz, code, row.mask & 2) if need & 2 else None) if row.nin > 1 else None,
            (kept(w, sw, code, row.mask & 4) if need & 4 else None) if row.nin > 2 else None,
            y if need & 8 else None))
    return True


cdef Tensor kept(Tensor x, void *value, int code, bint mask):
    cdef Tensor t
    if x is not None:
        return x
    t = new_tensor(0, NULL, BOOL if mask else code, CPU)
    write_element(t.ptr, t.code, read_element(<const char *>value, t.code))
    return t


cdef inline bint is_spare(Node node, Tensor g) noexcept:
    """Whether the sweep's hand and elementwise_backward's are the only ones on g and its memory, so that an input's gradient
    may be written over it."""
    return (<PyObject *>g).ob_refcnt == 2 and (<PyObject *>g.store).ob_refcnt == 1 and g.store.capacity and node.extra is None \
        and g.base is None and g.meta is None and not g.needs_grad and type(g) is Tensor and not grad_enabled()


cdef object elementwise_backward(Node node, object grad):
    cdef const ft_op *row = &rows[node.op]
    cdef Tensor g = <Tensor>grad, r
    cdef list results
    cdef tuple saved = None         # fetched once, however many inputs' gradients read it
    cdef int i, last = 0
    if row.nin == 1 and node.inputs[0] is None:
        return None
    if row.nin == 1:
        return input_gradient(node, row, 0, g, get_saved(node) if row.saves[0] else (), is_spare(node, g))
    results = []
    for i in range(row.nin):
        if node.inputs[i] is not None:
            last = i
    for i in range(row.nin):
        if node.inputs[i] is None:
            results.append(None)
            continue
        if saved is None and row.saves[i]:
            saved = get_saved(node)
        r = input_gradient(node, row, i, g, saved if row.saves[i] else (), i == last and is_spare(node, g))
        if node.out_meta is not None and node.out_meta[i] is not None:
            r = shrink_to(r, <tuple>node.out_meta[i])
        results.append(r)
    return tuple(results)


cdef Tensor input_gradient(Node node, const ft_op *row, int i, Tensor g, tuple saved, bint spare):
    cdef Tensor out
    cdef int bits = row.saves[i], k, n = 0, code
    cdef char *p[6]
    cdef Py_ssize_t s[6]
    cdef bint flat
    cdef Tensor t, b = None, c = None, d = None
    if (row.identity >> i) & 1:
        return g
    if grad_enabled() and (requires(g) or any_requires(saved)):
        return symbolic_gradient(node, row, i, g, saved)
    # the computing dtype: that of what was saved, or of the gradient
    code = g.code
    if bits & 7:
        for k in range(3):
            if (bits >> k) & 1 and not (row.mask >> k) & 1:
                code = (<Tensor>saved[k]).code
                break
    elif bits & 8:
        code = (<Tensor>saved[3]).code
    if g.code != row.out[code]:         # an in-place operation that computed in a wider dtype
        g = cast(g, row.out[code])
    if row.dx[i][code] == NULL:
        return symbolic_gradient(node, row, i, g, saved)
    if g.dev == META:
        return empty_as(g, code)
    if g.dev != CPU:
        return backend(g).elementwise(node.op, i, code, (g,) + tuple([saved[k] for k in range(4) if (bits >> k) & 1]), par_tuple(row, node.par))
    flat = g.contig
    for k in range(4):
        if (bits >> k) & 1:
            t = <Tensor>saved[k]
            flat = flat and t.contig and t.count == g.count and same_shape(t, g)
            p[2 + n] = t.ptr
            s[2 + n] = ITEMSIZE[t.code]
            if n == 0:
                b = t
            elif n == 1:
                c = t
            else:
                d = t
            n += 1
    if flat:
        out = g if spare and g.code == code else new_tensor(g.rank, g.sizes, code, CPU)
        p[0], p[1], s[0], s[1] = out.ptr, g.ptr, ITEMSIZE[code], ITEMSIZE[g.code]
        run_flat(row.dx[i][code], 2 + n, p, s, g.count, node.par)
    else:
        out = empty_as(g, code)
        run_strided(row.dx[i][code], out, g, NULL, b, NULL, c, NULL, d, 1 + n, node.par)
    return out


cdef bint any_requires(tuple saved):
    for v in saved:
        if v is not None and requires(<Tensor>v):
            return True
    return False


cdef Tensor symbolic_gradient(Node node, const ft_op *row, int i, Tensor g, tuple saved):
    """The derivative's expression evaluated over Tensors, so that it is itself recorded."""
    from fasttensor._optable.derive import derivatives, second_of     # only double backward needs the expressions
    cdef object f = derivatives(node.op)[i], second = second_of(node.op)
    if not saved:
        saved = (None, None, None, None)
    got = f(NAMESPACE, g, saved[:row.nin], saved[3], par_tuple(row, node.par))
    if not isinstance(got, Tensor):
        got = NAMESPACE["zeros_like"](g) + got
    if not same_shape(<Tensor>got, g):
        got = got.expand_as(g)
    if second and grad_enabled():
        got = depending(node, <Tensor>got, second, range(row.nin))
    return got
