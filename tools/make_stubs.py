#!/usr/bin/env python3
"""Writes fasttensor/__init__.pyi, so that editors complete functions and Tensor methods, after the index of names
(make_names.py) that it is read through.

    python tools/make_stubs.py            # writes the file
    python tools/make_stubs.py --check    # exit status 1 where it is out of date

Signatures come from the built package, types from the names of the parameters.
"""

import argparse
import inspect
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "fasttensor" / "__init__.pyi"

HEAD = '''"""Types of fasttensor's public names. Written by tools/make_stubs.py: change that, not this file."""
from collections.abc import Sequence
from typing import Any

from fasttensor import (
    autograd as autograd,
    backends as backends,
    cuda as cuda,
    fft as fft,
    linalg as linalg,
    masked as masked,
    nn as nn,
    optim as optim,
    random as random,
    signal as signal,
    special as special,
    utils as utils,
)

Number = bool | int | float | complex
'''
# Types of parameters by name; anything else is Any.
PARAMETERS = {
    **dict.fromkeys(
        (
            "input",
            "mat1",
            "mat2",
            "vec",
            "vec1",
            "vec2",
            "batch1",
            "batch2",
            "tensor",
            "condition",
            "mask",
            "index",
            "src",
            "weight",
            "target",
            "indices",
            "sorted_sequence",
            "source",
            "condition",
        ),
        "Tensor",
    ),
    **dict.fromkeys(("other", "exponent", "value", "min", "max", "end", "fill_value"), "Tensor | Number"),
    **dict.fromkeys(("alpha", "beta", "eps", "p", "lambd", "negative_slope", "threshold", "start"), "Number"),
    **dict.fromkeys(
        (
            "keepdim",
            "largest",
            "sorted",
            "descending",
            "stable",
            "inplace",
            "requires_grad",
            "training",
            "non_blocking",
            "copy",
            "unbiased",
            "retain_graph",
            "create_graph",
        ),
        "bool | None",
    ),
    **dict.fromkeys(
        (
            "dim0",
            "dim1",
            "dim2",
            "offset",
            "diagonal",
            "k",
            "chunks",
            "steps",
            "n",
            "groups",
            "start_dim",
            "end_dim",
            "length",
        ),
        "int",
    ),
    **dict.fromkeys(
        ("dim", "dims", "size", "shape", "stride", "padding", "dilation", "kernel_size", "repeats", "shifts"),
        "int | Sequence[int] | None",
    ),
    "dtype": "dtype | None",
    "device": "device | str | int | None",
    "out": "Tensor | None",
    "generator": "Any | None",
    "tensors": "Sequence[Tensor]",
    "bias": "Tensor | None",
}
RETURNS = {
    **dict.fromkeys(
        (
            "chunk",
            "split",
            "split_with_sizes",
            "unbind",
            "tensor_split",
            "hsplit",
            "vsplit",
            "dsplit",
            "meshgrid",
            "broadcast_tensors",
        ),
        "tuple[Tensor, ...]",
    ),
    **dict.fromkeys(
        (
            "sort",
            "topk",
            "kthvalue",
            "mode",
            "cummax",
            "cummin",
            "aminmax",
            "max",
            "min",
            "median",
            "unique",
            "var_mean",
            "std_mean",
            "histogram",
            "frexp",
            "tolist",
            "numpy",
            "storage",
            "untyped_storage",
            "where",
            "load",
        ),
        "Any",
    ),
    **dict.fromkeys(
        (
            "is_tensor",
            "is_floating_point",
            "is_complex",
            "is_nonzero",
            "is_contiguous",
            "is_signed",
            "allclose",
            "equal",
            "is_grad_enabled",
            "is_storage",
            "can_cast",
            "is_inference",
            "is_pinned",
            "is_same_size",
        ),
        "bool",
    ),
    **dict.fromkeys(
        (
            "numel",
            "nelement",
            "dim",
            "ndimension",
            "data_ptr",
            "storage_offset",
            "element_size",
            "get_num_threads",
            "get_device",
            "initial_seed",
            "seed",
        ),
        "int",
    ),
    **dict.fromkeys(
        (
            "backward",
            "set_num_threads",
            "set_default_dtype",
            "set_default_device",
            "save",
            "set_printoptions",
            "set_rng_state",
            "empty_cache",
            "reset_peak_memory_stats",
        ),
        "None",
    ),
    "item": "Number",
    "size": "Size | int",
    "result_type": "dtype",
    "promote_types": "dtype",
    "get_default_dtype": "dtype",
    "memory_stats": "dict[str, int]",
}
PROPERTIES = {
    "shape": "Size",
    "dtype": "dtype",
    "device": "device",
    "ndim": "int",
    "requires_grad": "bool",
    "grad": "Tensor | None",
    "is_leaf": "bool",
    "itemsize": "int",
    "nbytes": "int",
    "is_cuda": "bool",
    "is_cpu": "bool",
    "grad_fn": "Any",
    "layout": "layout",
}
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")


