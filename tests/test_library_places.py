"""Modules that libraries over PyTorch import by name: what they hold, beside PyTorch's values."""
import copy
import gc
import subprocess
import sys
from pathlib import Path

import pytest

import fasttensor as torch
from fasttensor import nn
from fasttensor.nn.utils import _named_member_accessor as members
from fasttensor.standin import compiled_nn, finder
from fasttensor.utils import _contextlib as contexts
from fasttensor.utils import weak

ROOT = Path(torch.__file__).resolve().parents[1]


def test_weak_dictionaries_go_by_identity():
    a, b = torch.ones(2), torch.ones(2)
    marks = weak.WeakTensorKeyDictionary({a: 1})
    marks[b] = [2]
    assert marks[a] == 1 and marks[b] == [2] and len(marks) == 2 and torch.ones(2) not in marks and 3 not in marks
    assert [k is a for k in marks] == [True, False] and marks.pop(a) == 1 and a not in marks
    deep, flat = copy.deepcopy(marks), marks.copy()
    assert deep[b] == [2] and deep[b] is not marks[b] and flat == marks and (marks | {a: 5})[a] == 5
    with pytest.raises(KeyError):
        marks[a]
    del b, deep, flat
    gc.collect()
    assert len(marks) == 0 and list(marks) == []
    reference = weak.TensorWeakRef(a)
    assert reference() is a and weak.WeakIdRef(a) == weak.WeakIdRef(a)
    del a
    assert reference() is None


def test_contexts_that_decorate():
    entered = []

    class Noted(contexts._DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc):
            entered.append("out")

        def clone(self):
            return Noted(self.name)

    @Noted("a")
    def twice(x):
        return 2 * x

    @Noted("g")
    def steps():
        yield from range(2)

    assert twice(2) == 4 and list(steps()) == [0, 1]
    assert entered == ["a", "out", "g", "out", "g", "out", "g", "out"]

    class Plain(contexts._NoParamDecoratorContextManager):
        def __enter__(self):
            entered.append("plain")

        def __exit__(self, *exc):
            return None

    @Plain
    def one():
        return 1

    assert one() == 1 and entered[-1] == "plain" and one.__name__ == "one"
    assert contexts.context_decorator(lambda: torch.no_grad(), lambda: torch.is_grad_enabled())() is False
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        contexts.context_decorator(lambda: torch.no_grad(), type("C", (), {}))


def test_members_by_dotted_names():
    net = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    tree = members.NamedMemberAccessor(net)
    old, missing = tree.swap_tensors_dict({"0.bias": torch.tensor([2.0]), "1.running_mean": torch.ones(1), "0.more": torch.zeros(1)}, allow_missing=True)
    assert missing == ["0.more"] and net[0].bias.item() == 2 and net[0].more.item() == 0
    tree.swap_tensors_dict(old, allow_missing=True)
    assert isinstance(net[0].bias, nn.Parameter) and net[1].running_mean.item() == 0 and not hasattr(net[0], "more")
    with pytest.raises(RuntimeError, match="'0.none'"):
        tree.swap_tensors_dict({"0.bias": torch.ones(1), "0.none": torch.ones(1)})
    assert isinstance(net[0].bias, nn.Parameter)
    assert tree.check_keys(["0.bias", "x"]) == (["0.weight", *sorted(f"1.{n}" for n in (
        "weight", "bias", "running_mean", "running_var", "num_batches_tracked"))], ["x"])
    for name, error in (("a.b", KeyError), ("", KeyError), ("none", AttributeError), ("in_features", TypeError)):
        with pytest.raises(error):
            members.swap_tensor(net[0], name, torch.ones(1))
    layer = nn.ReLU()
    assert isinstance(tree.swap_submodule("0", layer), nn.Linear) and net[0] is layer


def test_arguments_of_to():
    assert compiled_nn._parse_to("cpu", torch.float16) == (torch.device("cpu"), torch.float16, False, None)
    assert compiled_nn._parse_to(torch.float64, non_blocking=True, memory_format=torch.channels_last) == (None, torch.float64, True, torch.channels_last)
    assert compiled_nn._parse_to(torch.ones(1)) == (torch.device("cpu"), torch.float32, False, None)
    assert torch._C._nn is compiled_nn and torch._C._nn.linear is nn.functional.linear


FUNCTORCH = """
import warnings
import torch, functorch
from torch.distributed.elastic.multiprocessing.errors import record
import torch.distributed.autograd
warnings.simplefilter("error")
net = torch.nn.BatchNorm1d(2)
try:
    functorch.make_functional(net)
except FutureWarning as warning:
    assert "functional_call" in str(warning)
warnings.simplefilter("ignore")
f, params = functorch.make_functional(torch.nn.Linear(2, 1))
g = functorch.grad(lambda p: f(p, torch.ones(3, 2)).sum())(params)
assert g[0].tolist() == [[3., 3.]] and g[1].tolist() == [3.]
try:
    functorch.make_functional(net)
except ValueError as error:
    assert "has buffers" in str(error)
f, params, buffers = functorch.combine_state_for_ensemble([torch.nn.BatchNorm1d(2).eval() for _ in range(3)])
assert functorch.vmap(f, (0, 0, None))(params, buffers, torch.ones(4, 2)).shape == (3, 4, 2)
assert not torch.distributed.autograd.is_available() and record(len) is len
print("fine")
"""


def test_functorch_comes_with_the_runner(tmp_path):
    done = subprocess.run([sys.executable, "-m", "fasttensor", "-c", FUNCTORCH], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
                          cwd=tmp_path)
    assert done.stdout == "fine\n", done.stderr
    assert finder.Names().find_spec("functorch.dim") is None


def test_fake_functions_and_kernels_before_their_operator():
    @torch.library.register_fake("compiled_elsewhere::twice")
    def shape(x):
        return torch.empty_like(x)

    lib = torch.library.Library("compiled_elsewhere", "FRAGMENT")
    lib.impl("twice", lambda x: 2 * x, "CPU")
    lib.define("twice(Tensor x) -> Tensor")
    assert torch.ops.compiled_elsewhere.twice(torch.ones(2)).tolist() == [2, 2]
    assert torch.ops.compiled_elsewhere.twice(torch.ones(2, device="meta")).shape == (2,)
    with pytest.raises(RuntimeError, match="compiled_elsewhere::thrice"):       # the namespace is there, so that this is a slip
        torch.library.register_fake("compiled_elsewhere::thrice")(shape)


def test_hooks_of_all_modules_under_pytorchs_names():
    from fasttensor.nn.modules.module import _global_parameter_registration_hooks as hooks
    handle = nn.modules.module.register_module_parameter_registration_hook(lambda module, name, value: None)
    assert len(hooks) == 1
    handle.remove()
    assert len(hooks) == 0 and isinstance(torch.ones(1).untyped_storage(), torch.StorageBase)
