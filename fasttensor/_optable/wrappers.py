"""What the template of the Python functions needs of each row: signatures, docstrings, where they live."""

from dataclasses import dataclass

from .dtypes import DTYPES
from .examples import example
from .loops import code_name
from .table import OPS


@dataclass(frozen=True)
class Wrapper:
    """The functions of one row."""

    op: object
    name: str
    signature: str  # of the free function, without out=
    method_signature: str
    call: str
    inplace: str
    doc: str
    inplace_doc: str

    @property
    def out_signature(self):
        star = "" if "*" in self.signature else "*, "
        return f"{self.signature}, {star}out=None" if self.op.out else self.signature


OLD = "_old=None"         # one argument more: PyTorch's old order, add(input, alpha, other)


def _params(op, defaults=True):
    parts = [f"{n}" if v is None else f"{n}={v!r}" for n, v in op.params.items()]
    return ([*([OLD] if _has_old_order(op) else []), "*"] if op.keyword_params and parts else []) + parts


def _has_old_order(op):
    return op.keyword_params and op.nin > 1 and list(op.params) in (["alpha"], ["value"])


def _wrapper(op):
    arguments = op.arguments
    par = "par" if op.params else "NULL"
    params = _params(op)
    code = code_name(op)
    rest = ["None"] * (3 - op.nin)
    call = f"call{op.nin}({code}, {', '.join(arguments)}, {par}, {'out' if op.out else 'None'})"
    flagged = f"run_inplace({code}, {', '.join([*arguments, *rest])}, {par}) if inplace else {call}"
    free = [*params, *arguments] if op.params_first else [*arguments, *params, *(["inplace=False"] if op.inplace_flag else [])]
    return Wrapper(
        op, op.name, ", ".join(free), ", ".join(["self", *arguments[1:], *params]),
        _body(op, flagged if op.inplace_flag else call),
        _body(op, f"run_inplace({code}, {', '.join(['self', *arguments[1:], *rest])}, {par})"),
        _doc(op, arguments), _inplace_doc(op))


def _has_factor(op):
    """Whether the parameter is a factor of one operand: PyTorch checks it against the result's dtype."""
    return _has_old_order(op) or op.name == "rsub"


def _body(op, call):
    lines = [f"cdef double[{len(op.params)}] par"] if op.params else []
    if _has_old_order(op):
        number, rest = next(iter(op.params)), op.arguments[1:]
        lines += ["if _old is not None:"]
        if len(rest) == 1:      # two numbers are in today's order
            lines += [f"    if not isinstance({rest[0]}, Tensor) and not isinstance(_old, Tensor):", f"        {rest[0]}, _old = _old, {rest[0]}",
                      "    else:", f"        warn_of_old_order(\"{op.name}\", \"{number}\", _old)"]
        else:
            lines += [f"    warn_of_old_order(\"{op.name}\", \"{number}\", _old)"]
        lines += [f"    {', '.join([number, *rest])} = {', '.join([*rest, '_old'])}"]
    if op.check:
        condition, error, text = op.check
        lines += [f"if not ({condition}):", f"    raise {error}(f\"{op.name}: {text}\")"]
    if _has_factor(op):
        key, factored = next(iter(op.params)), op.arguments[0 if op.name == "rsub" else 1]
        first = "self" if f"({code_name(op)}, self" in call else op.arguments[0]
        operands = ", ".join([first, *op.arguments[1:], *["None"] * (3 - op.nin)])
        lines += ["par[0] = 1", f"if {key} is not ONE:",
                  f"    {factored} = factored({code_name(op)}, \"{key}\", {key}, {factored}, {operands}, {int('- ' + key in op.expr)}, par)"]
    else:
        for i, name in enumerate(op.params):
            value = f"number({name}, \"{op.name.strip('_')}\", \"{name}\")"
            if op.param_fits:
                first = "self" if f"({code_name(op)}, self" in call else op.arguments[0]
                fits = op.param_fits.split()
                value = f"fitting({code_name(op)}, {value}, {name}, {first}, FT_FITS_{fits[min(i, len(fits) - 1)].upper()})"
            lines += [f"par[{i}] = {value}"]
    lines += _number_checks(op, call)
    return "\n    ".join([*lines, "return " + call])


