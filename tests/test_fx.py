"""torch.fx: traced programs have PyTorch's text, do what the program does, and can be changed, copied, saved and run node by node."""
import copy
import io
import json
import operator
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from fx_programs import KEPT, PROGRAMS, net

import fasttensor as torch
from fasttensor import fx

F = torch.nn.functional
TEXTS = json.loads(KEPT.read_text())
CHILD = {**os.environ, "PYTHONPATH": str(Path(torch.__file__).resolve().parents[1])}       # programs of their own find the same library


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_text(name):
    assert PROGRAMS[name](torch) == TEXTS[name]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_kept_text_is_pytorchs(name):
    pytorch = pytest.importorskip("torch")
    assert PROGRAMS[name](pytorch) == TEXTS[name]


def traced():
    return fx.symbolic_trace(net(torch), concrete_args={"flag": False})


def test_traced_modules_compute_the_same():
    module, x = net(torch), torch.randn(2, 3, 8, 8)
    expected = module(x)
    made = fx.symbolic_trace(module, concrete_args={"flag": False})
    assert torch.equal(made(x, False), expected)
    for other in (copy.deepcopy(made), copy.copy(made), pickle.loads(pickle.dumps(made)), fx.symbolic_trace(made, concrete_args={"flag": False}),
                  fx.Transformer(made).transform()):
        assert torch.equal(other(x, False), expected)
    assert torch.equal(fx.Interpreter(made).run(x, False), expected)
    assert copy.deepcopy(made).conv is not made.conv and copy.copy(made).conv is made.conv
    assert pickle.loads(pickle.dumps(made)).code == made.code == copy.deepcopy(made).code
    with pytest.raises(AssertionError, match="specialized"):
        made(x, True)


def test_gradients_flow_through_traced_modules():
    made = fx.symbolic_trace(lambda x, w: F.linear(x, w).relu().sum())
    x, w = torch.randn(2, 3), torch.randn(4, 3, requires_grad=True)
    made(x, w).backward()
    got, w.grad = w.grad, None
    F.linear(x, w).relu().sum().backward()
    assert torch.equal(got, w.grad)


def test_saved_modules_load():
    made, x, file = traced(), torch.randn(1, 3, 8, 8), io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="not allowed"):
        torch.load(file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x, False), made(x, False))


def test_names_of_pytorch_can_be_run():
    def f(x):
        return [F.logsigmoid(x), torch.linalg.det(x) + torch.det(x), torch.special.erf(x), torch.einsum("ij->i", x), torch.fft.fft(x).real,
                F.linear(x, torch.ones(3, 3)), F.max_pool2d(x[None, None], 2, return_indices=True)[1], F.threshold(x, 0.1, 2.0), torch.absolute(x),
                torch.norm(x), torch.stft(x.flatten(), 4, return_complex=True).abs(), torch.split(x, 2)[0], F.one_hot(x.long(), 5)]
    made, x = fx.symbolic_trace(f), torch.rand(3, 3)
    assert all(torch.equal(a, b) for a, b in zip(made(x), f(x)))
    assert fx.symbolic_trace(made).code == made.code


def test_interpreter_methods():
    log = []

    class Profiled(fx.Interpreter):
        def run_node(self, n):
            log.append((n.op, n.name))
            return super().run_node(n)

        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target == torch.relu else target, args, kwargs)
    made = fx.symbolic_trace(lambda x: torch.relu(x) + x.abs())
    x = torch.tensor([1.0, -2.0])
    assert Profiled(made).run(x).tolist() == [0, 4]
    assert log == [("placeholder", "x"), ("call_function", "relu"), ("call_method", "abs_1"), ("call_function", "add"), ("output", "output")]
    assert fx.Interpreter(made).boxed_run([x]).tolist() == [2, 2]
    relu = made.graph.find_nodes(op="call_function", target=torch.relu)[0]
    placeholder = made.graph.find_nodes(op="placeholder")[0]
    assert fx.Interpreter(made).run(initial_env={placeholder: x, relu: torch.ones(2)}).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="parameter x, but one was not passed") as error:
        fx.Interpreter(made).run()
    assert "While executing %x" in str(error.value)


def test_derivative_of_a_graph():
    """Symbolic differentiation, as PyTorch's tutorials show it: a new graph from the nodes of another."""
    made = fx.symbolic_trace(lambda x: torch.sin(x) * x)
    graph, env = fx.Graph(), {}
    for node in made.graph.nodes:
        if node.op == "placeholder":
            new = fx.Proxy(graph.placeholder(node.name))
            env[node] = (new, 1)
        elif node.target is torch.sin:
            value, slope = env[node.args[0]]
            env[node] = (torch.sin(value), torch.cos(value) * slope)
        elif node.target is operator.mul:
            (a, da), (b, db) = (env[x] for x in node.args)
            env[node] = (a * b, da * b + a * db)
        else:
            graph.output(env[node.args[0]][1].node)
    x = torch.tensor([0.5, 2.0])
    assert torch.allclose(fx.GraphModule(torch.nn.Module(), graph)(x), x.cos() * x + x.sin())


def test_submodules_come_and_go():
    made = traced()
    assert made.add_submodule("new.inner", torch.nn.ReLU()) and made.delete_submodule("new.inner") and not made.delete_submodule("new.inner")
    made.delete_all_unused_submodules()
    assert [name for name, _ in made.named_modules()] == ["", "conv", "bn", "layers", "layers.0", "layers.0.fc", "layers.1", "layers.1.0", "layers.1.1"]


