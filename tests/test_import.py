"""`import fasttensor` is quick because it imports little, and what is imported late looks as if it had been there."""
import json
import pickle
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import fasttensor as ft

ROOT = Path(ft.__file__).resolve().parents[1]


def run(code, *options):
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seconds(statement):
    return float(run(f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"))


def test_import_takes_less_than_numpys():
    pytest.importorskip("numpy")
    ratios = [seconds("import fasttensor") / seconds("import numpy") for _ in range(5)]
    assert statistics.median(ratios) < 0.8, ratios


def test_import_leaves_out_what_programs_may_not_use():
    loaded = run("import sys; before = set(sys.modules); import fasttensor; print(*set(sys.modules) - before)").split()
    assert "fasttensor._core.tensor" in loaded
    heavy = {"numpy", "ctypes", "inspect", "typing", "dataclasses", "re", "enum", "threading", "tqdm", "matplotlib", "unittest", "pickle",
             "multiprocessing", "subprocess", "scipy_openblas32", "tempfile", "logging", "ast"}
    assert not heavy & {name.split(".")[0] for name in loaded}
    parts = {name.split(".")[1] for name in loaded if name.startswith("fasttensor.")}
    assert parts <= {"_core", "_names", "_assemble", "autograd", "cpu", "torch_version", "version"}
    assert not [name for name in loaded if name.startswith(("fasttensor.autograd.rules.", "fasttensor.cpu.gemm"))]


def test_arithmetic_needs_no_numpy_nor_blas():
    text = run("""
import sys, fasttensor as torch
x = torch.ones(3, requires_grad=True)
(x * 2 + x).sum().backward()
repr(x.grad), x.grad.tolist(), x[0], torch.relu(x), x.grad.reshape(3, 1).expand(3, 2)
print("numpy" in sys.modules)
try:
    print("openblas" in open("/proc/self/maps").read())
except OSError:
    print(False)
""")
    assert text.split() == ["False", "False"]


def test_each_thing_alone_finds_what_it_needs():
    # Each is the first that its process does: nothing else has imported a family before.
    cases = {
        "x @ x.t()": [[2.0, 2.0], [2.0, 2.0]], "x ** 2": [[1.0, 1.0], [1.0, 1.0]], "x[[0, 1], 1]": [1.0, 1.0], "2 in x": False,
        "x.T": [[1.0, 1.0], [1.0, 1.0]], "list(x)[0]": [1.0, 1.0], "x.sum((0, 1))": 4.0, "torch.Tensor(2).numel()": 2,
        "torch.linalg.det(torch.eye(2))": 1.0, "torch.special.expit(x * 0)[0, 0]": 0.5, "torch.fft.ifft(torch.fft.fft(x)).real[0]": [1.0, 1.0],
        "torch.nn.functional.relu(-x)[0]": [0.0, 0.0], "torch.Tensor.mul(x, 3)[0]": [3.0, 3.0], "super(torch.Tensor, x).__repr__()[:7]": "<fastte",
        "__import__('copy').deepcopy(x)[0]": [1.0, 1.0], "__import__('pickle').loads(__import__('pickle').dumps(x))[0]": [1.0, 1.0],
        "[x.__setitem__((0, 0), 5), x[0]][1]": [5.0, 1.0], "reversed(x).tolist()[0]": [1.0, 1.0], "f'{x.sum():.1f}'": "4.0",
        # a broadcast operand and derivative expressions of the table, in a gradient of a gradient
        "[w := x[0, 0].requires_grad_(), torch.autograd.grad(torch.autograd.grad((x * w ** 3).sum(), w, create_graph=True)[0], w)[0]][1]": 24.0,
    }
    code = """
import json, os, sys
import fasttensor as torch
x = torch.ones(2, 2)
for expression in json.loads(sys.argv[-1]):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            value = eval(expression)
            os.write(write, json.dumps(value.tolist() if isinstance(value, torch.Tensor) else value).encode())
        except Exception as error:
            os.write(write, json.dumps(repr(error)).encode())
        os._exit(0)
    os.close(write)
    print(os.read(read, 1 << 16).decode() or '"crashed"')
    os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-c", code, json.dumps(list(cases))], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    got = dict(zip(cases, map(json.loads, done.stdout.splitlines())))
    assert got == cases, done.stderr


def test_late_names_look_as_if_they_had_been_there():
    names = run("""
import fasttensor as torch
names, methods = dir(torch), dir(torch.Tensor)
print(len(names) == len(set(names)), set(torch.__all__) <= set(names), all(hasattr(torch, n) for n in names))
print(all(hasattr(torch.Tensor, n) for n in methods), dir(torch.Tensor) == methods)
print(type(vars(torch.Tensor)["relu"]).__name__, type(torch.Tensor.relu).__name__, torch.relu is torch.relu)
scope = {}
exec("from fasttensor import *", scope)
print(set(torch.__all__) <= set(scope), scope["add"] is torch.add)
""").split()
    assert names == ["True", "True", "True", "True", "True", "cython_function_or_method", "cython_function_or_method", "True", "True", "True"]


def test_a_class_finds_late_methods_through_its_parents():
    code = """
import fasttensor as torch
class Mine(torch.Tensor):
    def relu(self):
        return super().relu() + 1
    def real(self):
        return "own"
x = torch.tensor([-1.0, 2.0]).as_subclass(Mine)
print(x.relu().tolist(), x.real())
y = torch.zeros(2)
y.real = 3
print(y.tolist())
try:
    y.H = 1
except AttributeError:
    print("refused")
"""
    assert run(code).splitlines() == ["[1.0, 3.0] own", "[3.0, 3.0]", "refused"]


def test_absent_names():
    assert not hasattr(ft, "surely_absent") and not hasattr(ft, "_surely_absent") and not hasattr(ft.linalg, "surely_absent")
    with pytest.raises(AttributeError, match="surely_absent"):
        ft.surely_absent
    with pytest.raises(ImportError, match="surely_absent"):
        exec("from fasttensor import surely_absent")


def test_what_a_user_set_stays():
    code = "import fasttensor as torch; torch.relu = 5; torch.sigmoid(torch.ones(1)); print(torch.relu)"
    assert run(code).strip() == "5"


def test_functions_are_pickled_by_name():
    for function in (ft.relu, ft.sum, ft.linalg.det, ft.Tensor.softmax):
        assert pickle.loads(pickle.dumps(function)) is function


def test_index_is_what_the_tool_writes():
    sources = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, str(sources / "tools" / "make_names.py"), "--check"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
