"""The tensor that a function sees inside vmap: one sample's shape, over the memory of all samples.

Its struct has a sample's sizes and strides, so that shape checks and the geometry of views need no second
version, but no memory: what would read it goes to `value`, the tensor of all samples, instead. Operations
on it are operations on `value`, and are recorded there; the graph knows nothing of batches.
"""
from fasttensor._core.tensor cimport Tensor, set_geometry, describe, BATCHED
from fasttensor._core.dispatch cimport enter_vmap, inside_vmap
from fasttensor._core.dispatch import set_hook
from fasttensor._core import construct
from _thread import _local         # threading.local, without what else threading imports

cdef object _stack = _local()


cdef class Level:
    """One vmap that is running: its depth, the size of its batch and what random functions do in it."""

    def __init__(self, depth, size, randomness):
        self.depth, self.size, self.randomness, self.alive = depth, size, randomness, True

    def __repr__(self):
        return f"Level(depth={self.depth}, size={self.size})"


def levels():
    """The vmaps that this thread is inside of, outermost first."""
    return getattr(_stack, "levels", ())


def open_level(size, randomness):
    """Enter a vmap over a batch of this size."""
    level = Level(len(levels()) + 1, size, randomness)
    _stack.levels = levels() + (level,)
    enter_vmap(1)
    return level


def close_level(Level level):
    """Leave it."""
    level.alive = False
    _stack.levels = tuple([lv for lv in levels() if lv is not level])
    enter_vmap(-1)