def test_wrapped_functions_are_recorded(tmp_path, monkeypatch):
    (tmp_path / "fx_wrapped_program.py").write_text(
        "import fasttensor as torch\nfrom fasttensor import fx\n@fx.wrap\ndef twice(x, n):\n    return x * n if n > 1 else x\nfx.wrap('len')\n"
        "def f(x):\n    return twice(x, 2) + len(x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import fx_wrapped_program
    made = fx.symbolic_trace(fx_wrapped_program.f)
    assert made.code.strip() == (
        'torch.fx._symbolic_trace.wrap("fx_wrapped_program_twice")\ntorch.fx._symbolic_trace.wrap("len")\n\ndef forward(self, x):\n'
        "    twice = fx_wrapped_program_twice(x, 2)\n    len_1 = len(x);  x = None\n    add = twice + len_1;  twice = len_1 = None\n    return add")
    assert made(torch.ones(3)).tolist() == [5, 5, 5] and pickle.loads(pickle.dumps(made))(torch.ones(3)).tolist() == [5, 5, 5]
    assert fx_wrapped_program.twice(3, 2) == 6 and "len" not in vars(fx_wrapped_program)


def test_folders_of_code(tmp_path):
    made, x = traced(), torch.randn(1, 3, 8, 8)
    made.to_folder(tmp_path / "Made", "Made")
    program = ("import sys; sys.path.insert(0, sys.argv[1])\nimport fasttensor; torch = fasttensor.as_torch()\nimport torch.fx\nfrom Made import Made\n"
               "m = Made().eval(); torch.manual_seed(1); print(m(torch.randn(1, 3, 8, 8), False).tolist())")
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], cwd=tmp_path, env=CHILD, capture_output=True, text=True,
                         check=True).stdout
    torch.manual_seed(1)
    x = torch.randn(1, 3, 8, 8)
    assert json.loads(out) == made(x, False).tolist()


def test_in_place_operations_are_no_dead_code():
    def f(x):
        y = x * 2
        y.add_(1)
        torch.relu_(y)
        x.sin()
        return y
    made = fx.symbolic_trace(f)
    made.graph.eliminate_dead_code()
    assert [n.name for n in made.graph.nodes] == ["x", "mul", "add_", "relu_", "output"]


def test_asserts_can_be_traced():
    class Asserts(fx.Tracer):
        trace_asserts = True

    namespace = {}
    exec("def f(x):\n    assert x.sum() > 0, 'positive'\n    return x", namespace)         # pytest rewrites asserts
    made = fx.GraphModule(torch.nn.Module(), Asserts().trace(namespace["f"]))
    assert made(torch.ones(2)).tolist() == [1, 1]
    with pytest.raises(AssertionError):
        made(-torch.ones(2))


def test_stack_traces():
    class Traces(fx.Tracer):
        record_stack_traces = True

    class Net(torch.nn.Module):
        def forward(self, x):
            return x.relu() + 1
    made = fx.GraphModule(Net(), Traces().trace(Net()))
    text = made.print_readable(False)
    assert "in forward, code: return x.relu() + 1" in text and "test_fx.py" in text


def test_tables(capsys):
    fx.symbolic_trace(lambda x: x.relu() + 1).graph.print_tabular()
    assert capsys.readouterr().out.splitlines() == [
        "opcode         name    target                   args       kwargs",
        "-------------  ------  -----------------------  ---------  --------",
        "placeholder    x       x                        ()         {}",
        "call_method    relu    relu                     (x,)       {}",
        "call_function  add     <built-in function add>  (relu, 1)  {}",
        "output         output  output                   (add,)     {}"]


def test_an_import_of_the_library_leaves_it_out(tmp_path):
    program = "import sys, fasttensor as torch; torch.ones(2).relu(); print(any('fasttensor.fx' in name for name in sys.modules), end=' ')\n"
    program += "import fasttensor.fx; from fasttensor._core import dispatch; print(dispatch.is_armed())"
    out = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=CHILD, capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]


def test_numbers_that_stand_for_sizes():
    assert (torch.sym_int(2.7), torch.sym_float(2), torch.sym_max(1, 2.0), torch.sym_min(3, 2), torch.sym_not(True), torch.sym_ite(True, 1, 2),
            torch.sym_sum([1, 2])) == (2, 2.0, 2.0, 2, False, 1, 3)
    made = fx.symbolic_trace(lambda x: torch.sym_max(x.size(0), torch.sym_int(x.size(1) / 2)))
    assert made(torch.ones(2, 9)) == 4 and "torch.sym_max(size, sym_int)" in made.code
    with pytest.raises(TypeError, match="sym_ite"):
        torch.sym_ite(1, 2, 3)


def test_warnings_of_missing_attributes():
    made = traced()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made.graph.get_attr("nothing")
    assert "no underlying reference" in str(seen[0].message)


def test_operands_of_einsum_in_a_list():
    from fasttensor.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY

    class Net(torch.nn.Module):
        def forward(self, a, b):
            return torch.einsum("ij,jk->ik", [a, b]) + torch.einsum("ij,jk->ik", a, b)

    traced = torch.fx.symbolic_trace(Net())
    assert traced.code.count("torch.functional.einsum('ij,jk->ik', a, b)") == 2
    assert traced(torch.eye(2), torch.ones(2, 2)).tolist() == [[2, 2], [2, 2]]
    assert _USER_PRESERVED_ATTRIBUTES_KEY == "_user_preserved_attributes"
