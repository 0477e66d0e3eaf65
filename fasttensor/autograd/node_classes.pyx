"""The classes under which programs see recorded operations: ``type(y.grad_fn).__name__`` is PyTorch's name.

Operations are recorded as plain nodes. The first time that a program gets hold of one (``grad_fn``, ``next_functions``, a Function's
``ctx``), it becomes an instance of a class of its operation, which is made when it is first needed.
"""
from _weakref import ref

from fasttensor._core.tensor cimport Tensor, Node
from fasttensor._core.tensor import give_class, show_node
from fasttensor._core.dispatch import install, set_hook
from fasttensor.autograd.recording cimport get_saved
from fasttensor.autograd.recording import hook_saved
from fasttensor.autograd.function import FunctionCtx

cdef dict _classes = {}             # by name; of the rows of one name there is one

# What nodes save that are neither rows of the table nor rules, in order.
cdef dict COMPILED = {
    "MmBackward0": ("self", "mat2"), "BmmBackward0": ("self", "mat2"), "MvBackward0": ("self", "vec"), "DotBackward0": ("self", "tensor"),
    "AddmmBackward0": ("mat1", "mat2"), "BaddbmmBackward0": ("batch1", "batch2"),
}


def show(Node node not None):
    """Give a node the class of its operation."""
    cdef object cls
    if node.rule is not None and node.materialize:
        cls = node.rule.__dict__.get("_backward_cls")
        if cls is None:
            cls = node.rule._backward_cls = make_class(node.rule.__name__ + "Backward", (Node, FunctionCtx), "torch.autograd.function")
            cls._forward_cls = node.rule
    else:
        cls = _classes.get(node.label)
        if cls is None:
            cls = _classes[node.label] = make_class(node.label.rpartition(":")[2], (Node,), "builtins")
    give_class(node, cls)


def make_class(name, bases, module):
    def __new__(cls, *args, **kwargs):
        raise TypeError(f"cannot create {name!r} instances")
    return type(name, bases, {
        "__slots__": (), "__module__": module, "__new__": __new__, "__getattr__": saved_attribute, "__dir__": attributes, "__repr__": object.__repr__})


cdef dict saved_names(Node node):
    """What the node keeps for backward, by PyTorch's names: the place of a saved tensor, or a value."""
    cdef dict found = {}
    cdef int k, bits = 0
    cdef object words
    if node.op >= 0:
        from fasttensor._optable.table import OPS
        row = OPS[node.op]
        for bit in row.saves:
            bits |= bit if bit != 255 else 0
        for k, name in enumerate(row.arguments):
            if bits >> k & 1:
                found["self" if name == "input" else name] = k
        if bits & 8:
            found["result"] = 3
        for k, (name, default) in enumerate(row.params.items()):
            value = node.par[k]
            found[name] = (int(value) if isinstance(default, int) and value.is_integer() else value,)
        return found
    words = getattr(node.rule, "saves", ()) if node.rule is not None else COMPILED.get(node.label, ())
    for k, name in enumerate(words):
        if name is not None:
            found[name] = k
    return found


def saved_attribute(Node node, str name):
    """`_saved_NAME` and `_raw_saved_NAME`, looked up when nothing else has the name."""
    cdef bint raw = name.startswith("_raw_saved_")
    cdef object place = None
    cdef tuple values
    if raw or name.startswith("_saved_"):
        place = saved_names(node).get(name[11 if raw else 7:])
    if place is None or raw and type(place) is tuple:
        raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}")
    if type(place) is tuple:
        return place[0]
    if raw:
        return SavedTensor(node, place)
    values = get_saved(node)
    return values[place] if place < len(values) else None


def attributes(Node node):
    """The names of `dir`."""
    cdef list found = list(object.__dir__(node))
    for name, place in saved_names(node).items():
        found.append("_saved_" + name)
        if type(place) is not tuple:
            found.append("_raw_saved_" + name)
    return found


class SavedTensor:
    """A tensor that a node keeps for backward, whose hooks may be set once: ``y.grad_fn._raw_saved_result.register_hooks(pack, unpack)``."""

    def __init__(self, node, place):
        self._node, self._place = node, place

    def register_hooks(self, pack_hook, unpack_hook):
        """Keep what ``pack_hook(tensor)`` gives instead of the tensor; ``unpack_hook`` of that must give the tensor back in backward."""
        hook_saved(self._node, self._place, pack_hook, unpack_hook)

    def unpack(self):
        """The tensor."""
        return get_saved(self._node)[self._place]

    @property
    def data(self):
        """The tensor, or what the pack hook gave."""
        return hook_saved(self._node, self._place, None, None)


class AccumulateGrad(Node):
    """The end of the graph at a leaf, as PyTorch shows it in ``next_functions``."""
    __slots__ = ("variable",)
    next_functions = ()

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        """PyTorch's name of it."""
        return "struct torch::autograd::AccumulateGrad"

    def register_hook(self, hook):
        """Call ``hook((), (gradient,))`` after a gradient was added to the leaf's."""
        return self.variable.register_post_accumulate_grad_hook(lambda t: hook((), (t.grad,)))

    def register_prehook(self, hook):
        """Call ``hook((gradient,))`` before a gradient is added to the leaf's; it may return another."""
        return self.variable.register_hook(lambda g: (hook((g,)) or (None,))[0])

    def _sequence_nr(self):
        return 2 ** 64 - 1

    __repr__ = object.__repr__


AccumulateGrad.__module__ = "builtins"


def accumulator_of(Tensor leaf not None):
    """The leaf's AccumulateGrad, the same as long as somebody holds it."""
    cdef object found = None
    if leaf.meta is None:
        leaf.meta = {}
    elif "accumulator" in leaf.meta:
        found = leaf.meta["accumulator"]()
    if found is None:
        found = AccumulateGrad(leaf)
        leaf.meta["accumulator"] = ref(found)
    return found


def _next_functions(Node node):
    cdef list ends = [accumulator_of(e) for e in node.inputs if isinstance(e, Tensor)]
    if ends:                        # the graph keeps them, as PyTorch's does
        node.extra = dict(node.extra or (), accumulators=ends)
    return tuple([(None, 0) if e is None else (show_node(e), nr) if isinstance(e, Node) else (accumulator_of(e), 0)
                  for e, nr in zip(node.inputs, node.nrs or [0] * len(node.inputs))])


def _sequence_nr(Node node):
    """The node's number in the order of recording."""
    return node.seq - 1


install(Node, {"next_functions": property(_next_functions), "_sequence_nr": _sequence_nr, "requires_grad": True})
set_hook("show_node", show)
