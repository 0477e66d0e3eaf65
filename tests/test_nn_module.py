"""Module itself: registration, state, hooks, copies, conversions, and the tools of nn.utils."""
import copy
import pickle
from collections import OrderedDict

import pytest

import fasttensor as torch
from fasttensor import nn
from helpers import assert_close, from_oracle, oracle


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.b(self.a(x)) * self.scale


NAMES = ["scale", "a.weight", "a.bias", "b.1.weight"]


def test_registries():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert list(net.state_dict()) == ["scale", "seen", "a.weight", "a.bias", "b.1.weight"]
    assert [n for n, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "a", "b", "b.0", "b.1"]
    assert [n for n, _ in net.named_children()] == ["a", "b"]
    assert net.get_parameter("b.1.weight") is net.b[1].weight
    assert net.get_buffer("seen") is net.seen and net.get_submodule("b.0") is net.b[0]
    assert "scale" in dir(net)


def test_a_shared_parameter_counts_once():
    net = Net()
    net.b[1].weight = net.b[1].weight
    net.extra = net.a
    assert len(list(net.parameters())) == 4
    assert len(list(net.named_parameters(remove_duplicate=False))) == 6


def test_attributes_move_between_registries():
    m = nn.Module()
    m.x = torch.zeros(2)
    assert "x" not in m._buffers
    m.x = nn.Parameter(torch.zeros(2))
    assert "x" in m._parameters and "x" not in m.__dict__
    m.x = None
    assert m._parameters["x"] is None
    m.y = nn.Buffer(torch.zeros(2), persistent=False)
    assert "y" in m._buffers and list(m.state_dict()) == []
    m.y = torch.ones(2)
    assert float(m._buffers["y"].sum()) == 2
    del m.y
    assert not hasattr(m, "y")
    m.z = nn.Identity()
    m.z = nn.Linear(1, 1)
    assert isinstance(m.z, nn.Linear)


@pytest.mark.parametrize("act, error, text", [
    (lambda: setattr(nn.Linear(2, 3), "weight", 3), TypeError, "as parameter 'weight'"),
    (lambda: setattr(nn.Linear(2, 3), "weight", torch.zeros(3, 2)), TypeError, "as parameter 'weight'"),
    (lambda: setattr(nn.Sequential(nn.ReLU()), "0", 3), TypeError, "as child module '0'"),
    (lambda: setattr(nn.BatchNorm1d(2), "running_mean", 3), TypeError, "as buffer 'running_mean'"),
    (lambda: nn.Module().register_parameter("a.b", None), KeyError, "contain"),
    (lambda: nn.Module().register_parameter("", None), KeyError, "empty string"),
    (lambda: nn.Linear(2, 3).register_buffer("weight", None), KeyError, "already exists"),
    (lambda: nn.Module().register_parameter("p", torch.zeros(2)), TypeError, "cannot assign"),
    (lambda: nn.Module().add_module("m", 3), TypeError, "not a Module subclass"),
    (lambda: nn.Module()(1), NotImplementedError, 'required "forward" function'),
    (lambda: nn.Linear(2, 3).nothing, AttributeError, "no attribute 'nothing'"),
    (lambda: nn.Linear(2, 3).get_submodule("a.b"), AttributeError, "no attribute `a`"),
    (lambda: nn.Linear(2, 3).get_parameter("in_features"), AttributeError, "not an nn.Parameter"),
    (lambda: nn.Linear(2, 3).to(torch.int32), TypeError, "floating point or complex"),
    (lambda: nn.Linear(2, 3).train(1), ValueError, "boolean"),
    (lambda: nn.Linear(2, 3).load_state_dict([1]), TypeError, "dict-like"),
])
def test_errors(act, error, text):
    with pytest.raises(error, match=text):
        act()


def test_parameter_before_init():
    class Bad(nn.Module):
        def __init__(self):
            self.p = nn.Parameter(torch.zeros(1))
    with pytest.raises(AttributeError, match="before Module.__init__"):
        Bad()


