"""Copies, conversions and whole-tensor writes, with their gradients; detaching; hooks of tensors."""
import weakref

from fasttensor._core.tensor cimport Tensor, Node, backward_fn, new_tensor, new_like, new_view, alias, from_storage, set_geometry, \
    is_dense, describe, wrote, CPU, CUDA, META
from fasttensor._core.dtype cimport *
from fasttensor._core.storage cimport Storage, new_storage
from fasttensor._core.device cimport device_code, device_of
from fasttensor._core.dispatch cimport grad_enabled, copy_into, inference_enabled
from fasttensor._core.dispatch import backend
from fasttensor._core.element cimport scalar_code, write_element
from fasttensor._core.device import device as device_class
from fasttensor.cpu.copy cimport fill
from fasttensor.autograd.graph cimport *
from fasttensor.autograd.elementwise cimport differentiable_cast, result_code
from fasttensor.autograd.rule import node_hooks, retain_on


class memory_format:
    """How the dimensions of images lie in memory, e.g. ``fasttensor.channels_last``."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


cdef object identity_backward(Node node, object grad):
    return grad


cdef object cast_back(Node node, object grad):
    cdef Tensor g = grad
    if <int>node.par[1] != g.dev:
        g = to_device(g, <int>node.par[1], <int>node.par[0])
    return differentiable_cast(g, <int>node.par[0])


cdef Tensor empty_in_format(Tensor x, int code, object form):
    """Like x, laid out as a memory format says; None and preserve_format keep dense strides."""
    cdef Tensor y = new_tensor(x.rank, x.sizes, code, x.dev)
    cdef int d
    if form is contiguous_format:
        return y
    if form is None or form is preserve_format:
        if not x.contig and is_dense(x):
            for d in range(x.rank):
                y.steps[d] = x.steps[d]
            y.contig = False
        return y
    return with_channels_last(y, form)


cdef Tensor with_channels_last(Tensor y, object form):
    cdef Py_ssize_t steps[8]
    cdef Py_ssize_t run = 1
    cdef int d, rank = 4 if form is channels_last else 5
    if form is not channels_last and form is not channels_last_3d:
        raise TypeError(f"memory_format must be a torch.memory_format, not {type(form).__name__}")
    if y.rank != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {form} format, got {describe(y)}")
    for d in [1] + list(range(rank - 1, 1, -1)) + [0]:
        steps[d] = run
        run *= y.sizes[d]
    return from_storage(y.store, y.code, rank, y.sizes, steps, 0)


cdef bint in_format(Tensor x, object form) noexcept:
    cdef Py_ssize_t run = 1
    cdef int d, i, rank = 4 if form is channels_last else 5
    if x.rank != rank:
        return False
    for i in range(rank):
        d = 1 if i == 0 else rank - i if i < rank - 1 else 0
        if x.sizes[d] != 1 and x.steps[d] != run:
            return False
        run *= x.sizes[d]
    return True


cdef Tensor copy_of(Tensor x, object form):
    cdef Tensor y = empty_in_format(x, x.code, form)
    cdef Node node
    copy_into(y, x)
    if grad_enabled() and requires(x):
        node = new_node(identity_backward, "CloneBackward0")
        add_input(node, x)
        set_history(y, node, 0)
    return y


def clone(input, *, memory_format=None):
    """A copy with its own memory; gradients flow through.

    >>> import fasttensor as torch
    >>> torch.ones(2).clone()
    tensor([1., 1.])
    """
    return copy_of(<Tensor?>input, memory_format)


def contiguous(self, memory_format=contiguous_format):
    """This tensor itself when it is contiguous in `memory_format`, else a contiguous copy."""
    cdef Tensor x = self
    if memory_format is contiguous_format:
        return x if x.contig else copy_of(x, contiguous_format)
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return x if in_format(x, memory_format) else copy_of(x, memory_format)


def is_contiguous(self, memory_format=contiguous_format):
    """Whether the elements lie in memory in order, without gaps."""
    return (<Tensor>self).contig if memory_format is contiguous_format else in_format(<Tensor>self, memory_format)


cdef Tensor to_device(Tensor x, int dev, int code):
    """x's values on another device, without history."""
    cdef Tensor y
    if dev == META or x.dev == META:
        if dev != META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data! Use torch.empty_like to make a tensor on another device.")
        return new_tensor(x.rank, x.sizes, code, META)
    y = new_tensor(x.rank, x.sizes, code, dev)
    copy_into(y, x)
    return y


