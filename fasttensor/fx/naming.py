"""Under which of PyTorch's names a function of this library appears in graphs, and with which arguments.

One function here may have several names of PyTorch: ``torch.relu`` is ``torch.nn.functional.relu``, ``torch.absolute`` is ``torch.abs``,
and methods are functions. In a graph they differ, so what is recorded is read off the call itself: the bytecode of the calling frame says
how the program named what it called.
"""
import ast
import bisect
import builtins
import dis
import functools
import inspect
import sys
import types

import fasttensor
from fasttensor import Tensor
from fasttensor.functional import interpose

from .forms import FORMS

__all__ = []

# Functions of nn.functional that are compiled in PyTorch and go by the names of the compiled ones.
NN = {name: name for name in ("avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus"
                              " softshrink").split()} | {"logsigmoid": "log_sigmoid"}
SAME_IN_TORCH = frozenset(
    "adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d"
    " cosine_similarity hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_"
    " threshold_".split())
IN_FUNCTIONAL = frozenset("align_tensors broadcast_shapes istft".split())        # beside those that have a form
COMPILED = ("linalg", "fft", "special")


class Form:
    """How calls of a function are recorded: the name, which arguments are positional, and the keywords with their defaults."""
    __slots__ = ("name", "positional", "keywords")

    def __init__(self, key, words):
        self.name = "torch." + key.removeprefix("torch.")
        if words and words[0] == ">":
            self.name, words = words[1], words[2:]
        split = words.index("|")
        self.positional = words[:split]
        self.keywords = {name: default for name, _, default in (word.partition("=") for word in words[split + 1:])}

    def apply(self, function, args, kwargs):
        """The arguments as they are recorded; TypeError where they do not fit."""
        if self.positional[:1] and self.positional[0].startswith("*"):
            named = {name: kwargs.get(name, _literal(default)) for name, default in self.keywords.items()}
            if self.positional[0] == "*operands" and len(args) == 2 and isinstance(args[1], (list, tuple)):
                args = (args[0], *args[1])      # einsum's old form, with the operands in a list
            return args, named
        given = bound(function, args, kwargs, (*self.positional, *self.keywords))
        positional = tuple(given[name] for name in self.positional)
        return positional, {name: given[name] if name in given else _literal(default) for name, default in self.keywords.items()}


def bound(function, args, kwargs, order):
    """{parameter: what a call gives it}."""
    try:
        signature = inspect.signature(function)
        return {"input": args[0], **signature.bind(*args, **kwargs).arguments} if args else dict(signature.bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        if len(args) > len(order):
            raise TypeError(f"{function.__name__}() takes {len(order)} positional arguments but {len(args)} were given") from None
        return {**dict(zip(order, args)), **kwargs}


def _literal(text):
    return ast.literal_eval(text)


@functools.cache
def forms():
    """{(namespace, name): Form}."""
    found = {}
    for line in FORMS.strip().replace("\n  ", " ").splitlines():
        key, *words = line.split()
        space, _, name = key.rpartition(".")
        found[space, name] = Form(key, words)
    return found


def printed(space, name):
    """The name in a graph of what PyTorch has under `name` in a namespace."""
    form = forms().get((space, name))
    if form is not None:
        return form.name
    if space == "nn.functional":
        if name in NN:
            return "torch._C._nn." + NN[name]
        if name in SAME_IN_TORCH:
            return "torch." + name
    elif space in COMPILED:
        return f"torch._C._{space}.{space}_{name}"
    elif space == "torch":
        return ("torch.functional." if name in IN_FUNCTIONAL else "torch.") + name
    return f"torch.{space}.{name}"


# --- which names an object has ---
ORDER = ("torch", "nn.functional", "linalg", "special", "fft", "nn.init")


def space_of(module):
    """"nn.functional" for that module; None for what is no namespace of functions."""
    name = getattr(module, "__name__", "")
    if name == "fasttensor" or name == "fasttensor.functional":
        return "torch"
    return name.removeprefix("fasttensor.") if name.removeprefix("fasttensor.") in ORDER else None


def namespaces():
    """{namespace: module} of those that are imported."""
    found = {}
    for space in ORDER:
        module = sys.modules.get("fasttensor" if space == "torch" else "fasttensor." + space)
        if module is not None:
            found[space] = module
    return found


def places_of(function):
    """The (namespace, name) pairs under which programs find a function, its own name's first."""
    own = getattr(function, "__name__", None)
    found = [(space, own) for space, module in namespaces().items() if vars(module).get(own) is function]
    if not found:
        found = [(space, name) for space, module in namespaces().items() for name, value in list(vars(module).items()) if value is function]
    return found


def default_name(function, kwargs=None, called=False):
    """The name of a function of which nothing else is known; None where it is not one of the library's public functions.

    A function of both namespaces is nn.functional's where it was called, or given the keyword that only that has.
    """
    places = places_of(function)
    if not places:
        return None
    if len(places) > 1 and places[0][0] == "torch" and places[1] in forms() and (called or "inplace" in (kwargs or ())):
        return printed(*places[1])
    return printed(*places[0])


def qualified_name(function):
    """The name that the code of a graph calls a function by."""
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    if vars(Tensor).get(name) is function and not isinstance(function, (types.FunctionType, type(fasttensor.add))):
        return f"torch.Tensor.{name}"
    if type(function).__name__ in ("OpOverload", "OpOverloadPacket") and type(function).__module__ == "fasttensor.ops":
        return f"torch.ops.{function}"
    known = default_name(function)
    if known is not None:
        return known
    if is_ours(function) and vars(Tensor).get(name) is function:
        return f"torch.Tensor.{name}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = getattr(function, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find module for {function}")
    if module.partition(".")[0] == "fasttensor":
        module = "torch" + module[len("fasttensor"):]
    return f"{module}.{name}"