def test_load_state_dict():
    a, b = Net(), Net()
    assert str(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(a.a.weight, b.a.weight) and a.a.weight is not b.a.weight
    state = a.state_dict()
    state["b.1.weight"] = torch.zeros(5, 5)
    state["other"] = torch.zeros(1)
    del state["scale"]
    with pytest.raises(RuntimeError) as caught:
        b.load_state_dict(state)
    text = str(caught.value)
    assert 'Missing key(s) in state_dict: "scale"' in text and 'Unexpected key(s) in state_dict: "other"' in text
    assert "size mismatch for b.1.weight" in text
    del state["b.1.weight"]
    keys = b.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["scale", "b.1.weight"] and keys.unexpected_keys == ["other"]
    new = a.state_dict()
    b.load_state_dict(new, assign=True)
    assert b.a.weight.data_ptr() == new["a.weight"].data_ptr()
    assert isinstance(b.a.weight, nn.Parameter) and b.a.weight.requires_grad


def test_state_dict_metadata_and_hooks():
    net = Net()
    state = net.state_dict(prefix="p.")
    assert list(state)[0] == "p.scale" and state._metadata["p.a"] == {"version": 1}
    net._register_state_dict_hook(lambda m, s, p, meta: s.update(extra=torch.ones(1)))
    assert "extra" in net.state_dict()
    seen = []
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys.unexpected_keys[:]) or keys.unexpected_keys.clear())
    net.load_state_dict(net.state_dict())
    assert seen == [["extra"]]


def test_extra_state():
    class Counter(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]
    a, b = nn.Sequential(Counter()), nn.Sequential(Counter())
    a[0].count = 3
    b.load_state_dict(a.state_dict())
    assert b[0].count == 3


def test_forward_hooks():
    m = nn.Identity()
    log = []
    first = m.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    m.register_forward_hook(lambda m, args, out: log.append(float(args[0])) or out * 2)
    m.register_forward_hook(lambda m, args, out: log.append("first"), prepend=True)
    assert float(m(torch.tensor(1.0))) == 4 and log == ["first", 2.0]
    first.remove()
    assert float(m(torch.tensor(1.0))) == 2


def test_hooks_with_kwargs_and_errors():
    class Fails(nn.Module):
        def forward(self, x, y=0):
            raise ValueError(y)
    m, log = Fails(), []
    m.register_forward_pre_hook(lambda m, a, k: (a, {**k, "y": 5}), with_kwargs=True)
    m.register_forward_hook(lambda m, a, k, out: log.append((a, k, out)), with_kwargs=True, always_call=True)
    with pytest.raises(ValueError, match="5"):
        m(1)
    assert log == [((1,), {}, None)] or log == [((1,), {"y": 5}, None)]


def test_global_hooks():
    log = []
    with nn.modules.module.register_module_forward_hook(lambda m, a, out: log.append(type(m).__name__)):
        nn.Sequential(nn.Identity())(1)
    nn.Identity()(1)
    assert log == ["Identity", "Sequential"]
    with nn.modules.module.register_module_parameter_registration_hook(lambda m, n, p: log.append(n)):
        nn.Linear(1, 1)
    assert log[2:] == ["weight", "bias"]


def test_full_backward_hooks():
    m = nn.Linear(3, 2)
    seen = {}
    m.register_full_backward_pre_hook(lambda m, g: (g[0] * 3,))
    m.register_full_backward_hook(lambda m, gi, go: seen.update(gi=gi[0].clone(), go=go[0].clone()) or (gi[0] * 2,))
    x = torch.ones(4, 3, requires_grad=True)
    m(x).sum().backward()
    assert torch.equal(seen["go"], torch.full((4, 2), 3.0))
    assert_close(x.grad, (seen["gi"] * 2).tolist())
    assert_close(m.weight.grad, torch.full((2, 3), 12.0).tolist())


def test_backward_hook_without_input_gradient():
    m, seen = nn.Linear(3, 2), []
    m.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    m(torch.ones(1, 3)).sum().backward()
    assert seen == [(None,)]


def test_copies_and_pickles():
    net = Net()
    net.note = {"a": 1}
    deep, shallow, back = copy.deepcopy(net), copy.copy(net), pickle.loads(pickle.dumps(net))
    for other in (deep, back):
        assert other.a.weight is not net.a.weight and torch.equal(other.a.weight, net.a.weight)
        assert isinstance(other.a.weight, nn.Parameter) and other.note == {"a": 1}
        assert other._non_persistent_buffers_set == {"scratch"}
    assert shallow.a.weight is net.a.weight