class without_levels:
    """Context: operations run as outside of vmap, on the batch's own memory."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.kept = levels()
        _stack.levels = self.kept[:len(self.kept) - self.count]
        enter_vmap(-self.count)

    def __exit__(self, *exc):
        _stack.levels = self.kept
        enter_vmap(self.count)


cdef class Batched(Tensor):
    """One sample of a batch, for all samples at once."""

    cdef object only_element(self, str what):
        if what == "bool":
            raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support"
                               " that yet: use torch.where, which chooses for each sample.")
        raise RuntimeError(f"vmap: It looks like you're calling .{what}() on a Tensor. We don't support vmap over calling .{what}() on a"
                           " Tensor, please try to rewrite what you're doing with other operations: each sample has its own value.")

    def __bool__(self):
        return self.only_element("bool")

    def __index__(self):
        return self.only_element("item")

    def __repr__(self):
        return f"BatchedTensor(lvl={self.level.depth}, bdim=0, value={self.value!r})"

    def __format__(self, spec):
        return repr(self)

    def __reduce_ex__(self, protocol):
        raise RuntimeError("vmap: a batched tensor cannot be copied by copy or saved: use clone()")

    def __dlpack__(self, *args, **kwargs):
        raise RuntimeError("vmap: a batched tensor has no memory of its own to export")

    @property
    def device(self):
        return self.value.device

    @property
    def is_cpu(self):
        return self.value.is_cpu

    @property
    def is_cuda(self):
        return self.value.is_cuda

    @property
    def requires_grad(self):
        return self.value.requires_grad

    @requires_grad.setter
    def requires_grad(self, on):
        raise RuntimeError("You are attempting to call Tensor.requires_grad_() inside of a function being transformed by vmap: use"
                           " torch.func.grad or torch.func.vjp there, or set it outside")

    @property
    def grad_fn(self):
        return self.value.grad_fn

    @property
    def is_leaf(self):
        return self.value.is_leaf

    @property
    def grad(self):
        return None

    @property
    def data(self):
        return wrap(self.value.data, self.level)

    @property
    def _version(self):
        return self.value._version

    @property
    def _base(self):
        return None


cdef Batched as_batched(Tensor x):
    if not isinstance(x, Batched):
        raise RuntimeError(f"vmap: {describe(x)} lost its batch in an operation without a form for batched tensors")
    if not (<Batched>x).level.alive:
        raise RuntimeError(f"vmap: {describe(x)} was made inside a vmap that has ended: return it from the function instead")
    return <Batched>x


cdef Tensor memory_of(Tensor x):
    while isinstance(x, Batched):
        x = (<Batched>x).value
    return x


cdef Tensor wrap(Tensor value, Level level):
    """The samples along dimension 0 of `value` as one batched tensor."""
    cdef Batched x = Batched.__new__(Batched)
    set_geometry(x, value.rank - 1, value.sizes + 1, value.steps + 1)
    x.code, x.dev, x.offset, x.inference = value.code, BATCHED, value.offset, value.inference
    # always as if recorded: whether `value` is, is asked where the operation is run on it
    x.value, x.level, x.needs_grad = value, level, True
    return x


cdef Level level_of(object values):
    cdef Level found = None, other
    for v in values:
        if isinstance(v, Batched):
            other = (<Batched>v).level
        elif type(v) is list or type(v) is tuple:
            other = level_of(v)
        else:
            continue
        if other is not None and (found is None or other.depth > found.depth):
            found = other
    return found


cdef Level living(object values):
    cdef Level level = level_of(values)
    if level is not None and not level.alive:
        raise RuntimeError("vmap: a tensor made inside a vmap that has ended is used: return it from the function instead")
    return level


cdef bint has_batched(tuple values) noexcept:
    for v in values:
        if isinstance(v, Tensor) and (<Tensor>v).dev == BATCHED:
            return True
    return False


cdef object padded(Tensor x, Level level, int rank):
    cdef Tensor value
    if not isinstance(x, Batched) or (<Batched>x).level is not level:
        return x
    value = as_batched(x).value
    while value.rank - 1 < rank:
        value = value.unsqueeze(1)
    return value


# --- for the layers above ---
def batch(Tensor value not None, Level level not None):
    """A batched tensor whose samples lie along dimension 0 of `value`."""
    return wrap(value, level)


def find_level(*values):
    """The innermost level among the values, which may be in lists and tuples; None without."""
    return living(values)


def value_at(x, Level level):
    """The tensor of all samples of a tensor that is batched at this level, else None."""
    if isinstance(x, Batched) and (<Batched>x).level is level:
        return as_batched(x).value
    return None


def replace_value(Batched x not None, Tensor value not None):
    """Show other memory, as an in-place change of shape does."""
    set_geometry(x, value.rank - 1, value.sizes + 1, value.steps + 1)
    x.value, x.code, x.offset = value, value.code, value.offset


def all_samples(x):
    """The tensor of all samples of a batched tensor, at every level; others as they are. For checks of values
    that raise an error for a whole batch."""
    while isinstance(x, Batched):
        x = (<Batched>x).value
    return x


def spread(x, *others):
    """x, copied for every sample of each vmap that only the others are batched by, so that they can be written into it."""
    cdef Level level = living((x, *others))
    if level is None:
        return x
    value = value_at(x, level)
    rest = [o if value_at(o, level) is None else value_at(o, level) for o in others]
    if value is None:
        value = spread(x.unsqueeze(0).expand(level.size, *x.shape), *rest).clone().contiguous()
    else:
        value = spread(value, *rest)
    return wrap(value, level)


def spread_draws(x):
    """Memory for random numbers, one a sample for each vmap that asks for different ones."""
    for level in levels():
        if (<Level>level).randomness == "different" and not batched_by(x, level):
            x = wrap(x.unsqueeze(0).expand((<Level>level).size, *x.shape).clone().contiguous(), level)
    return x


cdef bint batched_by(x, level):
    while isinstance(x, Batched):
        if (<Batched>x).level is level:
            return True
        x = (<Batched>x).value
    return False


def empty_like_batch(Batched x not None, dtype, device, bint contiguous):
    """Memory for every sample."""
    return wrap(construct.empty_like(x.value, dtype, device, contiguous), x.level)


set_hook("empty_like_batch", empty_like_batch)


def is_inside():
    """Whether this thread is inside a vmap."""
    return inside_vmap()
