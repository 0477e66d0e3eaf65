"""`Op`: one row of the operation table.

A unary operation reads `x`, a binary one `a` and `b`, a ternary one `a`, `b` and `c`; the result is `y`,
the gradient that comes in is `g`, and parameters go by their names. Every string is an expression of
the subset that `expr` parses.

>>> Op("tanh", "tanh(x)", dx="g * (1 - y * y)", doc="Hyperbolic tangent.").saves
(8, 255, 255)
"""

from dataclasses import dataclass, field

from . import expr as _expr
from .dtypes import BY_NAME, FLOAT

PROMOTE = ("same", "float", "bool", "real")
NOT_DIFFERENTIABLE = 255
_BITS = {"x": 1, "a": 1, "b": 2, "c": 4, "y": 8}


@dataclass(frozen=True)
class Op:
    """One elementwise operation.

    name: PyTorch's name; one that starts with `_` gets a loop and a function but no public name.
    expr: the value. int_expr, bool_expr, complex_expr: the value for those dtypes, where it differs.
    dx, da, db, dc: gradients by input; complex_dx ...: the same for complex dtypes, taken as they stand,
        where the rule is not the conjugate of the real one.
    dtypes: the dtypes that it computes in.
    promote: "same" (the promoted dtype), "float" (integers become the default float dtype first),
        "bool" (computes in the promoted dtype, gives bool), "real" (complex gives its real dtype).
    params: names and defaults, in order (None: no default).
    mask: the operands, as "a" or "b", that are bool whatever the computing dtype.
    fast, fast_if: for real floats (and integers among `fast_dtypes`) on the CPU, an expression that vectorises and where it is exact; elements
        outside take `expr`. fast_dx: the same for the gradient of a unary row.
        fast_by_block: `expr` vectorises too, so a block with one such element takes it as a whole.
        fast_dtypes: where `fast` is used.
    half_bits: the value for float16 and bfloat16 on the CPU as C text over the operands' bits (unsigned, 16 of them), where it
        is exact; HALF_ONE and HALF_INF are the bits of these numbers.
    node: the gradient's node, without "Backward0", where it is not named after the row.
    second: the node, without "Backward0", of a recorded gradient that PyTorch computes as one operation: it depends on the operands even
        where it is piecewise constant in them.
    node_of_tensor, node_of_number: the same where the last operand is a tensor, and where the first is a number.
    one_dtype: the tensors are of one dtype; a last operand without dimensions counts as a number.
    wide_number: a number beside half types is taken as it is, not rounded to them first.
    fits: whether a number after the first operand must fit: "dtype" (the computing dtype; half types take infinity), "computing" (float32 for
        half types), "narrow" (the computing dtype where that is an integer or half type); else it is converted as C does it.
        param_fits: the same of parameters, a word for all or one for each.
    refuses: why it does not compute in bool ("bool") or any integer dtype ("int"), with {dtype} for its name.
    reversed: the second operand decides first in which order the result lies in memory.
    no_complex: complex dtypes are refused with a RuntimeError, not as dtypes that are yet to come.
    bools: why bool operands are refused, whatever the other is: two texts, for two tensors of bool and for one, with {a} and {b} for them.
    bool_form: the row that a bool first operand takes with the negation of a bool number (x ** b is x | not b).
    zero_check: the driver refuses a zero second operand of an integer dtype.
    namespace: "torch", "special", "nn.functional", or several of them.
    numbers: the operands that may be Python numbers beside a Tensor: "b" is the default for two operands, "ab" takes
        either, "AB" both at once.
    special: names that it also has in the special namespace.
    real: complex gives its real dtype, whatever `promote` says.
    keyword_params, params_first: whether parameters go by keyword only, or before the operands.
    inplace_flag: the function takes `inplace=False`.
    method, inplace, out: whether Tensor.name, Tensor.name_ and out= exist; out="same" takes outputs of the result's dtype only, as unary
        rows of one dtype do, but for out="cast".
    check: what parameters must satisfy, the type of the error and its text, as Python for the function's body.
    bool_result: the result's dtype for bool operands.
    domain: where tests draw operands from; source: where the gradient's formula comes from.
    """

    name: str
    expr: str
    dx: str | None = None
    da: str | None = None
    db: str | None = None
    dc: str | None = None
    int_expr: str | None = None
    bool_expr: str | None = None
    complex_expr: str | None = None
    complex_dx: str | None = None
    complex_da: str | None = None
    complex_db: str | None = None
    complex_dc: str | None = None
    dtypes: tuple = FLOAT
    promote: str = "same"
    params: dict = field(default_factory=dict)
    doc: str = ""
    domain: tuple = (-3.0, 3.0)
    domain_b: tuple | None = None
    domain_c: tuple | None = None
    aliases: tuple = ()
    namespace: str | tuple = "torch"
    method: bool = True
    inplace: bool = True
    out: bool | str = True
    zero_check: bool = False
    mask: str = ""
    args: tuple | None = None
    keyword_params: bool = False
    params_first: bool = False
    inplace_flag: bool = False
    special: tuple = ()
    numbers: str | None = None
    bool_result: str | None = None
    real: bool = False
    fast: str | None = None
    fast_if: str | None = None
    fast_by_block: bool = False
    fast_dtypes: tuple = FLOAT
    fast_dx: str | None = None
    half_bits: str | None = None
    node: str = ""
    second: str = ""
    node_of_tensor: str = ""
    node_of_number: str = ""
    one_dtype: bool = False
    wide_number: bool = False
    fits: str = ""
    param_fits: str = ""
    refuses: dict = field(default_factory=dict)
    no_complex: bool = False
    reversed: bool = False
    bools: tuple = ()
    bool_form: str = ""
    source: str = "calculus"
    check: tuple = ()
    nin: int = 0

    def __post_init__(self):
        if self.promote not in PROMOTE:
            raise ValueError(f"{self.name}: promote={self.promote!r} is none of {PROMOTE}")
        if not self.nin:
            object.__setattr__(self, "nin", self._count_inputs())
        if self.numbers is None:
            object.__setattr__(self, "numbers", "ABC" if self.private else "b" if self.nin == 2 else "")

    def _count_inputs(self):
        used = _expr.names(self.expr) | (_expr.names(self.int_expr) if self.int_expr else set())
        return 3 if "c" in used else 2 if "b" in used else 1

    @property
    def private(self):
        return self.name.startswith("_")

    @property
    def namespaces(self):
        return (self.namespace,) if isinstance(self.namespace, str) else self.namespace

    @property
    def real_result(self):
        return self.real or self.promote == "real"

    @property
    def inputs(self):
        """The names of the operands inside expressions."""
        return ("x",) if self.nin == 1 else ("a", "b", "c")[: self.nin]

    @property
    def arguments(self):
        """The names of the operands in the public signature."""
        return self.args or ("input", "other", "third")[: self.nin]

    @property
    def gradients(self):
        """The gradient of each input for real dtypes, None where there is none."""
        return (self.dx,) if self.nin == 1 else (self.da, self.db, self.dc)[: self.nin]

    @property
    def complex_gradients(self):
        """The gradient of each input that complex dtypes take as it stands, None for the general rule."""
        return (self.complex_dx,) if self.nin == 1 else (self.complex_da, self.complex_db, self.complex_dc)[: self.nin]

    @property
    def saves(self):
        """Per input the bits of what its gradient reads besides `g`: bits 0 to 2 the inputs, bit 3 the result."""
        out = []
        for real, cplx in zip(self.gradients, self.complex_gradients):
            if real is None and cplx is None:
                out.append(NOT_DIFFERENTIABLE)
                continue
            used = set().union(*(_expr.names(e) for e in (real, cplx) if e))
            out.append(sum(_BITS[n] for n in used if n in _BITS))
        return tuple(out) + (NOT_DIFFERENTIABLE,) * (3 - len(out))

    @property
    def label(self):
        """PyTorch's name of the gradient's node, such as AddBackward0."""
        name = self.node or "".join(part.capitalize() for part in self.name.strip("_").split("_"))
        return name if "Backward" in name else name + "Backward0"

    @property
    def labels(self):
        """The node's name by its operands: with a last one that is a number, a last one that is a tensor, a first one that is a number."""
        tensor = self.node_of_tensor or self.label
        return self.label, tensor, self.node_of_number or tensor

    @property
    def same_out(self):
        """Whether out= is of the result's dtype, without conversion."""
        return self.out == "same" or self.out != "cast" and self.nin == 1 and self.promote == "same"

    @property
    def identity(self):
        """Bits of the inputs whose gradient is the incoming one itself."""
        pairs = zip(self.gradients, self.complex_gradients)
        return sum(1 << i for i, (real, cplx) in enumerate(pairs) if real == "g" and cplx in (None, "g"))

    def value(self, kind):
        """The value's expression for a kind of dtype."""
        return {"int": self.int_expr, "bool": self.bool_expr, "complex": self.complex_expr}.get(kind) or self.expr

    def result(self, dtype):
        """The name of the result's dtype by the name of the computing dtype."""
        if self.promote == "bool":
            return "bool"
        if dtype == "bool" and self.bool_result:
            return self.bool_result
        if self.real_result and BY_NAME[dtype].kind == "complex":
            return next(n for n, d in BY_NAME.items() if d.suffix == BY_NAME[dtype].real)
        return dtype
