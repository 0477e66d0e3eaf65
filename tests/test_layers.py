"""The order of the layers, file lengths, and that the CPU's and the GPU's kernels have the same names."""
import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "fasttensor"
LAYER = {"_optable": 0, "_core": 1, "cpu": 2, "cuda": 2, "meta": 2, "autograd": 3, "functional": 4}
TOP = 5
LONGEST = 420
CIMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+c?import\s|^\s*c?import\s+([\w.]+)")


def sources():
    """The files of the package that people write."""
    return [p for kind in ("py", "pyx", "pxd", "h", "in", "cu", "cuh")
            for folder in ("fasttensor", "cuda_kernels", "tests", "benches", "examples")
            for p in sorted((ROOT / folder).rglob(f"*.{kind}"))
            if "generated" not in p.parts and not p.name.startswith("generated_")]


def part(path):
    """The first name below the package: the layer's."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else ""


def modules_of(path):
    """Names that a file imports when it is imported itself, and those imported inside functions."""
    package = ["fasttensor", *path.relative_to(PACKAGE).parts[:-1]]
    if path.suffix == ".py":
        return python_imports(ast.parse(path.read_text()), package)
    found, inside = [], []
    for line in path.read_text().splitlines():
        match = CIMPORT.match(line)
        if match:
            name = match[1] or match[2]
            dots = len(name) - len(name.lstrip("."))
            if dots:
                name = ".".join(package[:len(package) - dots + 1] + [name.lstrip(".")])
            (inside if line[0].isspace() else found).append(name)
    return found, inside


def python_imports(tree, package):
    found, inside = [], []

    def walk(node, into):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                into.extend(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[:len(package) - child.level + 1] if child.level else []
                base = base + (child.module.split(".") if child.module else [])
                into.append(".".join(base))
                if len(base) == 1:      # `from fasttensor import nn`
                    into.extend(".".join([*base, alias.name]) for alias in child.names)
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                walk(child, inside)
            else:
                walk(child, into)

    walk(tree, found)
    return found, inside


def layer_of(name):
    parts = name.split(".")
    if parts[0] != "fasttensor":
        return None
    if len(parts) == 1:
        return TOP
    return LAYER.get(parts[1], TOP)


FILES = [p for p in sources() if PACKAGE in p.parents and p.suffix in (".py", ".pyx", ".pxd") and part(p)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    own = LAYER.get(part(path), TOP)
    found, inside = modules_of(path)
    for name in found:
        layer = layer_of(name)
        assert layer is None or layer <= own, f"{path.relative_to(ROOT)} (layer {own}) imports {name} (layer {layer})"
    for name in found + inside:
        second = name.split(".")[1] if name.startswith("fasttensor.") else ""
        assert not (part(path) == "cpu" and second == "cuda"), f"{path.relative_to(ROOT)} imports {name}"
        assert not (part(path) in ("cuda", "meta") and second == "cpu"), f"{path.relative_to(ROOT)} imports {name}"
        assert not (part(path) == "nn" and second == "_core"), f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("path", [p for p in FILES if part(p) == "_optable"], ids=lambda p: p.name)
def test_table_needs_only_the_standard_library(path):
    import sys
    found, inside = modules_of(path)
    for name in found + inside:
        first = name.split(".")[0]
        assert first in sys.stdlib_module_names or first in ("_optable", "Cython") or (
            name.startswith("fasttensor._optable")), name


def test_files_are_short():
    long = {str(p.relative_to(ROOT)): n for p in sources() if (n := len(p.read_text().splitlines())) > LONGEST}
    assert not long, f"split these by algorithm or family (more than {LONGEST} lines): {long}"


def signatures(folder):
    """{(file base name, function): argument names} of the public functions of a backend."""
    found = {}
    for path in sorted(folder.rglob("*.py*")):
        if path.suffix not in (".py", ".pyx") or path.name == "__init__.py":
            continue
        for match in re.finditer(r"^def (\w+)\((.*?)\):", path.read_text(), re.M | re.S):
            if not match[1].startswith("_"):
                names = [re.split(r"[:=]", a)[0].replace(" not None", "").split()[-1].strip("*") for a in match[2].split(",") if a.strip()]
                found[path.stem, match[1]] = names
    return found


def test_gpu_kernels_mirror_the_cpu():
    cuda = PACKAGE / "cuda"
    if not cuda.exists():
        return      # nothing to mirror yet
    cpu, gpu = signatures(PACKAGE / "cpu"), signatures(cuda)
    for key, names in gpu.items():
        if key in cpu:
            assert names == cpu[key], f"{key}: arguments {names} on the GPU, {cpu[key]} on the CPU"


def test_rules_of_shapes_mirror_the_cpu():
    cpu = {name: names for (_, name), names in signatures(PACKAGE / "cpu").items()}
    for (_, name), names in signatures(PACKAGE / "meta").items():
        assert name not in cpu or names == cpu[name], f"{name}: arguments {names} on meta, {cpu[name]} on the CPU"


@pytest.mark.parametrize("backend", ["cpu", "meta"])
def test_kernel_index_names_what_is_there(backend):
    import importlib
    index = importlib.import_module(f"fasttensor.{backend}").KERNELS
    for name, module in index.items():
        assert hasattr(importlib.import_module(f"fasttensor.{backend}.{module}"), name), f"{name} is not in {backend}.{module}"


def test_every_kernel_has_a_rule_of_shapes():
    from fasttensor import cpu, meta
    # what optimizers run over many parameters at once has a form of tensor operations
    assert set(cpu.KERNELS) - set(meta.KERNELS) == {"OptimPlan", "drop_grads", "norm_of", "scale_"}
