"""Expressions of the operation table: one string, three readers.

The subset is arithmetic, comparison, `and`, `or`, `not`, bit operators, literals and calls by name;
`where(condition, p, q)` evaluates both of its branches. `to_c` gives C text of a dtype, `to_python` a
callable over Tensors, `names` what an expression reads.

>>> to_c("g * (1 - y * y)", "f32")
'(g * (1.0f - (y * y)))'
>>> sorted(names("g * exp(x)"))
['g', 'x']
"""

import ast
import functools

_ARITH = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_INTS = {"bool": "u8", "u8": "u8", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64"}
_UNSIGNED = {"i32": "u32", "i64": "u64"}
_REAL = {"c64": "f32", "c128": "f64"}


class ExpressionError(ValueError):
    """An expression of the table is outside the subset."""


@functools.lru_cache(maxsize=None)
def parse(text):
    """The syntax tree of an expression; ExpressionError names what is outside the subset."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"expression {text!r}: {error.msg}") from None
    allowed = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.operator,
               ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
    for node in ast.walk(tree):
        if not isinstance(node, allowed) or (isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)):
            raise ExpressionError(f"expression {text!r}: {type(node).__name__} is not in the subset")
    return tree


def calls(text):
    """The names of the functions that an expression calls."""
    return {node.func.id for node in ast.walk(parse(text)) if isinstance(node, ast.Call)}


def names(text):
    """The names that an expression reads, without those of the functions."""
    tree = parse(text)
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions}


def to_c(text, suffix):
    """The C text of an expression computed in the dtype of that suffix (never a half type: they compute in f32)."""
    return _C(text, suffix).emit(parse(text))


class _C:
    def __init__(self, text, suffix):
        self.text = text
        self.suffix = suffix

    def fail(self, why):
        raise ExpressionError(f"expression {self.text!r} for {self.suffix}: {why}")

    def emit(self, node):
        return getattr(self, "emit_" + type(node).__name__.lower())(node)

    def emit_name(self, node):
        return node.id

    def emit_constant(self, node):
        value = node.value
        if isinstance(value, complex) and self.suffix in _REAL:
            return f"FT_{self.suffix.upper()}({value.real}, {value.imag})"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(f"literal {value!r}")
        if self.suffix in _INTS:
            if not isinstance(value, int):
                self.fail("a float literal in an integer expression")
            return f"(ft_{self.suffix}){value}"
        # Real literals stay real beside complex numbers: 2 * (inf + 0i) must not make a NaN.
        return repr(float(value)) + ("f" if _REAL.get(self.suffix, self.suffix) == "f32" else "")

    def emit_binop(self, node):
        left, right = self.emit(node.left), self.emit(node.right)
        if type(node.op) in _BITS:
            return f"({left} {_BITS[type(node.op)]} {right})"
        if type(node.op) not in _ARITH:
            self.fail(f"operator {type(node.op).__name__}")
        op = _ARITH[type(node.op)]
        if self.suffix not in _INTS:
            return f"({left} {op} {right})"
        if op == "/":
            self.fail("/ on integers: call floor_divide or fmod")
        # Integers wrap: unsigned arithmetic, because signed overflow is undefined in C.
        if self.suffix in _UNSIGNED:
            u = _UNSIGNED[self.suffix]
            return f"(ft_{self.suffix})((ft_{u}){left} {op} (ft_{u}){right})"
        return f"(ft_{self.suffix})({left} {op} {right})"

    def emit_unaryop(self, node):
        inner = self.emit(node.operand)
        if isinstance(node.op, ast.Not):
            return f"(!{inner})"
        if isinstance(node.op, ast.Invert):
            return f"(~{inner})"
        if isinstance(node.op, ast.USub):
            if self.suffix in _UNSIGNED:
                return f"(ft_{self.suffix})(0 - (ft_{_UNSIGNED[self.suffix]}){inner})"
            return f"(ft_{self.suffix})(-{inner})" if self.suffix in _INTS else f"(-{inner})"
        self.fail(f"operator {type(node.op).__name__}")

    def emit_boolop(self, node):
        # & and | on comparisons, not && and ||: a branch would keep the loop from vectorising.
        op = " & " if isinstance(node.op, ast.And) else " | "
        return "(" + op.join(self.emit(value) for value in node.values) + ")"

    def emit_compare(self, node):
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
            self.fail("one comparison at a time")
        return f"({self.emit(node.left)} {_COMPARE[type(node.ops[0])]} {self.emit(node.comparators[0])})"

    def emit_call(self, node):
        args = ", ".join(self.emit(a) for a in node.args)
        return f"{node.func.id}_{self.suffix}({args})"


class _Python(ast.NodeTransformer):
    """`and`, `or` and `not` as functions of Tensors, calls as look-ups in the namespace."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        out = node.values[0]
        for value in node.values[1:]:
            out = _lookup(name, [out, value])
        return out

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _lookup("logical_not", [node.operand]) if isinstance(node.op, ast.Not) else node

    def visit_Call(self, node):
        self.generic_visit(node)
        return _lookup(node.func.id, node.args)


def _lookup(name, args):
    ns = ast.Name("ns", ast.Load())
    function = ast.Subscript(ns, ast.Constant(name), ast.Load())
    return ast.Call(function, args, [])


@functools.lru_cache(maxsize=None)
def to_python(text):
    """A callable `f(ns, values)`: `ns` maps function names to functions over Tensors, `values` names to values.

    >>> import math
    >>> to_python("g * exp(x)")({"exp": math.exp}, {"g": 2.0, "x": 0.0})
    2.0
    """
    tree = ast.parse(text, mode="eval").body
    args = sorted(names(text))
    body = _Python().visit(tree)
    function = ast.Lambda(
        ast.arguments([], [ast.arg("ns")] + [ast.arg(a) for a in args], None, [], [], None, []), body)
    compiled = eval(compile(ast.fix_missing_locations(ast.Expression(function)), f"<{text}>", "eval"), {})
    return lambda ns, values: compiled(ns, *[values[a] for a in args])
