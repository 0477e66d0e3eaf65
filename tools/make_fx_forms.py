"""Writes fasttensor/fx/forms.py: how PyTorch's functions that are written in Python appear in traced graphs.

PyTorch records such a function by what it hands to its own ``__torch_function__`` check: under another name at times, and with keywords
and defaults written out. Each is called here with symbols, in a PyTorch that is installed, and what it recorded is kept.

    python tools/make_fx_forms.py
"""
import inspect
import textwrap
import types
import warnings
from pathlib import Path

import torch
from torch import fx

OUT = Path(__file__).resolve().parents[1] / "fasttensor" / "fx" / "forms.py"
SPACES = {"torch": torch, "nn.functional": torch.nn.functional, "nn.init": torch.nn.init}
SKIPPED = {"einsum", "set_default_device", "typename", "scaled_mm", "scaled_grouped_mm", "assert_int_or_pair", "sym_sum"}
HEAD = '''"""How PyTorch's functions that are written in Python appear in graphs; written by tools/make_fx_forms.py.

A line: the function, `>` and its name in the graph where that is another, its positional arguments, `|`, its keywords with defaults.
Indented lines go on.
"""

FORMS = """
'''


def recorded(function):
    """(the node that a call with the required arguments records, the names of all parameters); None where none is."""
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    args, named = [], {}
    parameters = inspect.signature(function).parameters.values()
    for p in parameters:
        if p.kind == p.VAR_KEYWORD or p.default is not p.empty:
            continue
        symbol = fx.Proxy(graph.placeholder("p_" + p.name.lower()), tracer)
        if p.kind == p.KEYWORD_ONLY:
            named[p.name] = symbol
        else:
            args.append(symbol)
    try:
        function(*args, **named)
    except Exception:       # what looks at values cannot be traced
        return None
    nodes = [node for node in graph.nodes if node.op != "placeholder"]
    return (nodes[0], parameters) if len(nodes) == 1 else None


def line(space, name, function):
    found = recorded(function)
    if found is None:
        return None
    node, parameters = found
    target = node.target if node.op == "call_method" else torch.fx.node._get_qualified_name(node.target)
    if node.op == "call_method":
        target = "." + target
    variadic = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    names = {"p_" + p.name.lower(): p.name for p in parameters}
    if any(not isinstance(a, fx.Node) for a in node.args) or variadic and name in ("unique", "unique_consecutive", "lu", "sym_sum"):
        if not variadic:
            return None
    positional = ["*" + names[str(a)] if variadic else names[str(a)] for a in node.args if isinstance(a, fx.Node)]
    keywords = [f"{key}={key if isinstance(value, fx.Node) else repr(value)}" for key, value in node.kwargs.items()]
    key = f"{space}.{name}"
    plain = "torch." + (key.removeprefix("torch."))
    return " ".join([key, *([">", target] if target != plain else []), *positional, "|", *keywords])


def main():
    lines = []
    for space, module in SPACES.items():
        for name in sorted(dir(module)):
            function = getattr(module, name)
            if name.startswith("_") or name in SKIPPED or not isinstance(function, types.FunctionType):
                continue
            pool = getattr(module, "_" + name, None)     # one function for both forms of the result
            made = line(space, name, pool if "_pool" in name and isinstance(pool, types.FunctionType) else function)
            if made:
                lines += textwrap.wrap(made, 150, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    OUT.write_text(HEAD + "\n".join(lines) + '\n"""\n')


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