def test_getattr_of_subclasses():
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    class Late(nn.Module):
        pass
    m = Wrapper()
    assert m.in_features == 2 and m.inner.weight is m.weight
    late = Late()
    Late.__getattr__ = lambda self, name: "made up"
    assert late.anything == "made up"


def test_properties_win_over_nothing():
    class P(nn.Module):
        @property
        def twice(self):
            return self.missing
    with pytest.raises(AttributeError, match="missing"):
        P().twice


def test_conversions():
    net = Net().double()
    weight = net.a.weight
    assert weight.dtype == torch.float64 and net.seen.dtype == torch.float64
    net.to(torch.float32)
    assert net.a.weight is weight and weight.dtype == torch.float32
    assert net.half().a.weight.dtype == torch.float16 and net.bfloat16().a.weight.dtype == torch.bfloat16
    m = nn.BatchNorm1d(2).double()
    assert m.num_batches_tracked.dtype == torch.int64
    assert net.float().to("cpu", torch.float64).a.weight.dtype == torch.float64
    assert net.to(torch.zeros(1)).a.weight.dtype == torch.float32


def test_modes_and_gradients():
    net = Net()
    assert not net.eval().b[0].training and net.train().b[0].training
    net(torch.ones(1, 3)).sum().backward()
    assert net.a.weight.grad is not None
    net.zero_grad(set_to_none=False)
    assert float(net.a.weight.grad.abs().sum()) == 0
    net.zero_grad()
    assert net.a.weight.grad is None
    net.requires_grad_(False)
    assert not net(torch.ones(1, 3)).requires_grad


def test_repr():
    assert repr(Net()) == """Net(
  (a): Linear(in_features=3, out_features=4, bias=True)
  (b): Sequential(
    (0): ReLU()
    (1): Linear(in_features=4, out_features=2, bias=False)
  )
)"""
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"


def test_containers():
    s = nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=nn.ReLU()))
    assert s.a is s[0] and len(s[:1]) == 1 and list(s[1:].state_dict()) == []
    s.append(nn.Tanh())
    s.insert(0, nn.Identity())
    assert [type(m).__name__ for m in s] == ["Identity", "Linear", "ReLU", "Tanh"]
    del s[1]
    assert len(s + nn.Sequential(nn.ReLU())) == 4 and len(s * 2) == 6
    layers = nn.ModuleList([nn.ReLU()])
    layers += [nn.Tanh(), nn.Sigmoid()]
    assert isinstance(layers.pop(-1), nn.Sigmoid) and isinstance(layers[-1], nn.Tanh)
    with pytest.raises(IndexError):
        layers[5]
    d = nn.ModuleDict({"x": nn.ReLU()})
    d.update([("y", nn.Tanh())])
    assert list(d) == ["x", "y"] and isinstance(d.pop("x"), nn.ReLU) and "x" not in d
    p = nn.ParameterList([torch.zeros(2), 5])
    p += [torch.ones(1)]
    assert len(p) == 3 and len(list(p.parameters())) == 2 and p[1] == 5
    q = nn.ParameterDict({"w": torch.zeros(2)}) | {"v": torch.ones(1)}
    assert sorted(q.keys()) == ["v", "w"] and q.get("none") is None and len(list(q.parameters())) == 2


def test_lazy_modules():
    m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert isinstance(m[3].weight, nn.UninitializedParameter)
    with pytest.raises(RuntimeError, match="uninitialized"):
        m[3].weight.shape
    assert m(torch.zeros(2, 3, 5, 5)).shape == (2, 2)
    assert type(m[0]) is nn.Conv2d and type(m[1]) is nn.BatchNorm2d and m[3].in_features == 36
    other = nn.LazyLinear(2)
    other.load_state_dict(m[3].state_dict())
    assert other.weight.shape == (2, 36)