def _number_checks(op, call):
    """Lines that refuse Python numbers where PyTorch takes a Tensor only; the driver refuses what is neither."""
    first = "self" if f"({code_name(op)}, self" in call else op.arguments[0]
    names = (first, *op.arguments[1:])
    code = code_name(op)
    if op.nin == 1 or op.numbers.isupper():
        return []
    if op.numbers == "ab":
        return [f"if not isinstance({names[0]}, Tensor) and not isinstance({names[1]}, Tensor):", f"    refuse_number({code}, {names[0]}, 1)"]
    lines = []
    for position, (letter, name) in enumerate(zip("abc", names), 1):
        if letter not in op.numbers:
            lines += [f"if not isinstance({name}, Tensor):", f"    refuse_number({code}, {name}, {position})"]
    return lines


def _dtype_words(op):
    names = [d.name for d in DTYPES if d.name in op.dtypes]
    words = ", ".join(names) if len(names) < len(DTYPES) else "every dtype"
    if op.promote == "float":
        words += "; bool and integers become the default float dtype"
    if op.promote == "bool":
        words += "; the result is bool"
    if op.promote == "real":
        words += "; complex gives its real dtype"
    return words


def _doc(op, arguments):
    lines = [op.doc, ""]
    lines.append(f"Computes ``{op.expr}`` for each element, with {_letters(op, arguments)}.")
    shape = "that of `input`" if op.nin == 1 else "that of the operands broadcast together"
    lines.append(f"Shape: {shape}. dtypes: {_dtype_words(op)}.")
    gradients = [f"``{g}`` by `{n}`" for g, n in zip(op.gradients, arguments) if g]
    if gradients:
        lines.append(f"Gradient, for ``g`` coming in: {', '.join(gradients)} (source: {op.source}).")
    lines.append("Raises RuntimeError for any other dtype, and for shapes that do not broadcast.")
    if not op.private:
        lines += ["", *example(op)]
    return "\n    ".join(lines)


def _inplace_doc(op):
    lines = [f"In-place form of :func:`{op.name}`: the result is written into the tensor, which is returned.", ""]
    if op.promote == "bool":
        lines.append("True becomes 1 and False 0 in the tensor's own dtype.")
    lines.append("Shape and dtype stay the tensor's own. Raises RuntimeError where the operands broadcast to another shape, where the result's")
    lines.append("dtype cannot be cast to the tensor's, and for a leaf that requires grad.")
    if not op.private:
        shown = example(op, True)
        lines += ["", *shown] if shown else []
    return "\n    ".join(lines)


def _letters(op, arguments):
    return ", ".join(f"{letter} = `{name}`" for letter, name in zip(op.inputs, arguments))


def values():
    """The values of the template functions.pyx.in."""
    wrappers = [_wrapper(op) for op in OPS]
    spaces = {}
    for op in OPS:
        for space in op.namespaces:
            spaces.setdefault(space, []).extend((name, op) for name in (op.name, *op.aliases))
        spaces.setdefault("special", []).extend((name, op) for name in op.special)
    return {"wrappers": wrappers, "spaces": spaces}


def stub_text():
    """The lines of the .pyi stub: functions of the torch namespace, then a class body of methods."""
    lines = []
    methods = ["class _ElementwiseMethods:"]
    for w in (_wrapper(op) for op in OPS):
        if w.op.private:
            continue
        for name in (w.name, *w.op.aliases):
            if "torch" in w.op.namespaces:
                lines.append(f"def {name}({_typed(w, w.out_signature)}) -> Tensor: ...")
            if w.op.method:
                methods.append(f"    def {name}({_typed(w, w.method_signature)}) -> Tensor: ...")
            if w.op.method and w.op.inplace:
                methods.append(f"    def {name}_({_typed(w, w.method_signature)}) -> Tensor: ...")
    return lines + methods


def _typed(w, signature):
    out = []
    for part in signature.replace(OLD + ", ", "").split(", "):
        name, eq, default = part.partition("=")
        if name == "input":
            out.append("input: Tensor")
        elif name == "out":
            out.append("out: Tensor | None = None")
        elif name in w.op.params:
            out.append(f"{name}: float" + (f" = {default}" if eq else ""))
        elif name == "inplace":
            out.append("inplace: bool = False")
        elif name in ("self", "*"):
            out.append(name)
        else:
            out.append(f"{name}: Tensor | Number")
    return ", ".join(out)
