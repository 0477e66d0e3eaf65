"""torch.fx.passes and its kin: patterns are replaced, graphs split, fused and annotated as PyTorch does."""
import json

import pytest
from fx_pass_programs import KEPT, PROGRAMS, net

import fasttensor as torch
from fasttensor import fx
from fasttensor.fx.annotate import annotate
from fasttensor.fx.experimental import optimization
from fasttensor.fx.passes import pass_manager, split_module
from fasttensor.fx.passes.infra import pass_manager as managers
from fasttensor.fx.passes.utils import fuser_utils

TEXTS = json.loads(KEPT.read_text())


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_text(name):
    assert PROGRAMS[name](torch) == TEXTS[name]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_kept_text_is_pytorchs(name):
    pytorch = pytest.importorskip("torch")
    assert PROGRAMS[name](pytorch) == TEXTS[name]


def close(a, b):
    return all(torch.allclose(x, y, atol=1e-5) for x, y in zip(a, b))


def test_changed_modules_compute_the_same():
    module, x = net(torch), torch.randn(2, 3, 6, 6)
    for made in (optimization.fuse(module), optimization.remove_dropout(module), optimization.optimize_for_inference(module)):
        assert close(made(x), module(x))
    numbers = {}
    traced = fx.symbolic_trace(module)
    assert close(split_module.split_module(traced, module, lambda n: numbers.setdefault(n, len(numbers) // 2))(x), module(x))
    group = [n for n in traced.graph.nodes if n.name in ("norm", "relu", "rest_0")]
    fused = fuser_utils.fuse_by_partitions(traced, [dict.fromkeys(group)])
    fused.recompile()
    assert close(fused(x), module(x)) and "fused_0" in dict(fused.named_modules())


def test_groups_that_cannot_be_one_operation():
    traced = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    add, relu, mul = [n for n in traced.graph.nodes if n.op.startswith("call")]
    assert fuser_utils.validate_partition([add, relu]) and not fuser_utils.validate_partition([add, mul])
    assert fuser_utils.topo_sort([mul, add, relu]) == [add, relu, mul]


def test_managers_of_functions():
    seen = []

    def first(x):
        seen.append("first")
        return x + 1

    def second(x):
        seen.append("second")
    manager = pass_manager.PassManager([first, pass_manager.inplace_wrapper(second)])
    assert manager(1) == 2 and seen == ["first", "second"]
    manager.add_constraint(pass_manager.these_before_those_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="constraint violated"):
        manager(1)
    assert pass_manager.loop_pass(first, n_iter=3)(0) == 3
    with pytest.raises(RuntimeError, match="Circular"):
        managers.PassManager([first, second], [lambda a, b: False])(torch.nn.ReLU())


def test_in_place_operations_can_be_refused():
    class Strict(fx.Tracer):
        check_mutable_operations = True
    with pytest.raises(NotImplementedError, match="mutable operation relu_"):
        Strict().trace(lambda x: torch.relu_(x))
    assert len(Strict().trace(lambda x: torch.relu(x)).nodes) == 3


def test_notes_are_handed_on():
    def f(x):
        return x.relu() + 1
    made = fx.symbolic_trace(f)
    with fx.traceback.annotate({"part": 3}):
        other = fx.symbolic_trace(f)
    assert [n.meta.get("custom") for n in other.graph.nodes] == [{"part": 3}] * 4 and not made.graph.output_node().meta
    with pytest.raises(RuntimeError, match="already had a type"):
        fx.symbolic_trace(lambda x: annotate(annotate(x, int), int))