def test_init_draws_pytorchs_numbers():
    pt = oracle()
    for name, args in (("uniform_", (1, 3)), ("normal_", (1, 2)), ("trunc_normal_", (0, 1, -1, 2)), ("trunc_normal_", (0, 1, 1, 2)),
                       ("xavier_uniform_", (2,)), ("xavier_normal_", ()), ("kaiming_uniform_", (1,)),
                       ("kaiming_normal_", (0, "fan_out", "relu")), ("sparse_", (0.3,))):
        pt.manual_seed(1)
        torch.manual_seed(1)
        expected = getattr(pt.nn.init, name)(pt.empty(7, 5), *args)
        assert getattr(nn.init, name)(torch.empty(7, 5), *args).tolist() == expected.tolist(), name
    pt.manual_seed(2)
    torch.manual_seed(2)
    assert nn.Linear(5, 4).weight.tolist() == pt.nn.Linear(5, 4).weight.tolist()
    assert nn.Conv2d(2, 3, 3).bias.tolist() == pt.nn.Conv2d(2, 3, 3).bias.tolist()
    assert nn.LSTM(3, 4).bias_hh_l0.tolist() == pt.nn.LSTM(3, 4).bias_hh_l0.tolist()


def test_clip_and_vectors():
    m = nn.Linear(3, 2)
    m(torch.ones(1, 3)).sum().backward()
    before = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    assert_close(before, 8 ** 0.5)
    assert_close(nn.utils.get_total_norm([p.grad for p in m.parameters()]), 1.0, rtol=1e-4)
    nn.utils.clip_grad_value_(m.parameters(), 0.1)
    assert float(m.weight.grad.max()) <= 0.1001
    v = nn.utils.parameters_to_vector(m.parameters())
    nn.utils.vector_to_parameters(v * 2, m.parameters())
    assert_close(nn.utils.parameters_to_vector(m.parameters()), (v * 2).tolist())


def test_parametrizations():
    m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
    assert list(m.state_dict()) == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    weight = m.weight.detach().clone()
    m(torch.ones(1, 3)).sum().backward()
    assert m.parametrizations.weight.original0.grad is not None
    copy.deepcopy(m)
    nn.utils.parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and isinstance(m.weight, nn.Parameter)
    assert_close(m.weight, weight.tolist())
    with pytest.raises(ValueError, match="does not have a parameter"):
        nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), "nope", nn.Identity())


def test_pruning():
    m = nn.Linear(6, 5)
    nn.utils.prune.l1_unstructured(m, "weight", amount=0.3)
    nn.utils.prune.ln_structured(m, "weight", 1, n=2, dim=0)
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_mask"] and nn.utils.prune.is_pruned(m)
    assert int((m.weight == 0).sum()) >= 9
    nn.utils.prune.remove(m, "weight")
    assert sorted(m.state_dict()) == ["bias", "weight"] and int((m.weight == 0).sum()) >= 9


def test_functional_call():
    net = Net()
    out = nn.utils.stateless.functional_call(net, {"scale": torch.zeros(2)}, (torch.ones(1, 3),))
    assert float(out.abs().sum()) == 0 and float(net.scale.sum()) == 2
    # names that a module lacks are its attributes for the call alone
    class Reads(nn.Module):
        def forward(self, x):
            return self.factor * x

    module = Reads()
    assert nn.utils.stateless.functional_call(module, {"factor": torch.tensor(3.0)}, torch.ones(2)).tolist() == [3.0, 3.0] and not hasattr(module, "factor")
    with pytest.raises(RuntimeError, match=r"reparametrizing for Reads:\n\tUnexpected key\(s\): 'factor'\."):
        nn.utils.stateless.functional_call(module, {"factor": torch.tensor(3.0)}, torch.ones(2), strict=True)
    with pytest.raises(TypeError, match="not an instance of torch.Tensor"):
        nn.utils.stateless.functional_call(net, {"scale": 3}, torch.ones(1, 3))


def test_norms_on_attributes():
    m = nn.utils.spectral_norm(nn.Linear(4, 5))
    m(torch.ones(1, 4)).sum().backward()
    assert m.weight_orig.grad is not None
    nn.utils.remove_spectral_norm(m)
    assert isinstance(m.weight, nn.Parameter)


def test_state_moves_from_pytorch():
    pt = oracle()
    theirs = pt.nn.Sequential(pt.nn.Conv2d(2, 3, 3), pt.nn.BatchNorm2d(3), pt.nn.Flatten(), pt.nn.Linear(27, 4))
    ours = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(27, 4))
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    x = pt.randn(2, 2, 5, 5)
    assert_close(ours(from_oracle(x)), theirs(x))