cdef Tensor convert(Tensor x, int code, int dev, bint copy, object form):
    cdef Tensor y
    cdef Node node
    if code == x.code and dev == x.dev and not copy and (form is None or form is preserve_format or contiguous_in(x, form)):
        return x
    if dev == x.dev:
        y = empty_in_format(x, code, form)
        copy_into(y, x)
    else:
        y = to_device(x, dev, code)
    if grad_enabled() and requires(x) and code >= FLOAT16:
        node = new_node(cast_back, "ToCopyBackward0")
        add_input(node, x)
        node.par[0], node.par[1] = x.code, x.dev
        set_history(y, node, 0)
    return y


cdef bint contiguous_in(Tensor x, object form):
    return x.contig if form is contiguous_format else in_format(x, form)


def to(self, *args, **kwargs):
    """This tensor with another dtype or device: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``.

    Options: non_blocking, copy (copy even when nothing changes), memory_format. Returns self when nothing changes.

    >>> import fasttensor as torch
    >>> torch.ones(2).to(torch.int64)
    tensor([1, 1])
    """
    cdef Tensor x = self
    cdef int code = x.code, dev = x.dev, n = 0
    cdef bint copy = kwargs.pop("copy", False)
    cdef object form = kwargs.pop("memory_format", None)
    kwargs.pop("non_blocking", None)
    for value in list(args) + [kwargs.pop("device", None), kwargs.pop("dtype", None), kwargs.pop("other", None)]:
        if value is None:
            continue
        if isinstance(value, Tensor):
            code, dev = (<Tensor>value).code, (<Tensor>value).dev
        elif isinstance(value, bool):       # positional non_blocking, copy
            copy = value if n else copy
            n += 1
        elif isinstance(value, (str, device_class)) or (isinstance(value, int)):
            dev = device_code(value)
        else:
            code = code_of(value)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {next(iter(kwargs))!r}")
    return convert(x, code, dev, copy, form)


def type_of(self, dtype=None, non_blocking=False):
    """The type's name, or with `dtype` this tensor converted to it."""
    cdef Tensor x = self
    if dtype is None:
        return "torch." + ("cuda." if x.dev == CUDA else "") + TYPE_NAMES[x.code]
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        if name not in TYPE_NAMES:
            raise ValueError(f"invalid type: {dtype!r}")
        return convert(x, TYPE_NAMES.index(name), x.dev, False, None)
    return convert(x, code_of(dtype), x.dev, False, None)


TYPE_NAMES = ("BoolTensor", "ByteTensor", "CharTensor", "ShortTensor", "IntTensor", "LongTensor", "HalfTensor", "BFloat16Tensor",
              "FloatTensor", "DoubleTensor", "ComplexFloatTensor", "ComplexDoubleTensor")


def type_as(self, other):
    """This tensor with the dtype and device of `other`."""
    return convert(<Tensor>self, (<Tensor?>other).code, (<Tensor>other).dev, False, None)


def converter(name, int code):
    """The method that converts to one dtype."""
    def method(self, memory_format=None):
        return convert(<Tensor>self, code, (<Tensor>self).dev, False, memory_format)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor as {dtype_of(code)}."
    return method


