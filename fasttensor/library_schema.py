"""The signatures of operators in PyTorch's notation: ``foo(Tensor x, Tensor(a!) y, int n=3, *, float[]? z=None) -> Tensor``."""
import ast
import inspect
import re
import types
import typing
from collections.abc import Sequence

import fasttensor as torch

__all__ = ["Argument", "FunctionSchema", "infer_schema", "parse"]


class AliasInfo:
    """Which memory an argument shares, and whether it is written to."""

    def __init__(self, text):
        self.is_write = text.endswith("!")
        self.before_set = self.after_set = {text.rstrip("!")}


class Argument:
    """One argument or result of an operator."""

    def __init__(self, name, type, default_value=inspect.Parameter.empty, kwarg_only=False, alias_info=None):
        self.name, self.type, self.kwarg_only, self.alias_info = name, type, kwarg_only, alias_info
        self._default = default_value
        self.real_type, self.is_out = type, False
        self.N = None

    @property
    def default_value(self):
        return None if self._default is inspect.Parameter.empty else self._default

    def has_default_value(self):
        """Whether it can be left out."""
        return self._default is not inspect.Parameter.empty

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    def __repr__(self):
        kind = str(self.type)
        if self.alias_info is not None:
            mark = f"({next(iter(self.alias_info.before_set))}{'!' * self.alias_info.is_write})"
            kind = kind.replace("Tensor", "Tensor" + mark, 1)
        value = "" if self._default is inspect.Parameter.empty else f"={_shown(self._default)}"
        return f"{kind} {self.name}".rstrip() + value


def _shown(value):
    return f'"{value}"' if isinstance(value, str) else str(value).replace(" ", "") if isinstance(value, (list, tuple)) else str(value)


class FunctionSchema:
    """An operator's signature: `name`, `overload_name`, `arguments`, `returns`."""

    def __init__(self, name, overload_name, arguments, returns):
        self.name, self.overload_name, self.arguments, self.returns = name, overload_name, arguments, returns

    @property
    def is_mutable(self):
        return any(a.is_write for a in self.arguments)

    def signature(self):
        """The same for Python."""
        P = inspect.Parameter
        return inspect.Signature([P(a.name, P.KEYWORD_ONLY if a.kwarg_only else P.POSITIONAL_OR_KEYWORD, default=a._default)
                                  for a in self.arguments])

    def __repr__(self):
        parts = [repr(a) for a in self.arguments]
        named = [i for i, a in enumerate(self.arguments) if a.kwarg_only]
        if named:
            parts.insert(named[0], "*")
        out = ", ".join(map(repr, self.returns))
        full = self.name + (f".{self.overload_name}" if self.overload_name else "")
        return f"{full}({', '.join(parts)}) -> {out if len(self.returns) == 1 else f'({out})'}"

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))


def _pieces(text):
    """Text cut at commas outside of brackets and strings."""
    found, depth, quote, start = [], 0, None, 0
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and not depth:
            found.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*found, last] if last else found


ARGUMENT = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*(?:\((?P<alias>[^)]*)\))?(?:\[\d*\])*\??(?:\[\d*\]\??)*)(?:\s+(?P<name>\w+))?\s*(?:=(?P<default>.*))?$")


def _argument(text, kwarg_only, whole):
    match = ARGUMENT.match(text)
    if match is None:
        raise RuntimeError(f"the operator's schema {whole!r} cannot be read at {text!r}: expected 'TYPE name' or 'TYPE name=default'")
    kind, default = match["kind"], inspect.Parameter.empty
    if match["alias"] is not None:
        kind = kind.replace(f"({match['alias']})", "")
    if match["default"] is not None:
        try:
            default = ast.literal_eval(match["default"].strip())
        except (ValueError, SyntaxError):
            default = match["default"].strip()
    return Argument(match["name"] or "", kind, default, kwarg_only, AliasInfo(match["alias"].split("->")[0].strip()) if match["alias"] else None)