def is_ours(obj):
    """Whether generated code reaches an object through the name ``torch``."""
    module = getattr(obj, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in ("fasttensor", "torch")


# --- what a call in a program names ---
CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "PRECALL", "CALL_INTRINSIC_1", "CALL_FUNCTION", "CALL_METHOD", "CALL_FUNCTION_KW")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")


@functools.lru_cache(256)
def instructions(code):
    """The instructions of code, their offsets, and {start in the source: instructions that begin there}."""
    found, starts = list(dis.get_instructions(code)), {}
    for each in found:
        place = getattr(each, "positions", None)
        if place is not None and place.lineno is not None and place.end_col_offset is not None:
            starts.setdefault((place.lineno, place.col_offset), []).append(each)
    return found, [each.offset for each in found], starts


def instruction_at(frame):
    """The instruction that a frame is at, which may stand in the caches behind it."""
    found, offsets, _ = instructions(frame.f_code)
    at = bisect.bisect_right(offsets, frame.f_lasti) - 1
    return found[at] if at >= 0 else None


def program_frame(frame):
    """The frame that made a call, past those that stand for the called function."""
    while frame is not None and frame.f_code.co_filename == interpose.__file__:
        frame = frame.f_back
    return frame


def end_of(instruction):
    return instruction.positions.end_lineno, instruction.positions.end_col_offset


class Called:
    """What a frame calls at this moment.

    `operator`: no call, but an operator or a subscript. `name`: by which the callee was found. `attribute`: whether that is an attribute,
    and `owner`: of what, None where that is not known.
    """
    __slots__ = ("operator", "name", "attribute", "owner")

    def __init__(self, operator=False, name=None, attribute=False, owner=None):
        self.operator, self.name, self.attribute, self.owner = operator, name, attribute, owner


def called_in(frame):
    """The `Called` of a frame; one that says nothing where the bytecode does not tell."""
    if frame is None:
        return Called()
    at, starts = instruction_at(frame), instructions(frame.f_code)[2]
    if at is None:
        return Called()
    if at.opname.startswith(("BINARY_", "INPLACE_", "UNARY_", "COMPARE_", "CONTAINS_", "STORE_SUBSCR")):
        return Called(operator=True)
    if at.opname not in CALLS:
        return Called()
    chain = callee_by_places(at, starts) if starts else callee_by_stack(frame, at)
    if not chain:
        return Called()
    name = plain_name(chain[-1])
    return Called(name=name) if chain[-1].opname in NAMES else Called(name=name, attribute=True, owner=evaluate(frame, chain[:-1]))


def callee_by_places(call, starts):
    """The instructions of names and attributes that give what is called, by their places in the source, which Python has from 3.11 on."""
    if call.positions.lineno is None:
        return []
    # the callee is the longest expression that begins where the call does and ends before it
    here = starts.get((call.positions.lineno, call.positions.col_offset), ())
    inside = [x for x in here if end_of(x) < end_of(call) and x.opname in ATTRIBUTES + NAMES]
    if not inside:
        return []
    callee = max(inside, key=end_of)
    return [*sorted((x for x in here if end_of(x) < end_of(callee)), key=end_of), callee]


