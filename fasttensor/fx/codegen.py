"""What writes a graph as Python."""
import dataclasses
import enum
import inspect
import re
import types
import typing

import fasttensor
from fasttensor.utils import _pytree as pytree

from . import naming
from .names_in_graph import _custom_builtins
from .node import Node, _type_repr

__all__ = ["CodeGen", "PythonCode"]

BINARY = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "div": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>",
          "and_": "&", "or_": "|", "xor": "^", "matmul": "@"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
# templates of the operators' code, by the name of the function in `operator`
reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in BINARY.items()} | {"getitem": "{}[{}]"}
magic_methods = {**{name: f"{{}} {sign} {{}}" for name, sign in COMPARE.items()}, "pos": "+{}", "neg": "-{}", "invert": "~{}",
                 **reflectable_magic_methods}
inplace_methods = {"i" + name.rstrip("_"): f"{{}} {sign}= {{}}" for name, sign in BINARY.items() if name != "div"} | {"setitem": "{}[{}] = {}"}
dtype_abbrs = {getattr(fasttensor, name): short for name, short in (
    ("bfloat16", "bf16"), ("float64", "f64"), ("float32", "f32"), ("float16", "f16"), ("complex32", "c32"), ("complex64", "c64"),
    ("complex128", "c128"), ("int8", "i8"), ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("bool", "b8"), ("uint8", "u8"),
    ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64"))}
COLORS = {"yellow": "\033[33m", "cyan": "\033[36m", "green": "\033[32m", "red": "\033[31m", "blue": "\033[34m", "dim": "\033[2m",
          "dim_blue": "\033[2m\033[34m", "dim_green": "\033[2m\033[32m"}
FRAME = re.compile(r"^File \"(.+)\", line (\d+), in (.+)$")


@dataclasses.dataclass
class PythonCode:
    """A graph's source, the globals that it needs, and which node is on which line."""
    src: str
    globals: dict
    _lineno_map: dict = None
    _prologue_start: int = 0


class _PyTreeInfo(typing.NamedTuple):
    """The names of nested arguments, and how they and the result are nested."""
    orig_args: list
    in_spec: typing.Any
    out_spec: typing.Any


@dataclasses.dataclass(frozen=True)
class _ParsedStackTrace:
    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self):
        """One line about the innermost frame."""
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


def _parse_stack_trace(stack_trace, filter_fn=None):
    """The innermost frame of a trace's text (for which `filter_fn(file, name, code)` holds), or None."""
    lines = (stack_trace or "").strip().split("\n")
    for line, code in zip(lines[-2::-1], lines[:0:-1]):
        parts = FRAME.match(line.strip())
        if parts and (filter_fn is None or filter_fn(parts[1], parts[3], code.strip())):
            return _ParsedStackTrace(*parts.groups(), code.strip())
    return None


def _format_target(base, target):
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class _Writer:
    """The code of one graph while it is written."""

    def __init__(self, codegen, root_module, namespace, options):
        self.codegen, self.root, self.namespace, self.options = codegen, root_module, namespace, options
        self.globals, self.wrapped, self.free, self.body, self.returned = {}, {}, [], [], ""
        self.summary = None

    def color(self, name, text):
        return COLORS[name] + text + "\033[0m" if self.options["colored"] else text

    def add_global(self, hint, obj):
        """The name in the code of an object outside of it."""
        if naming.is_ours(obj) and obj is not fasttensor.device and not isinstance(obj, enum.Enum) and obj is not fasttensor:
            return _type_repr(obj) if isinstance(obj, type) else naming.qualified_name(obj) if hasattr(obj, "__name__") else hint
        name = self.namespace.create_name(hint, obj)
        if self.globals.setdefault(name, obj) is not obj and self.globals[name] != obj:
            raise AssertionError(f"Global name {name} already assigned to different object")
        return name

    def type_text(self, t):
        """A type annotation's code."""
        if t == ():
            return "()"
        name = _type_repr(t)
        if isinstance(t, types.UnionType) and "|" in name:
            return "|".join(self.type_text(part) for part in typing.get_args(t))
        origin = getattr(t, "__origin__", None)
        if not origin:
            return self.add_global(name, t)
        if isinstance(t, typing._GenericAlias):
            origin = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}.get(origin, origin)
        text = self.add_global(_type_repr(origin), origin)
        parts = getattr(t, "dims", None) or typing.get_args(t)
        return f"{text}[{','.join(self.type_text(part) for part in parts)}]" if parts else text

    def value(self, x):
        """An argument's code."""
        if isinstance(x, Node):
            return repr(x)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return self.add_global(naming.qualified_name(type(x)), type(x)) + repr(tuple(x))
        if type(x).__name__ == "OpOverload" and naming.is_ours(type(x)):
            return naming.qualified_name(x)
        if isinstance(x, enum.Enum):
            return f"{self.add_global(type(x).__name__, type(x))}.{x.name}"
        if isinstance(x, fasttensor.Tensor):
            return f"torch.Tensor(size={list(x.size())}, dtype={str(x.dtype).rpartition('.')[2]})"
        if isinstance(x, tuple):
            return f"({self.value(x[0])},)" if len(x) == 1 else "(" + ", ".join(map(self.value, x)) + ")"
        if isinstance(x, list):
            return "[" + ", ".join(map(self.value, x)) + "]"
        if isinstance(x, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(y)}" for key, y in x.items()) + "}"
        if isinstance(x, slice):
            return f"slice({self.value(x.start)}, {self.value(x.stop)}, {self.value(x.step)})"
        if isinstance(x, fasttensor.device):
            return self.color("blue", f"device(type={x.type!r}" + (f", index={x.index})" if x.index is not None else ")"))
        return self.color("blue", repr(x))

    def arguments(self, args, kwargs):
        return ", ".join([*map(self.value, args), *(f"{key} = {self.value(x)}" for key, x in kwargs.items())])

    def annotation(self, node):
        """What stands between a node's name and its value."""
        plain = "" if node.type is None else f" : {self.type_text(node.type)}"
        if not self.options["verbose"]:
            return plain
        known = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        if isinstance(known, fasttensor.Tensor):
            def listed(numbers):
                return f"[{', '.join(map(str, numbers))}]"
            text = self.color("red", dtype_abbrs[known.dtype]) + self.color("blue", listed(known.shape))
            text += self.color("dim_blue", listed(known.stride())) if self.options["include_stride"] else ""
            text += self.color("dim_green", str(known.device)) if self.options["include_device"] else ""
            return f': "{text}"' if type(known) is fasttensor.Tensor else f': "{type(known).__name__}({text})"'
        if type(known).__name__ == "TensorMetadata":
            return f': "{dtype_abbrs[known.dtype]}[{", ".join(map(str, known.shape))}]"'
        return plain

    def call(self, node):
        """The code of a call of a function."""
        name = getattr(node.target, "__name__", "")
        if getattr(node.target, "__module__", "") == "_operator":
            if name in magic_methods:
                return f"{node!r}{self.annotation(node)} = " + magic_methods[name].format(*map(self.value, node.args))
            if name in inplace_methods:
                return (inplace_methods[name].format(*map(self.value, node.args))
                        + f";  {node!r}{self.annotation(node)} = {self.value(node.args[0])}")
        text = node._qualified_target()
        if not text.startswith("torch."):
            text = self.add_global(text, node.target)
        if text == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{node!r}{self.annotation(node)} = {_format_target(self.value(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(text)
        return f"{node!r}{self.annotation(node)} = {text}({self.arguments(node.args, node.kwargs)})"

    def write(self, node):
        """Append a node's code, without the end of its line."""
        put, note = self.body.append, ""
        if node.op == "placeholder":
            if self.options["expanded_def"] and node.meta.get("desc") is not None:
                note = f"  # {node.meta['desc']}"
            default = f" = {self.value(node.args[0])}" if node.args else ""
            self.free.append(f"{node.target}{self.annotation(node)}{default}{note}")
            name = node.target.replace("*", "")
            if name != repr(node):
                put(f"{node!r} = {name}\n")
        elif node.op == "call_method":
            put(f"{node!r}{self.annotation(node)} = {_format_target(self.value(node.args[0]), node.target)}"
                f"({self.arguments(node.args[1:], node.kwargs)})")
        elif node.op == "call_function":
            put(self.call(node))
        elif node.op == "call_module":
            put(f"{node!r}{self.annotation(node)} = {_format_target(self.root, node.target)}({self.arguments(node.args, node.kwargs)})")
        elif node.op == "get_attr":
            put(f"{node!r}{self.annotation(node)} = {_format_target(self.root, node.target)}")
        elif node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self.type_text(node.type)}"
            descs = node.meta.get("desc") if self.options["expanded_def"] else None
            put(_call(self.codegen.generate_output, node.args[0], descs=descs, repr_fn=self.value))
        else:
            raise NotImplementedError(f"node: {node.op} {node.target}")

    def where_from(self, node):
        """In verbose code, a comment that says which line of the program the next nodes are."""
        if node.op in ("placeholder", "output"):
            return
        wanted = self.options["additional_meta"] or ()
        told = ", ".join(f"{key}: {node.meta[key]}" for key in wanted if key in node.meta)
        parsed = _parse_stack_trace(node.stack_trace) if node.stack_trace else None
        text = parsed.get_summary_str() if parsed else "No stacktrace found for following nodes"
        custom = node.meta.get("custom", {})
        if custom:
            short = {key: str(x)[:40] + "..." if len(str(x)) > 40 else x for key, x in custom.items()}
            text = f"Annotation: {short} {text}"
        line = "\n" + self.color("dim", (f"# {told} " if told else "") + f"# {text}") + "\n"
        if line != self.summary:
            self.summary = line
            self.body.append(line)


def _last_uses(nodes):
    """{node: the nodes whose values nobody uses after it}."""
    seen, found = set(), {}
    for node in reversed(nodes):
        for used in node._input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


def _call(method, *args, **kwargs):
    """Call a method that a subclass may have written with fewer keywords."""
    known = inspect.signature(method).parameters
    return method(*args, **{key: value for key, value in kwargs.items() if key in known})


class CodeGen:
    """Writes the function of a graph; subclasses write its head or its return otherwise."""
    _sym_repr = repr

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The function's first line; `free_vars` are its parameters."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if not expanded_def:
            return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"
        lines = []
        for text in free_vars:
            text, _, note = text.partition("#")
            lines.append(f"    {text.rstrip() if note else text},{'  # ' + note.lstrip() if note else ''}\n")
        return f"def {self._func_name}(\n{''.join(lines)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None, repr_fn=None):
        """The return statement."""
        return "return " + self._listed(output_args, descs, repr_fn or repr)

    def _listed(self, values, descs, text):
        if descs is None or not isinstance(values, (list, tuple)):
            return text(values)
        left, right = "()" if isinstance(values, tuple) else "[]"
        return left + "\n" + "".join(f"    {text(x)},  # {desc}\n" for x, desc in zip(values, descs)) + right

    def process_inputs(self, *args):
        """The module's arguments as the graph takes them."""
        return args

    def process_outputs(self, outputs):
        """What the graph gives as the module returns it."""
        return outputs

    def additional_globals(self):
        """[(name, object)] of what the code needs beside the graph's own."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False, colored=False,
                         expanded_def=False, record_func=False, additional_meta=None):
        writer = _Writer(self, root_module, namespace, dict(verbose=verbose, include_stride=include_stride, include_device=include_device,
                                                            colored=colored, expanded_def=expanded_def, additional_meta=additional_meta))
        for name, (_, obj) in _custom_builtins.items():
            writer.globals[namespace.create_name(name, obj)] = obj
        body, freed = writer.body, _last_uses(nodes)
        for i, node in enumerate(nodes):
            if verbose:
                writer.where_from(node)
            body.append(f"# COUNTER: {i}\n")
            writer.write(node)
            if node.op == "placeholder":
                continue
            gone = freed.get(node, []) + ([node] if not node.users else [])
            end = f";  {writer.color('dim', ' = '.join([*map(repr, gone), 'None']))}" if gone and node.op != "output" else ""
            body.append(end + "\n")
        if not body:
            body.append("pass\n")
        wrapping = ""
        if writer.wrapped:
            import fasttensor.fx
            wrap = writer.add_global("wrap", fasttensor.fx.wrap)
            wrapping = "\n".join(f'{wrap}("{name}")' for name in writer.wrapped)
        if self._body_transformer:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        head = _call(self.gen_fn_def, writer.free, writer.returned, expanded_def=expanded_def)
        code, numbers = _without_counters(body, head.count("\n") + 1)
        source = f"\n{wrapping}\n\n{head}\n{code}"
        return PythonCode(source, writer.globals, _lineno_map=numbers, _prologue_start=wrapping.count("\n") + 4)


COUNTER = re.compile(r"# COUNTER: (\d+)")


def _without_counters(body, head):
    """The lines below the function's head, indented, and {line: the node's number}."""
    lines, numbers, present = [], {}, None
    for line in "".join(body).split("\n"):
        counter = COUNTER.search(line)
        if counter:
            present = int(counter[1])
        else:
            numbers[len(lines) + head] = present
            lines.append(line)
    text = "\n".join(lines).lstrip("\n")
    return "\n".join("    " + line for line in text.split("\n")), numbers


class _BoxedCodeGen(CodeGen):
    """The function takes one list of arguments, which it empties."""

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The function's first lines."""
        names = [text.split(":")[0].split("=")[0].strip() for text in free_vars if text != "self"]
        lines = [f"def {self._func_name}(self, args_list){maybe_return_annotation}:"]
        if names:
            lines += ["    args_iter = iter(args_list)", *(f"    {name} = next(args_iter)" for name in names), "    args_list.clear()"]
        return "\n".join(lines)


class _PyTreeCodeGen(CodeGen):
    """The function takes nested arguments apart and puts its result together."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        """The leaves of the arguments."""
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        """The leaves, put together."""
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The function's first lines."""
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        names, spec = self.pytree_info.orig_args, self.pytree_info.in_spec
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(names[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        taken = f"[{', '.join(names)}], self._in_spec"
        children = spec.children_specs
        if spec.type is tuple and len(children) == 2 and children[0].type is tuple and children[1].type is dict:
            count = children[0].num_children
            named = ", ".join(f"'{key}':{name}" for key, name in zip(children[1].context, names[count:]))
            taken = f"([{', '.join(names[:count])}], {{{named}}}), self._in_spec"
        typed = [text for text in free_vars if ":" in text]
        if typed:
            head += "\n    " + ("\n    ".join(typed) if expanded_def else "".join(text + "; " for text in typed) + "\n")
        bare = ", ".join(text.split(":")[0].split("#")[0] for text in free_vars)
        return f"{head}\n    {bare}, = fx_pytree.tree_flatten_spec({taken})"

    def generate_output(self, output_args, *, descs=None, repr_fn=None):
        """The return statement."""
        if not (self.pytree_info and self.pytree_info.out_spec):
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({self._listed(output_args, descs, repr_fn or repr)}, self._out_spec)"