def cpu(self, memory_format=None):
    """This tensor in the CPU's memory."""
    return convert(<Tensor>self, (<Tensor>self).code, CPU, False, memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """This tensor on the GPU. Raises an error that says what is missing where there is none."""
    return convert(<Tensor>self, (<Tensor>self).code, device_code("cuda" if device is None else device), False, memory_format)


# --- writing ---
cdef object copy_backward(Node node, object grad):
    cdef Tensor g = grad, s
    cdef tuple meta = node.out_meta
    if node.inputs[1] is None:
        return (zero_of(g), None)
    s = differentiable_cast(shrink_to(g, <tuple>meta[0]), <int>meta[1])
    return (zero_of(g), s if s.dev == <int>meta[2] else to_device(s, <int>meta[2], s.code))


cdef Tensor zero_of(Tensor g):
    cdef Tensor z = new_like(g, g.code)
    zero_memory(z)
    return z


cdef void zero_memory(Tensor z):
    cdef double complex zero = 0
    if z.dev == CPU:
        fill(z, &zero)


def copy_(self, src, non_blocking=False):
    """Write `src`, broadcast and converted, into this tensor."""
    cdef Tensor x = self, s
    cdef Node node
    cdef bint recording
    if not isinstance(src, Tensor):
        return fill_(self, src)
    s = <Tensor>src
    if s is x:
        return x
    check_inplace(x, "copy_")
    recording = grad_enabled() and (requires(x) or requires(s)) and x.code >= FLOAT16
    copy_into(x, s)
    wrote(x)
    if recording:
        node = inplace_node(x, copy_backward, "CopyBackwards")
        add_input(node, s)
        node.out_meta = (tuple([s.sizes[d] for d in range(s.rank)]), s.code if s.code >= FLOAT16 else x.code, s.dev)
        rebase(x, node)
    return x


cdef object fill_backward(Node node, object grad):
    return (zero_of(<Tensor>grad), (<Tensor>grad).sum() if node.inputs[1] is not None else None)


def fill_(self, value):
    """Set every element to `value`, a number or a 0-d tensor."""
    cdef Tensor x = self
    cdef Tensor v = None
    cdef char buffer[16]
    cdef Node node
    if isinstance(value, Tensor):
        v = <Tensor>value
        if v.rank != 0:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {v.rank} dimensions.")
    elif scalar_code(value) < 0:
        raise TypeError(f"fill_(): argument 'value' must be Number or Tensor, not {type(value).__name__}")
    check_inplace(x, "fill_")
    cdef bint recording = grad_enabled() and (requires(x) or (v is not None and requires(v)))
    if v is not None:
        copy_into(x, v)
    elif x.dev == CPU:
        if (isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c") and not is_complex_code(x.code):
            raise RuntimeError(f"fill_: value cannot be converted to type {dtype_of(x.code)} without overflow: {value}")
        write_element(buffer, x.code, value)
        fill(x, buffer)
    elif x.dev != META:
        backend(x).fill(x, value)
    wrote(x)
    if recording:
        node = inplace_node(x, fill_backward, "FillBackward0")
        if v is not None:
            add_input(node, v)
        else:
            node.inputs.append(None)
            if node.nrs is not None:
                node.nrs.append(0)
        rebase(x, node)
    return x


def zero_(self):
    """Set every element to zero."""
    return fill_(self, 0)


# --- history ---
def detach(self):
    """The same memory without history; it does not require grad."""
    cdef Tensor x = <Tensor?>self
    return alias(x)


def detach_(self):
    """Cut this tensor from its history."""
    cdef Tensor x = self
    if x.base is not None and x.node is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    x.node, x.needs_grad, x.nr = None, False, 0
    return x


def requires_grad_(self, requires_grad=True):
    """Set whether operations on this leaf are recorded; returns the tensor."""
    self.requires_grad = requires_grad
    return self


class RemovableHandle:
    """Removes a hook: ``handle.remove()``, or at the end of a ``with`` block."""
    next_id = 0

    def __init__(self, hooks, hook):
        self.hooks = weakref.ref(hooks) if not isinstance(hooks, dict) else (lambda: hooks)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        hooks[self.id] = hook

    def remove(self):
        """Take the hook away; nothing happens when it is gone already."""
        hooks = self.hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_hook(self, hook):
    """Call ``hook(grad)`` whenever this tensor's gradient is computed; what it returns, if not None, takes its place."""
    cdef Tensor x = self
    if not requires(x):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    e = edge(x)
    if e is not x:
        return RemovableHandle(node_hooks(e, ("hooks", x.nr)), hook)
    return RemovableHandle(leaf_hooks(x, "hooks"), hook)


cdef dict leaf_hooks(Tensor x, str kind):
    if x.meta is None:
        x.meta = {}
    return (<dict>x.meta).setdefault(kind, {})


def register_post_accumulate_grad_hook(self, hook):
    """Call ``hook(tensor)`` after a gradient was accumulated into this leaf's ``grad``."""
    cdef Tensor x = self
    if not x.needs_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(leaf_hooks(x, "post_hooks"), hook)


def retain_grad(self):
    """Keep the gradient of this non-leaf tensor in ``grad`` too."""
    cdef Tensor x = self
    if not requires(x):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    e = edge(x)
    if e is not x:
        retain_on(e, x.nr, weakref.ref(x))
        if x.meta is None:
            x.meta = {}
        x.meta["retains_grad"] = True


def retains_grad(self):
    """Whether a non-leaf tensor keeps its gradient."""
    return bool((<Tensor>self).meta is not None and (<Tensor>self).meta.get("retains_grad"))


def node_register_hook(node, hook):
    """Call ``hook(grad_inputs, grad_outputs)`` after the node ran."""
    return RemovableHandle(node_hooks(node, "posthooks"), hook)


def node_register_prehook(node, hook):
    """Call ``hook(grad_outputs)`` before the node runs."""
    return RemovableHandle(node_hooks(node, "prehooks"), hook)


# --- storage ---
def resize_(self, *sizes, memory_format=None):
    """Give this tensor another shape, with new memory where it needs more; new elements are uninitialised."""
    cdef Tensor x = self
    cdef Py_ssize_t s[64]
    cdef Storage old = x.store
    cdef Py_ssize_t n = 1
    cdef int d
    cdef tuple shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if requires(x):
        raise RuntimeError("cannot resize variables that require grad")
    for d in range(len(shape)):
        s[d] = shape[d]
        if s[d] < 0:
            raise RuntimeError(f"resize_: negative size {s[d]} in {list(shape)}")
        n *= s[d]
    cdef size_t nbytes = (n + x.offset) * ITEMSIZE[x.code] if n else 0
    if x.dev == CPU and (old is None or nbytes > old.length):
        if old is not None and old.capacity == 0 and old.owner is not None and not isinstance(old.owner, Storage):
            raise RuntimeError("Trying to resize storage that is not resizable: its memory belongs to another object")
        grown = new_tensor(len(shape), s, x.code, x.dev)
        copy_bytes(<Tensor>grown, x)
        x.store, x.ptr, x.offset = (<Tensor>grown).store, (<Tensor>grown).ptr, 0
    set_geometry(x, len(shape), s, NULL)
    if memory_format is channels_last or memory_format is channels_last_3d:
        laid = with_channels_last(x, memory_format)
        set_geometry(x, x.rank, x.sizes, (<Tensor>laid).steps)
    return x


cdef void copy_bytes(Tensor dst, Tensor src):
    """The elements of src in memory order, as far as dst has room."""
    cdef size_t n = min(dst.count, src.count) * ITEMSIZE[dst.code]
    if n and src.contig:
        from_memory(dst.ptr, src.ptr, n)


cdef extern from "<string.h>":
    void *memmove(void *d, const void *s, size_t n)


cdef void from_memory(char *d, const char *s, size_t n) noexcept:
    memmove(d, s, n)


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make this tensor show the memory of another tensor or storage."""
    cdef Tensor x = self, y
    cdef Py_ssize_t zero = 0
    if source is None:
        set_geometry(x, 1, &zero, NULL)
        x.store, x.offset = new_storage(0), 0
        x.ptr = x.store.ptr
        return x
    if isinstance(source, Tensor):
        y = source
        if y.code != x.code:
            raise RuntimeError(f"set_: expected a tensor of {dtype_of(x.code)}, got {describe(y)}")
    else:
        store = source._untyped_storage if hasattr(source, "_untyped_storage") else source
        n = (<Storage?>store).length // ITEMSIZE[x.code]
        zero = n
        y = from_storage(store, x.code, 1, &zero, NULL, 0)
    if size is not None:
        if stride is None:
            y = y.as_strided(size, [int(s) for s in contiguous_strides(size)], storage_offset)
        else:
            y = y.as_strided(size, stride, storage_offset)
    set_geometry(x, y.rank, y.sizes, y.steps)
    x.store, x.ptr, x.offset = y.store, y.ptr, y.offset
    return x


cdef list contiguous_strides(size):
    steps, run = [], 1
    for n in reversed(list(size)):
        steps.insert(0, run)
        run *= max(n, 1)
    return steps


def make_subclass(cls, data, requires_grad=False):
    """A tensor of a subclass over the memory of `data`."""
    cdef Tensor x = <Tensor?>data
    cdef Tensor t = Tensor.__new__(cls)         # past a __new__ of the subclass, which may call this
    set_geometry(t, x.rank, x.sizes, x.steps)
    t.store, t.ptr, t.offset, t.code, t.dev = x.store, x.ptr, x.offset, x.code, x.dev
    t.inference = x.inference
    if requires_grad:
        t.requires_grad = True
    return t


def as_subclass(self, cls):
    """This tensor as an instance of a subclass, with its history."""
    cdef Tensor x = self
    t = make_subclass(cls, x)
    cdef Node node
    if requires(x):
        node = new_node(identity_backward, "AliasBackward0")
        add_input(node, x)
        set_history(<Tensor>t, node, 0)
    return t


def strides(Tensor x not None):
    """The strides in elements."""
    cdef int d
    return tuple([x.steps[d] for d in range(x.rank)])


def data_ptr(self):
    """Address of the first element."""
    return <size_t>(<Tensor?>self).ptr if (<Tensor>self).count else 0


def storage_offset(self):
    """Elements between the storage's start and the first element."""
    return (<Tensor?>self).offset


def storage_of(Tensor x not None):
    """The storage."""
    return x.store


def is_inference(self):
    """Whether it was made in inference mode."""
    return (<Tensor?>self).inference


def result_type(a, b):
    """The dtype of an operation between two tensors or numbers."""
    for v in (a, b):
        if not isinstance(v, Tensor) and scalar_code(v) < 0:
            raise TypeError(f"result_type(): arguments must be Tensors or Numbers, not {type(v).__name__}")
    return dtype_of(result_code(a, b, None, 0))


cdef object view_dtype_backward(Node node, object grad):
    return view_dtype(<Tensor>grad, dtype_of(<int>node.par[0]))


def view_dtype(Tensor x not None, d):
    """The same bytes as elements of another dtype: the last dimension's size changes with the element's."""
    cdef int code = code_of(d), old = ITEMSIZE[x.code], new = ITEMSIZE[code], i
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef Py_ssize_t offset = x.offset
    cdef Tensor y
    cdef Node node
    for i in range(x.rank):
        sizes[i], steps[i] = x.sizes[i], x.steps[i]
    if old != new:
        if x.rank == 0:
            raise RuntimeError(f"self.dim() cannot be 0 to view {dtype_of(x.code)} as {d} (different element sizes)")
        if x.steps[x.rank - 1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 to view {dtype_of(x.code)} as {d} (different element sizes), but got {x.steps[x.rank - 1]}")
        if new > old:
            ratio = new // old
            if x.sizes[x.rank - 1] % ratio or x.offset % ratio:
                raise RuntimeError(f"self.size(-1) must be divisible by {ratio} to view {dtype_of(x.code)} as {d} (different element sizes), but got {x.sizes[x.rank - 1]}")
            for i in range(x.rank - 1):
                if x.steps[i] % ratio:
                    raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} to view {dtype_of(x.code)} as {d}")
                steps[i] //= ratio
            sizes[x.rank - 1] //= ratio
            offset //= ratio
        else:
            ratio = old // new
            for i in range(x.rank - 1):
                steps[i] *= ratio
            sizes[x.rank - 1] *= ratio
            offset *= ratio
    y = from_storage(x.store, code, x.rank, sizes, steps, offset)
    y.ptr = x.ptr
    if grad_enabled() and requires(x) and code >= FLOAT16:
        node = new_node(view_dtype_backward, "ViewBackward1")
        add_input(node, x)
        node.par[0] = x.code
        set_history(y, node, 0)
    return y


def complex_parts(Tensor x not None):
    """A complex tensor's parts as a last dimension, over the same memory, without history."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(x.rank):
        sizes[d], steps[d] = x.sizes[d], 2 * x.steps[d]
    sizes[x.rank], steps[x.rank] = 2, 1
    return from_storage(x.store, real_code(x.code), x.rank + 1, sizes, steps, 2 * x.offset)


def parts_as_complex(Tensor x not None):
    """The inverse of complex_parts."""
    cdef Py_ssize_t steps[64]
    cdef int d
    for d in range(x.rank - 1):
        steps[d] = x.steps[d] // 2
    return from_storage(x.store, complex_code(x.code), x.rank - 1, x.sizes, steps, x.offset // 2)


METHODS = {
    "clone": clone, "contiguous": contiguous, "is_contiguous": is_contiguous, "to": to, "type": type_of, "type_as": type_as,
    "cpu": cpu, "cuda": cuda, "copy_": copy_, "fill_": fill_, "zero_": zero_, "detach": detach, "detach_": detach_,
    "requires_grad_": requires_grad_, "register_hook": register_hook, "retain_grad": retain_grad, "retains_grad": property(retains_grad),
    "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook, "resize_": resize_, "set_": set_, "as_subclass": as_subclass,
    "_make_subclass": staticmethod(make_subclass),
    **{name: converter(name, code) for name, code in (
        ("bool", BOOL), ("byte", UINT8), ("char", INT8), ("short", INT16), ("int", INT32), ("long", INT64), ("half", FLOAT16),
        ("bfloat16", BFLOAT16), ("float", FLOAT32), ("double", FLOAT64), ("cfloat", COMPLEX64), ("cdouble", COMPLEX128))},
}