def callee_by_stack(frame, call):
    """The same by what lies on the stack above the callee: each instruction before the call is undone until nothing does."""
    found = instructions(frame.f_code)[0]
    at = found.index(call)
    above = {"CALL_FUNCTION_KW": call.arg + 1, "CALL_FUNCTION_EX": 1 + (call.arg & 1)}.get(call.opname, call.arg)
    while above > 0 and at > 0:
        at -= 1
        if found[at].opcode in dis.hasjabs or found[at].opcode in dis.hasjrel or found[at].is_jump_target:
            return []           # an argument that was chosen between
        above -= dis.stack_effect(found[at].opcode, found[at].arg)
    at -= 1
    first = at
    while first > 0 and found[first].opname in ATTRIBUTES:
        first -= 1
    inside = found[first:at + 1] if at >= 0 else []
    return inside if inside and (inside[0].opname in NAMES or len(inside) > 1) and inside[-1].opname in ATTRIBUTES + NAMES else []


def plain_name(instruction):
    return instruction.argval if isinstance(instruction.argval, str) else instruction.argval[-1]


def evaluate(frame, chain):
    """The value of an expression of plain names and attributes; None where it is another."""
    if not chain or chain[0].opname not in NAMES or any(x.opname not in ATTRIBUTES for x in chain[1:]):
        return None
    missing = object()
    name = plain_name(chain[0])
    value = missing
    for scope in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in scope:
            value = scope[name]
            break
    for x in chain[1:]:
        if not isinstance(value, types.ModuleType) and not hasattr(value, "_fx_namespace"):
            return None if not isinstance(value, (Tensor, type)) else value
        value = getattr(value, plain_name(x), missing)
    return None if value is missing else value


def recorded(function, args, kwargs, frame):
    """(kind of node, target, args, kwargs, name in the graph) for a call that a program makes of a function of the library."""
    called = called_in(program_frame(frame))
    owner, space = called.owner, getattr(called.owner, "_fx_namespace", None) or space_of(called.owner)
    method = called.operator or isinstance(owner, Tensor) or isinstance(owner, type) and issubclass(owner, Tensor)
    if called.attribute and owner is None and args and isinstance(args[0], Tensor):
        method = vars(Tensor).get(called.name) is function          # of what an expression gave
    if method or type(function).__name__ in ("wrapper_descriptor", "method_descriptor", "method-wrapper"):
        name = called.name if called.name and not called.operator and vars(Tensor).get(called.name) is function else method_name(function)
        return "call_method", name, args, kwargs, None
    name = called.name
    if space in COMPILED:
        name = name.removeprefix(space + "_")
    if space is not None and vars(namespaces().get(space, fasttensor)).get(name) is not function:
        space = None            # PyTorch's own spelling: torch._C._nn.linear
    key = (space, name)
    if space is None:
        named = [(place, name) for place, module in namespaces().items() if name and vars(module).get(name) is function] or places_of(function)
        key = named[0] if named else None
        if len(named) > 1 and named[0][0] == "torch" and named[1] in forms():
            key = named[1]
    if key is None:
        return "call_function", function, args, kwargs, None
    form = forms().get(key)
    if form is None:
        return "call_function", function, args, kwargs, printed(*key)
    if form.name.startswith("."):
        return "call_method", form.name[1:], args, kwargs, None
    args, kwargs = form.apply(function, args, kwargs)
    name = form.name
    if kwargs.get("return_indices") is True:
        name += "_with_indices" * (not name.endswith("_with_indices"))
    return "call_function", function, args, kwargs, name


OPERATOR_METHODS = {"__eq__": "eq", "__rpow__": "__rpow__", "__pow__": "pow"}


def method_name(function):
    """The name by which PyTorch records a method that an operator stands for."""
    name = function.__name__
    return OPERATOR_METHODS.get(name, name)


def summary(function, name):
    """What ``print`` shows of a function in tables: PyTorch's compiled functions have no address of their own."""
    if name is not None and name.startswith("torch.") and is_ours(function) and not isinstance(function, type):
        space, _, last = name.rpartition(".")
        if space == "torch" and ("torch", last) not in forms():
            return f"<built-in method {last} of type object at {id(fasttensor):#x}>"
        if space.startswith("torch._C."):
            return f"<built-in function {last}>"
        return f"<function {last} at {id(function):#x}>"
    return str(function)

