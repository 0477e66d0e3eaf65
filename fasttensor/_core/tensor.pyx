# cython: c_api_binop_methods=True, preliminary_late_includes_cy28=True
"""The strided tensor: geometry, storage and the protocols of Python, without any operation.

Operators go through the slots of `dispatch`; named methods are installed by the layers above.
"""
cimport cython
from cpython.buffer cimport (PyBUF_WRITABLE, PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS,
                             PyBUF_ANY_CONTIGUOUS)
from libc.stdlib cimport malloc, free
from fasttensor._core.dtype cimport *
from fasttensor._core.storage cimport Storage, new_storage, foreign_storage, bump, no_room
from fasttensor._core.element cimport read_element
from fasttensor._core.device cimport device_of
from fasttensor._core.checked cimport mul_overflows
from fasttensor._core.dispatch cimport *
from fasttensor._core.dual cimport any_duals


include "size.pxi"
include "node.pxi"
include "numbers.pxi"


@cython.trashcan(True)
cdef class Tensor:
    """A strided array of one dtype on one device.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).shape
    torch.Size([2, 2])
    """

    def __cinit__(self, *args, **kwargs):
        self.sizes = self.inline_dims
        self.steps = self.inline_dims + INLINE_DIMS
        self.rank, self.contig, self.code = 1, True, FLOAT32
        self.steps[0] = 1
        if type(self) is not Tensor:
            meet_class(type(self))
            if args or kwargs:          # a subclass's __init__ may have other arguments, and need not call this one's
                hook("construct")(self, args, kwargs)

    def __init__(self, *args, **kwargs):
        if self.store is None and (type(self) is Tensor or not args):
            hook("construct")(self, args, kwargs)

    def __dealloc__(self):
        if self.sizes != self.inline_dims:
            free(self.sizes)

    # --- what it is ---
    @property
    def shape(self):
        """The sizes of the dimensions, a ``Size``.

        >>> torch.ones(2, 3).shape
        torch.Size([2, 3])
        """
        return size_of(self.rank, self.sizes)

    @property
    def dtype(self):
        """The element type.

        >>> torch.tensor([1, 2]).dtype
        torch.int64
        """
        return dtype_of(self.code)

    @property
    def device(self):
        """Where the memory is: "cpu", or "meta" for a tensor without memory.

        >>> torch.ones(2).device
        device(type='cpu')
        """
        if self.dev == META and type(self) is not Tensor:       # a tensor that wraps others says where those are
            found = getattr(self, "_wrapped_device", None)
            if found is not None:
                return found
        return device_of(self.dev)

    @property
    def ndim(self):
        """The number of dimensions.

        >>> torch.ones(2, 3).ndim
        2
        """
        return self.rank

    @property
    def itemsize(self):
        """Bytes of one element.

        >>> torch.ones(2).itemsize
        4
        """
        return ITEMSIZE[self.code]

    @property
    def nbytes(self):
        """Bytes of all elements.

        >>> torch.ones(2).nbytes
        8
        """
        return self.count * ITEMSIZE[self.code]

    @property
    def layout(self):
        """How the elements are kept: ``torch.strided``.

        >>> torch.ones(2).layout
        torch.strided
        """
        return hook("strided")

    @property
    def is_cuda(self):
        """Whether the memory is a GPU's.

        >>> torch.ones(2).is_cuda
        False
        """
        return self.dev == CUDA

    @property
    def is_cpu(self):
        """Whether the memory is the CPU's.

        >>> torch.ones(2).is_cpu
        True
        """
        return self.dev == CPU

    @property
    def is_meta(self):
        """Whether it has a shape and no memory.

        >>> torch.empty(2, device="meta").is_meta
        True
        """
        return self.dev == META

    @property
    def _version(self):
        """How many in-place writes the storage has seen."""
        return 0 if self.store is None else self.store.version

    @property
    def _base(self):
        return self.base

    # --- gradients ---
    @property
    def requires_grad(self):
        """Whether operations on it are recorded; true of every view of a tensor of which it is true.

        Setting it raises RuntimeError for dtypes without gradients, and False for a tensor that an operation made.

        >>> torch.ones(2, requires_grad=True).requires_grad
        True
        """
        if any_duals() and not hook("for_gradients")(self):
            return False
        return self.needs_grad or (self.base is not None and self.base.needs_grad and not self.inference)

    @requires_grad.setter
    def requires_grad(self, bint on):
        ask_gradients(self, on)

    @property
    def is_leaf(self):
        """Whether no recorded operation made it.

        >>> (torch.ones(2, requires_grad=True) * 2).is_leaf
        False
        """
        return self.node is None or any_duals() and not hook("for_gradients")(self)

    @property
    def grad_fn(self):
        """The recorded operation that made it, or None.

        >>> (torch.ones(2, requires_grad=True) * 2).grad_fn.name()
        'MulBackward0'
        """
        if any_duals() and not hook("for_gradients")(self):
            return None
        if self.base is not None and (self.needs_grad or self.base.needs_grad):
            return shown(hook("view_node")(self))
        return shown(self.node)

    @property
    def output_nr(self):
        """Which of the results of ``grad_fn`` it is.

        >>> torch.ones(2, 2, requires_grad=True).unbind()[1].output_nr
        1
        """
        return self.nr

    @property
    def grad(self):
        """The accumulated gradient of a leaf, or None. Setting raises RuntimeError for another shape, dtype or device.

        >>> x = torch.ones(2, requires_grad=True)
        >>> (3 * x).sum().backward()
        >>> x.grad
        tensor([3., 3.])
        """
        return self.grad_

    @grad.setter
    def grad(self, value):
        if value is not None:
            check_gradient(self, value)
        self.grad_ = value

    @grad.deleter
    def grad(self):
        self.grad_ = None

    @property
    def data(self):
        """The same memory without history; writes to it are not counted for autograd. Setting it gives the tensor other memory.

        >>> torch.ones(2, requires_grad=True).data
        tensor([1., 1.])
        """
        return same_memory(self)

    @data.setter
    def data(self, Tensor value not None):
        take_memory(self, value)

    # --- Python protocols ---
    def __len__(self):
        if armed and overridden(self):
            return ask_protocol("__len__", (self,))
        if self.rank == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.sizes[0]

    def __iter__(self):
        if self.rank == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(hook("unbind")(self))

    def __hash__(self):
        return <size_t><void *>self >> 4

    def __repr__(self):
        if armed and overridden(self):
            return ask_protocol("__repr__", (self,))
        return hook("repr")(self)

    def __contains__(self, value):
        if armed and (overridden(self) or overridden(value)):
            return ask_protocol("__contains__", (self, value))
        return hook("contains")(self, value)

    def __getitem__(self, index):
        return binary_slots()[SLOT_GETITEM](self, index)

    def __setitem__(self, index, value):
        if armed and (overridden(self) or overridden(value) or overridden(index)):
            ask_protocol("__setitem__", (self, index, value))
            return
        hook("setitem")(self, index, value)

    cdef object only_element(self, str what):
        return the_element(self, what)

    @cython.binding(False)          # a method descriptor, which looks at the type of self: Tensor.item(3) is an error
    def item(self):
        """The only element as a Python number. Raises RuntimeError for any other count of elements.

        >>> torch.tensor([2.5]).item()
        2.5
        """
        if armed and overridden(self):
            return ask_protocol("item", (self,))
        return self.only_element("item")

    def __bool__(self):
        if armed and overridden(self):
            return ask_protocol("__bool__", (self,))
        if self.count != 1:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous" if self.count == 0 else
                               f"Boolean value of Tensor with more than one value is ambiguous ({describe(self)}): use .any() or .all()")
        return bool(self.only_element("bool"))

    def __int__(self):
        if armed and overridden(self):
            return ask_protocol("__int__", (self,))
        return int(real_of(self.only_element("int"), "int"))

    def __float__(self):
        if armed and overridden(self):
            return ask_protocol("__float__", (self,))
        return float(real_of(self.only_element("float"), "float"))

    @cython.binding(False)
    def __complex__(self):
        if armed and overridden(self):
            return ask_protocol("__complex__", (self,))
        return complex(self.only_element("complex"))

    def __index__(self):
        if armed and overridden(self):
            return ask_protocol("__index__", (self,))
        if self.count != 1 or self.code > INT64:
            raise TypeError(f"only integer tensors of a single element can be converted to an index, got {describe(self)}")
        return int(self.only_element("index"))

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        show_buffer(self, buffer, flags)
        buffer.obj = alias(self)        # which keeps the memory where it is when this tensor is resized

    def __releasebuffer__(self, Py_buffer *buffer):
        free(buffer.internal)

    # --- operators, by the slots of `dispatch` ---
    def __add__(self, other):
        return binary_slots()[SLOT_ADD](self, other)
    def __sub__(self, other):
        return binary_slots()[SLOT_SUB](self, other)
    def __mul__(self, other):
        return binary_slots()[SLOT_MUL](self, other)
    def __truediv__(self, other):
        return binary_slots()[SLOT_TRUEDIV](self, other)
    def __floordiv__(self, other):
        return binary_slots()[SLOT_FLOORDIV](self, other)
    def __mod__(self, other):
        return binary_slots()[SLOT_MOD](self, other)
    def __pow__(self, other, modulus):
        return NotImplemented if modulus is not None else binary_slots()[SLOT_POW](self, other)
    def __matmul__(self, other):
        return binary_slots()[SLOT_MATMUL](self, other)
    def __and__(self, other):
        return binary_slots()[SLOT_AND](self, other)
    def __or__(self, other):
        return binary_slots()[SLOT_OR](self, other)
    def __xor__(self, other):
        return binary_slots()[SLOT_XOR](self, other)
    def __lshift__(self, other):
        return binary_slots()[SLOT_LSHIFT](self, other)
    def __rshift__(self, other):
        return binary_slots()[SLOT_RSHIFT](self, other)
    def __lt__(self, other):
        return binary_slots()[SLOT_LT](self, other)
    def __le__(self, other):
        return binary_slots()[SLOT_LE](self, other)
    def __eq__(self, other):
        return binary_slots()[SLOT_EQ](self, other)
    def __ne__(self, other):
        return binary_slots()[SLOT_NE](self, other)
    def __gt__(self, other):
        return binary_slots()[SLOT_GT](self, other)
    def __ge__(self, other):
        return binary_slots()[SLOT_GE](self, other)
    def __iadd__(self, other):
        return binary_slots()[SLOT_IADD](self, other)
    def __isub__(self, other):
        return binary_slots()[SLOT_ISUB](self, other)
    def __imul__(self, other):
        return binary_slots()[SLOT_IMUL](self, other)
    def __itruediv__(self, other):
        return binary_slots()[SLOT_ITRUEDIV](self, other)
    def __ifloordiv__(self, other):
        return binary_slots()[SLOT_IFLOORDIV](self, other)
    def __imod__(self, other):
        return binary_slots()[SLOT_IMOD](self, other)
    def __ipow__(self, other):
        return binary_slots()[SLOT_IPOW](self, other)
    def __iand__(self, other):
        return binary_slots()[SLOT_IAND](self, other)
    def __ior__(self, other):
        return binary_slots()[SLOT_IOR](self, other)
    def __ixor__(self, other):
        return binary_slots()[SLOT_IXOR](self, other)
    def __ilshift__(self, other):
        return binary_slots()[SLOT_ILSHIFT](self, other)
    def __irshift__(self, other):
        return binary_slots()[SLOT_IRSHIFT](self, other)
    def __neg__(self):
        return unary_slots()[SLOT_NEG](self)
    def __pos__(self):
        return unary_slots()[SLOT_POS](self)
    def __abs__(self):
        return unary_slots()[SLOT_ABS](self)
    def __invert__(self):
        return unary_slots()[SLOT_INVERT](self)


include "buffer.pxi"
include "pools.pxi"
include "making.pxi"
