"""Subclasses of Tensor, classes with ``__torch_function__``, and modes."""
import copy
import inspect
import os
import pickle
import subprocess
import sys

import pytest

import fasttensor as torch
import fasttensor.nn.functional as F
from fasttensor.overrides import TorchFunctionMode, resolve_name

INSTALLED = os.path.dirname(os.path.dirname(torch.__file__))       # a process that starts in a checkout would find its sources


class Mine(torch.Tensor):
    pass


class Tagged(torch.Tensor):
    """Made by Tensor's __new__; its own __init__ does not call Tensor's."""

    @staticmethod
    def __new__(cls, values, *args, **kwargs):
        return super().__new__(cls, values)

    def __init__(self, values, tag=None):
        self.tag = tag


def names_in(code, **known):
    """The names of what a mode is asked for while an expression runs."""
    seen = []

    class Seen(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(resolve_name(func).removeprefix("torch.").removeprefix("Tensor."))
            return func(*args, **(kwargs or {}))
    with Seen():
        eval(code, {"torch": torch, "F": F, **known})
    return seen


@pytest.mark.parametrize("code", ["x + 1", "1 - x", "-x", "x[0]", "x[:, None]", "x @ x", "x == x", "x.sum()", "torch.add(x, x)", "torch.ones(2, 2) * x",
                                  "F.softmax(x, 0)", "F.linear(x, x)", "x.view(4)", "x.detach()", "x.T", "x.data", "torch.stack([x, x])",
                                  "x.double()", "x.clone()", "torch.linalg.inv(x + torch.eye(2))", "x.add_(1)", "x.real", "torch.nn.Linear(2, 2)(x)",
                                  "torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())(x)", "abs(x)"])
def test_results_are_of_the_class(code):
    x = torch.ones(2, 2).as_subclass(Mine)
    assert type(eval(code, {"torch": torch, "F": F, "x": x})) is Mine


def test_parts_of_results_are_of_the_class():
    x = torch.arange(6.0).reshape(2, 3).as_subclass(Mine)
    assert [type(v) for v in x.max(1)] == [Mine, Mine] and type(x.max(1)).__name__ == "max"
    assert [type(v) for v in x.split(1)] == [Mine, Mine] and [type(v) for v in x] == [Mine, Mine]
    assert type(x.shape) is torch.Size and x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and type(x.sum().item()) is float


def test_plain_tensors_and_parameters_stay_plain():
    Mine([1.0])         # the gates are in place from here on
    p = torch.nn.Parameter(torch.ones(2))
    assert type(p * 2) is torch.Tensor and type(torch.ones(2) + 1) is torch.Tensor and type(p.detach()) is torch.Tensor
    assert inspect.signature(F.softmax).parameters.keys() >= {"input", "dim"}


def test_constructors():
    x = Tagged([1.0, 2.0], tag="left")
    assert type(x) is Tagged and x.tag == "left" and x.tolist() == [1.0, 2.0]
    assert Mine([3.0]).tolist() == [3.0] and Mine(2, 3).shape == (2, 3) and Mine().shape == (0,)
    y = torch.Tensor._make_subclass(Mine, torch.ones(2), True)
    assert type(y) is Mine and y.requires_grad and y.is_leaf


def test_copies_and_pickles():
    x = Tagged([1.0, 2.0], tag="left")
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert type(y) is Tagged and y.tag == "left" and y.tolist() == [1.0, 2.0]


def test_gradients_are_plain():
    x = torch.Tensor._make_subclass(Mine, torch.tensor([1.0, 2.0]), True)
    ((x * x).sum() + x[0]).backward()
    assert x.grad.tolist() == [3.0, 4.0] and type(x.grad) is torch.Tensor
    y = (x * 1)
    y[0].mul_(5)                # through a view, into what the class was given
    y.sum().backward()
    assert x.grad.tolist() == [8.0, 5.0]


def test_parameters_of_a_class():
    p = torch.nn.Parameter(Mine([1.0, 2.0]))
    assert type(p) is Mine and isinstance(p, torch.nn.Parameter) and p.requires_grad
    m = torch.nn.Module()
    m.weight = p
    (m.weight * 3).sum().backward()
    torch.optim.SGD(m.parameters(), lr=0.5).step()
    assert type(m.state_dict()["weight"]) is Mine and p.tolist() == [-0.5, 0.5]


def test_what_a_class_is_given():
    calls = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append((func, types, len(args), kwargs))
            return super().__torch_function__(func, types, args, kwargs)
    x = torch.ones(2).as_subclass(Logging)
    torch.add(x, torch.ones(2), alpha=2)
    assert calls == [(torch.add, (Logging,), 2, {"alpha": 2})]
    calls.clear()
    torch.ones(2) + x
    x.requires_grad
    x.requires_grad = False
    F.relu(input=x)
    assert [c[0] for c in calls] == [torch.Tensor.add, torch.Tensor.requires_grad.__get__, torch.Tensor.requires_grad.__set__, F.relu]
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
    assert len(calls) == 4


def test_subclasses_are_asked_first():
    asked = []

    def kind(name, base):
        def of(cls, func, types, args=(), kwargs=None):
            asked.append(name)
            return NotImplemented
        return type(name, (base,), {"__torch_function__": classmethod(of)})
    parent = kind("parent", torch.Tensor)
    child = kind("child", parent)
    with pytest.raises(TypeError, match="torch.mul"):
        torch.mul(torch.ones(1).as_subclass(parent), torch.ones(1).as_subclass(child))
    assert asked == ["child", "parent"]


HANDLED = {}


class ScalarTensor:
    """A diagonal matrix that is no tensor, as in PyTorch's "Extending PyTorch"."""

    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


def test_classes_that_are_no_tensors():
    HANDLED[torch.mean] = lambda x: x.value / x.n
    HANDLED[torch.add] = lambda a, b: "sum"
    HANDLED[torch.stack] = lambda parts: len(parts)
    d = ScalarTensor(5, 2)
    assert torch.mean(d) == 0.4 and torch.add(d, torch.ones(1)) == "sum" and torch.ones(2) + d == "sum" and torch.stack([torch.ones(1), d]) == 2
    with pytest.raises(TypeError, match="ScalarTensor"):
        torch.mul(d, 3)


@pytest.mark.parametrize("code, names", [
    ("x + x", ["add"]), ("1 - x", ["__rsub__"]), ("x // x", ["__floordiv__"]), ("2 ** x", ["__rpow__"]), ("-x", ["neg"]), ("x == x", ["__eq__"]),
    ("x[0]", ["__getitem__"]), ("len(x)", ["__len__"]), ("x.shape", ["shape.__get__"]), ("x.T", ["T.__get__"]), ("repr(x)", ["__repr__"]),
    ("float(x[0])", ["__getitem__", "__float__"]), ("torch.zeros(2)", ["zeros"]), ("torch.is_tensor(x)", []), ("F.softmax(x, 0)", ["softmax"]),
    ("torch.einsum('i,i->', x, x)", ["einsum"]), ("F.cross_entropy(x, x)", ["nn.functional.cross_entropy"]), ("x.size()", ["size"]),
    ("torch.nn.ReLU()(x)", ["relu"]), ("torch.linalg.norm(x)", ["linalg.norm"]), ("hash(x)", [])])
def test_what_a_mode_is_asked_for(code, names):
    assert [name.removeprefix("nn.functional.") if len(names[0]) < 12 else name for name in names_in(code, x=torch.ones(2))] == names


def test_modes_nest_and_end():
    class Plus(TorchFunctionMode):
        def __init__(self, n):
            self.n = n

        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result + self.n if func is torch.neg or func is torch.ones else result
    with Plus(1) as outer, Plus(10):
        assert torch.overrides._get_current_function_mode_stack()[0] is outer
        x = torch.ones(1)
    assert x.tolist() == [12.0] and torch.neg(x).tolist() == [-12.0] and torch.overrides._get_current_function_mode() is None
    with Plus(1), torch._C.DisableTorchFunction():
        assert torch.ones(1).tolist() == [1.0]
    with pytest.raises(NotImplementedError), TorchFunctionMode():
        torch.ones(1)


def test_functions_of_users():
    def double(x):
        if torch.overrides.has_torch_function_unary(x):
            return torch.overrides.handle_torch_function(double, (x,), x)
        return x * 2
    HANDLED[double] = lambda x: ScalarTensor(x.n, x.value * 2)
    assert double(ScalarTensor(2, 3)).value == 6 and double(4) == 8
    assert not torch.overrides.has_torch_function((torch.ones(1), torch.nn.Parameter(torch.ones(1))))
    assert torch.overrides.is_tensor_like(ScalarTensor(1, 1)) and not torch.overrides.is_tensor_like(3)


def test_lists_of_functions():
    listed = torch.overrides.get_overridable_functions()
    assert torch.add in listed[torch] and F.softmax in listed[F] and torch.Tensor.shape.__get__ in listed[torch.Tensor]
    overrides = torch.overrides.get_testing_overrides()
    assert overrides[torch.cat]([]) == -1 and torch.overrides.is_tensor_method_or_property(torch.Tensor.grad.__get__)
    assert torch.is_tensor in torch.overrides.get_ignored_functions() and resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"


@pytest.mark.parametrize("before, after, armed", [
    ("", "", False), ("", "torch.nn.Parameter(torch.ones(1))", False), ("", "class M(torch.overrides.TorchFunctionMode): pass", False),
    ("class D:\n    def __torch_function__(*a): return 1", "", True), ("", "class M(torch.Tensor): pass\nM([1.0])", True),
    ("", "class B(torch.overrides.BaseTorchFunctionMode): pass\nwith B(): torch.ones(1)", False)])
def test_gates_are_there_only_when_needed(before, after, armed):
    code = f"{before}\nimport fasttensor as torch\n{after}\nfrom fasttensor._core.dispatch import is_armed\nassert is_armed() is {armed}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=INSTALLED)



def test_device_context():
    from fasttensor.utils._device import DeviceContext, set_device
    with DeviceContext("meta"):
        assert torch.zeros(2).is_meta and torch.tensor([1.0]).is_meta and not torch.zeros(2, device="cpu").is_meta
    assert set_device("meta")(torch.ones)(1).is_meta and not torch.ones(1).is_meta


class Image(torch.Tensor):
    """Results are plain, but for those of the functions that keep what an image is."""
    KEEP = {torch.Tensor.clone, torch.Tensor.to, torch.Tensor.requires_grad_}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result.as_subclass(cls) if func in cls.KEEP and isinstance(args[0], cls) else result


def test_a_class_that_decides():
    x = torch.ones(3, 2, 2).as_subclass(Image)
    assert type(x + 1) is torch.Tensor and type(x.clone()) is Image and type(x.to(torch.float64)) is Image and type(x.sum()) is torch.Tensor
    assert type(copy.deepcopy(x)) is Image and x.shape == (3, 2, 2)


def test_layers_that_are_imported_later():
    code = """
class D:
    def __torch_function__(*a):
        return 1
import fasttensor as torch
class M(torch.Tensor):
    pass
layer = torch.nn.Linear(2, 2)
layer.weight = torch.nn.Parameter(M([[1.0, 2.0], [3.0, 4.0]]))
assert type(layer(torch.ones(1, 2))) is M
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=INSTALLED)


def test_a_silent_method_under_another_name_stays_silent():
    """Libraries keep a method that they replace: nobody is asked for as_subclass by any name."""
    torch.Tensor._orig_as_subclass = torch.Tensor.as_subclass
    try:
        class Loud(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise AssertionError(func)
        x = torch.ones(2)._orig_as_subclass(Loud)
        assert type(x) is Loud and type(x._orig_as_subclass(torch.Tensor)) is torch.Tensor
    finally:
        del torch.Tensor._orig_as_subclass
