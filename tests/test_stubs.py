"""The type stubs name every public function and Tensor method, and are up to date."""
import ast
import subprocess
import sys
from pathlib import Path

import fasttensor

ROOT = Path(__file__).resolve().parents[1]


def test_stub_is_what_the_tool_writes():
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "make_stubs.py"), "--check"], capture_output=True, text=True,
                          cwd=Path(fasttensor.__file__).parents[1])
    assert done.returncode == 0, done.stdout + done.stderr


def test_stub_names_the_public_api():
    body = ast.parse((ROOT / "fasttensor" / "__init__.pyi").read_text()).body
    names = {n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {n.target.id for n in body if isinstance(n, ast.AnnAssign)}
    tensor = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    methods = {n.name for n in tensor.body if isinstance(n, ast.FunctionDef)}
    assert {n for n in fasttensor.__all__ if not n.startswith("_")} - names - {"autograd"} == set()
    assert {"add", "add_", "softmax", "backward", "shape", "view", "numpy"} <= methods


def test_package_is_marked_as_typed():
    assert (Path(fasttensor.__file__).parent / "py.typed").exists()
