"""The example in each row's docstring: a call with operands from the row's domain, and what it prints.

What the calls print is kept in `example_results.py`, which tools/make_examples.py writes with the built library, since the build
cannot run what it is building. A row that is not there yet shows the shape of its result, so that a new row needs nothing but itself.
"""

from .example_results import RESULTS

ANY = '[0.0, -1.5, float("inf"), -float("inf"), float("nan")]'
INTEGERS = ("[6, 3]", "[2, 3]", "[1, 2]")
# Where in its domain an operand is, from 0 to 1: below and above the middle, and the second meets the first once.
PLACES = ((0.25, 0.75), (0.5, 0.75), (0.75, 0.25))


def operands(op):
    """The operands as Python text."""
    if op.nin == 1 and op.promote == "bool":
        return [f"torch.tensor({ANY})"]
    floats = any(name.startswith("float") for name in op.dtypes)
    texts = []
    for k, (letter, name) in enumerate(zip(op.inputs, op.arguments)):
        if letter in op.mask:
            texts.append("torch.tensor([True, False])")
            continue
        low, high = (op.domain, op.domain_b or op.domain, op.domain_c or op.domain)[k]
        values = [round(low + place * (high - low), 3) for place in PLACES[k]]
        if name == "n":         # the degree of a polynomial
            values = [float(round(v)) for v in values]
        texts.append(f"torch.tensor({values if floats else INTEGERS[k]})")
    return texts


def _parameters(op):
    """The parameters that have no default."""
    return [f"{name}=1.0" if op.keyword_params else "1" if op.params_first else "1.0" for name, default in op.params.items() if default is None]


def calls(op, inplace=False):
    """Ways to write the example, the best first, as lists of lines; not every one exists for every row."""
    first, *rest = operands(op)
    space = "" if op.namespaces[0] == "torch" else op.namespaces[0] + "."
    if not inplace:
        params = _parameters(op)
        return [[f"torch.{space}{op.name}({', '.join([*params, first, *rest] if op.params_first else [first, *rest, *params])})"]]
    arguments = [*rest, *_parameters(op)]
    ways = [f"x.{op.name}_({', '.join(arguments)})"] if op.method and "nn.functional" not in op.namespaces else []
    if "nn.functional" in op.namespaces:
        ways = [f"torch.{op.name}_({', '.join(['x', *arguments])})"] if "torch" in op.namespaces else []
        ways += [f"torch.nn.functional.{op.name}_({', '.join(['x', *arguments])})",
                 f"torch.nn.functional.{op.name}({', '.join(['x', *arguments])}, inplace=True)"]
    return [[f"x = {first}", way] for way in ways]


def example(op, inplace=False):
    """The lines of the example; none where the row has no such public form."""
    ways = calls(op, inplace)
    for lines in ways:
        key = "; ".join(lines)
        if key in RESULTS:
            return [*(f">>> {line}" for line in lines), *RESULTS[key].splitlines()]
    if not ways:
        return []
    *before, call = ways[-1]
    return [*(f">>> {line}" for line in before), *((f">>> {call} is x", "True") if inplace else (f">>> {call}.shape", _shape(op)))]


def _shape(op):
    return f"torch.Size([{len(eval(operands(op)[0].removeprefix('torch.tensor')))}])"