def parse(text, namespace=None):
    """A schema from its text. Raises RuntimeError where it cannot be read."""
    head, arrow, tail = text.rpartition("->")
    name, bracket, rest = head.strip().partition("(")
    if not arrow or not bracket or not rest.endswith(")"):
        raise RuntimeError(f"the operator's schema {text!r} cannot be read: expected 'name(TYPE argument, ...) -> TYPE'")
    name, _, overload = name.strip().partition(".")
    if namespace and "::" not in name:
        name = f"{namespace}::{name}"
    arguments, kwarg_only = [], False
    for piece in _pieces(rest[:-1]):
        if piece == "*":
            kwarg_only = True
        else:
            arguments.append(_argument(piece, kwarg_only, text))
    tail = tail.strip()
    returns = [_argument(p, False, text) for p in (_pieces(tail[1:-1]) if tail.startswith("(") else [tail])]
    return FunctionSchema(name, overload, arguments, returns)


def of_function(name, overload, function, writes):
    """The schema of one of this library's own operators, from the function's signature; `writes` says that its first argument is written to."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    arguments = [Argument(p.name, "Tensor" if p.default is p.empty else KINDS.get(type(p.default), "Any?"), p.default, p.kind is p.KEYWORD_ONLY,
                          AliasInfo("a!") if writes and i == 0 else None)
                 for i, p in enumerate(parameters) if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name[0] != "_"]
    return FunctionSchema(name, "" if overload == "default" else overload, arguments, [Argument("", "Tensor")])


KINDS = {int: "int", float: "float", bool: "bool", str: "str", complex: "complex"}


def _kinds():
    return {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", complex: "complex", torch.dtype: "ScalarType",
            torch.device: "Device", torch.types.Number: "Scalar"}


def _kind(annotation, problem):
    known = _kinds()
    if isinstance(annotation, typing.Hashable) and annotation in known:
        return known[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, Sequence) and parts:
        return _kind(parts[0], problem) + "[]"
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in parts if a is not type(None)]
        if set(rest) == {int, float, bool}:
            return "Scalar" + "?" * (len(rest) != len(parts))
        if len(rest) == 1 and len(parts) == 2:
            return _kind(rest[0], problem) + "?"
    raise ValueError(problem)


def _result(annotation, problem):
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        return "(" + ", ".join(_kind(a, problem) for a in typing.get_args(annotation)) + ")"
    return _kind(annotation, problem)


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The text of an operator's signature, from a function with annotations.

    >>> def f(x: torch.Tensor, n: int = 2) -> torch.Tensor: ...
    >>> infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=2) -> Tensor'
    """
    try:
        signature = inspect.signature(prototype_function, eval_str=True)
    except NameError:
        signature = inspect.signature(prototype_function)
    unknown = set(() if isinstance(mutates_args, str) else mutates_args) - set(signature.parameters)
    if unknown:
        raise ValueError(f"infer_schema(func): {sorted(unknown)} in mutates_args were not found in the function's parameters {list(signature.parameters)}")
    parts, star = [], False
    for i, p in enumerate(signature.parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise ValueError(f"infer_schema(func): We do not support positional-only args, varargs, or varkwargs. Got func with signature {signature}")
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if p.annotation is p.empty:
            raise ValueError(f"infer_schema(func): Parameter {p.name} must have a type annotation. Got func with signature {signature})")
        text = _kind(p.annotation, f"infer_schema(func): Parameter {p.name} has unsupported type {p.annotation}: use Tensor, int, float, bool, str, "
                     f"complex, dtype, device, lists of them, or | None. Got func with signature {signature})")
        if p.name in mutates_args if not isinstance(mutates_args, str) else text.startswith("Tensor"):
            if not text.startswith("Tensor"):
                raise ValueError(f"infer_schema(func): Parameter {p.name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            text = text.replace("Tensor", f"Tensor(a{i}!)", 1)
        parts.append(f"{text} {p.name}" + ("" if p.default is p.empty else f"={_shown(p.default)}"))
    problem = f"infer_schema(func): Return has unsupported type {signature.return_annotation}. Got func with signature {signature})"
    if signature.return_annotation is signature.empty:
        raise ValueError(problem)
    return f"{op_name or ''}({', '.join(parts)}) -> {_result(signature.return_annotation, problem)}"