def parameters(function, method):
    """The text of a signature with types."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ("self, " if method else "") + "*args: Any, **kwargs: Any"
    parts, star = [], False
    for i, p in enumerate(signature.parameters.values()):
        if method and i == 0:
            parts.append("self")
            continue
        kind = PARAMETERS.get(p.name, "Any")
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: Any")
            star = True
            continue
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: Any")
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(f"{p.name}: {kind}" + ("" if p.default is p.empty else " = ..."))
    return ", ".join(parts)


def function_line(name, function, method=False):
    """One def."""
    return f"def {name}({parameters(function, method)}) -> {RETURNS.get(name, 'Tensor')}: ..."


def tensor_class(Tensor):
    """The class body of Tensor."""
    lines = ["class Tensor:", "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
    for name in sorted(vars(Tensor)):
        getattr(Tensor, name)           # puts the real one in place of what loads it
        member = vars(Tensor)[name]
        if name.startswith("_"):
            continue
        if callable(member):
            lines.append("    " + function_line(name, member, method=True))
        elif isinstance(member, property) or type(member).__name__ in ("getset_descriptor", "member_descriptor"):
            lines += ["    @property", f"    def {name}(self) -> {PROPERTIES.get(name, 'Tensor')}: ..."]
            if name in ("requires_grad", "grad", "data"):
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
    for name in OPERATORS:
        lines += [
            f"    def __{name}__(self, other: Any) -> Tensor: ...",
            f"    def __r{name}__(self, other: Any) -> Tensor: ...",
            f"    def __i{name}__(self, other: Any) -> Tensor: ...",
        ]
    lines += [
        f"    def __{name}__(self, other: Any) -> Tensor: ...{'  # type: ignore[override]' if name in ('eq', 'ne') else ''}"
        for name in COMPARISONS
    ]
    lines += [f"    def __{name}__(self) -> Tensor: ..." for name in ("neg", "pos", "abs", "invert")]
    lines += [
        "    def __getitem__(self, index: Any) -> Tensor: ...",
        "    def __setitem__(self, index: Any, value: Any) -> None: ...",
        "    def __len__(self) -> int: ...",
        "    def __bool__(self) -> bool: ...",
        "    def __int__(self) -> int: ...",
        "    def __float__(self) -> float: ...",
    ]
    return lines


def text():
    """The whole stub."""
    import fasttensor

    lines = [HEAD]
    names = sorted(
        n
        for n in {*fasttensor.__all__, "save", "load", "manual_seed", "Generator", "seed", "initial_seed"}
        if not n.startswith("_")
    )
    lines += tensor_class(fasttensor.Tensor) + [""]
    for name in names:
        value = getattr(fasttensor, name)
        if name == "Tensor" or inspect.ismodule(value):
            continue
        if isinstance(value, fasttensor.dtype):
            lines.append(f"{name}: dtype")
        elif inspect.isclass(value):
            base = "(tuple[int, ...])" if name == "Size" else ""
            lines += [
                f"class {name}{base}:",
                "    def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
                "    def __getattr__(self, name: str) -> Any: ...",
            ]
        elif callable(value):
            lines.append(function_line(name, value))
        else:
            lines.append(f"{name}: Any")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Write the type stubs of the public names.")
    parser.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    options = parser.parse_args()
    done = subprocess.run([sys.executable, str(Path(__file__).with_name("make_names.py")), *["--check"] * options.check])
    if done.returncode:
        sys.exit(done.returncode)
    made = text()
    if options.check:
        sys.exit(
            0 if TARGET.exists() and TARGET.read_text() == made else f"{TARGET} is out of date: run tools/make_stubs.py"
        )
    TARGET.write_text(made)


if __name__ == "__main__":
    main()
