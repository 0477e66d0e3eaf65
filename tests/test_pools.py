"""Tensors, storages and nodes that are kept for their next use carry nothing over from their last."""
import gc
import pickle
import weakref

import pytest

import fasttensor as torch


def test_a_new_tensor_is_new():
    def marked():
        x = torch.ones(2, 3, requires_grad=True)
        y = x * 2
        y.note = "seen"
        y.retain_grad()
        y.sum().backward()
        y.data.add_(1)
        return weakref.ref(y)

    references = [marked() for _ in range(5)]
    made = [torch.empty(4) for _ in range(5)] + [torch.empty(6).view(2, 3)]
    assert all(r() is None for r in references)
    for t in made:
        assert t.__dict__ == {} and t.grad is None and t.grad_fn is None and t.is_leaf and not t.requires_grad and t._version == 0
        assert not t.is_inference() and not t.retains_grad and t.storage_offset() == 0
        with pytest.raises(AttributeError):
            t.note
    with torch.inference_mode():
        assert torch.ones(2).is_inference()
    assert not torch.ones(2).is_inference()


def test_foreign_memory_is_never_kept():
    for _ in range(20):
        del _
        torch.ones(100)
        data = bytearray(400)
        a = torch.frombuffer(data, dtype=torch.float32)
        b = a.data
        del a
        assert torch.equal(b, torch.zeros(100)) and b.untyped_storage().nbytes() == 400


def test_chains_longer_than_the_stack_are_freed():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1
    del y
    gc.collect()
    views = torch.ones(3)
    for _ in range(100_000):
        views = views.view(3)
    assert views.sum() == 3


def test_a_tensor_in_a_cycle_is_collected():
    x = torch.ones(2)
    x.itself = x
    reference = weakref.ref(x)
    del x
    gc.collect()
    assert reference() is None


def test_modes_nest_decorate_and_pickle():
    @torch.no_grad
    def off():
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def flag():
        with torch.enable_grad():
            return torch.is_grad_enabled()

    @torch.inference_mode
    def inference():
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    @torch.no_grad()
    def steps():
        received = yield torch.is_grad_enabled()
        yield received, torch.is_grad_enabled()

    class Mine(torch.no_grad):
        def __init__(self):
            self.entered = 0

        def __enter__(self):
            self.entered += 1
            return super().__enter__()

    assert not off() and off.__name__ == "off" and flag() and inference() == (True, False) and torch.is_grad_enabled()
    generator = steps()
    assert next(generator) is False and torch.is_grad_enabled() and generator.send(3) == (3, False)
    mine = Mine()
    with mine:
        assert not torch.is_grad_enabled() and mine.prev and mine.entered == 1
    assert torch.is_grad_enabled() and isinstance(mine, torch.no_grad) and isinstance(torch.no_grad(), torch.no_grad)
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0
    assert torch.is_grad_enabled()
    assert type(pickle.loads(pickle.dumps(torch.no_grad()))) is torch.no_grad
    assert pickle.loads(pickle.dumps(torch.inference_mode(False))).mode is False
    with pytest.raises(TypeError):
        torch.no_grad(1, 2)


def test_known_layers_take_the_short_way_only_while_nothing_was_replaced(monkeypatch):
    nn, x = torch.nn, torch.tensor([[-1.0, 2.0]])
    net = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Sigmoid()))
    want = torch.sigmoid(torch.tanh(torch.relu(x)))
    assert torch.equal(net(x), want) and torch.equal(net(input=x), want)
    seen = []
    handle = net[1][0].register_forward_hook(lambda module, args, out: seen.append(type(module).__name__))
    assert torch.equal(net(x), want) and seen == ["Tanh"]
    handle.remove()
    assert torch.equal(net(x), want) and seen == ["Tanh"]
    y = x.clone()
    assert nn.ReLU(inplace=True)(y) is y and torch.equal(y, torch.relu(x))
    net[0] = nn.Identity()
    assert torch.equal(net(x), torch.sigmoid(torch.tanh(x)))
    with monkeypatch.context() as patch:
        patch.setattr(nn.functional, "relu", lambda input, inplace: "replaced")
        assert nn.ReLU()(x) == "replaced"
    with monkeypatch.context() as patch:
        patch.setattr(nn.Sequential, "forward", lambda self, input: "other")
        assert net(x) == "other"
    assert torch.equal(nn.ReLU()(x), torch.relu(x))
    loop = nn.Sequential()
    loop._modules["0"] = loop
    with pytest.raises(RecursionError):
        loop(x)

    class Growing(nn.Module):
        def forward(self, input):
            net.append(nn.ReLU())
            return input

    net.append(Growing())
    with pytest.raises(RuntimeError, match="changed size"):
        net(x)


def test_a_dict_that_somebody_holds_outlives_its_object():
    made = [torch.nn.Linear(2, 1), torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.ones(2).untyped_storage()]
    watched = [weakref.ref(x) for x in made[1:]]        # as what is watched is not kept for reuse
    for x in made:
        x.mine = "kept"
    dicts = [x.__dict__ for x in made]
    del made, x
    gc.collect()
    assert not any(ref() is not None for ref in watched) and [d["mine"] for d in dicts] == ["kept"] * 4
    other = torch.nn.Linear(2, 1)
    other.__dict__ = dicts[0]
    assert other.mine == "kept" and other(torch.ones(3, 2)).shape == (3, 1)
    new = torch.nn.Linear.__new__(torch.nn.Linear)
    new.__dict__.update(torch.nn.Linear(2, 1).__dict__)
    assert new(torch.ones(3, 2)).shape == (3, 1)


def test_what_a_class_says_comes_before_what_a_module_registered(monkeypatch):
    class Backwards(torch.nn.Sequential):
        def __iter__(self):
            return reversed(list(super().__iter__()))

    x = torch.tensor([[-1.0, 2.0]])
    assert torch.equal(Backwards(torch.nn.ReLU(), torch.nn.Tanh())(x), torch.relu(torch.tanh(x)))
    layer = torch.nn.Linear(2, 1)
    want = layer(x)
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Linear, "bias", torch.tensor([50.0]), raising=False)
        assert layer.bias.item() == 50 and torch.allclose(layer(x), want - layer._parameters["bias"] + 50)
    assert layer.bias is layer._parameters["bias"] and torch.equal(layer(x), want)


def test_set_grad_enabled_takes_a_bool():
    with pytest.raises(TypeError, match="must be bool, not str"):
        torch.set_grad_enabled("off")
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.masked_fill_(x > 0, 2), lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1)), lambda x: x.uniform_(),
    lambda x: x.scatter_(0, torch.tensor([0]), 2.0), lambda x: x.__setitem__(torch.tensor([0]), 2), lambda x: x.resize_(3), lambda x: x.zero_()])
def test_inference_tensors_are_written_in_inference_mode_only(write):
    with torch.inference_mode():
        x = torch.ones(2)
        write(x)
        x = torch.ones(2)
    with pytest.raises(RuntimeError, match="inference tensor"):
        write(x)
    assert x.tolist() == [1, 1]
