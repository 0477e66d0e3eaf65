"""Modules, optimizers and schedulers saved whole name PyTorch's classes, and PyTorch and this library load them alike."""
import io
import operator
import pickle
import pickletools
import zipfile
from collections import OrderedDict

import numpy
import pytest

import fasttensor
from fasttensor.serialization_globals import Name
from fasttensor.serialization_names import pytorch_name


def saved(obj):
    file = io.BytesIO()
    fasttensor.save(obj, file)
    return file.getvalue()


def names(obj):
    """What a file names."""
    with zipfile.ZipFile(io.BytesIO(saved(obj))) as archive:
        return {arg for opcode, arg, _ in pickletools.genops(archive.read("archive/data.pkl")) if opcode.name == "GLOBAL"}


def test_names_are_pytorchs():
    nn, optim = fasttensor.nn, fasttensor.optim
    net = nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=nn.LSTMCell(2, 2), c=nn.Softmax(0)))
    assert names(net) == {
        "torch.nn.modules.container Sequential", "torch.nn.modules.linear Linear", "torch.nn.modules.rnn LSTMCell", "torch.nn.modules.activation Softmax",
        "torch._utils _rebuild_parameter", "torch._utils _rebuild_tensor_v2", "torch FloatStorage", "collections OrderedDict", "__builtin__ set"}
    descent = optim.SGD(net.parameters(), lr=0.1)
    found = names([optim.lr_scheduler.StepLR(descent, 2), fasttensor.float16, fasttensor.Size([1]), nn.functional.relu, nn.functional.gelu, fasttensor.tanh])
    assert {"torch.optim.sgd SGD", "torch.optim.lr_scheduler StepLR", "torch float16", "torch Size", "torch.nn.functional relu",
            "torch.nn.functional gelu", "torch tanh"} <= found
    assert not [name for name in found if "fasttensor" in name]
    assert pytorch_name(nn.LazyBatchNorm2d) == ("torch.nn.modules.batchnorm", "LazyBatchNorm2d")
    assert pytorch_name(nn.Module) == ("torch.nn.modules.module", "Module")
    assert pytorch_name(pickle.Pickler) is None
    assert b"fasttensor.nn.modules.linear" in pickle.dumps(net)         # outside save, a pickle is of this library


def test_names_are_where_pytorch_defines_them():
    torch = pytest.importorskip("torch")
    wrong = []
    for part in ("nn", "optim", "optim.lr_scheduler", "distributions", "distributions.transforms"):
        theirs, ours = (operator.attrgetter(part)(library) for library in (torch, fasttensor))
        for name in dir(ours):
            kind, other = getattr(ours, name), getattr(theirs, name, None)
            if not isinstance(kind, type) or not isinstance(other, type) or name[0] == "_" or name == "LinearCrossEntropyOptions":
                continue
            if kind.__module__.startswith("fasttensor"):
                if pytorch_name(kind) != (other.__module__, other.__qualname__):
                    wrong.append((name, pytorch_name(kind)))
    assert not wrong


def values(torch):
    """What programs save beside modules, each with what is compared."""
    D, data, ones = torch.distributions, torch.utils.data, torch.ones
    return [(D.Bernoulli(logits=ones(2)), lambda x: [x.mean.tolist(), list(x.param_shape), list(x.expand((3, 2)).sample().shape)]),
            (D.Categorical(ones(3)), lambda x: [x.entropy().tolist(), x._param.tolist()]),
            (D.Multinomial(2, ones(3)), lambda x: x.entropy().tolist()),
            (D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AffineTransform(1.0, 2.0), D.ExpTransform()]), lambda x: x.log_prob(ones(1) * 2).tolist()),
            (D.ComposeTransform([D.PowerTransform(ones(1) * 2), D.TanhTransform()]), lambda x: x(ones(1) * 0.5).tolist()),
            (D.constraints.interval(0.0, 1.0), lambda x: x.check(ones(2) * 2).tolist()),
            (torch.amp.GradScaler("cpu"), lambda x: x.state_dict()), (ones(2, 3).max(1), lambda x: [x.values.tolist(), x.indices.tolist()]),
            (data.Subset(data.TensorDataset(ones(3)), [1, 2]), lambda x: x[0][0].tolist()), (data.BatchSampler(range(3), 2, False), list)]


def test_values_of_both():
    for value, seen in values(fasttensor):
        assert b"fasttensor" not in zipfile.ZipFile(io.BytesIO(saved(value))).read("archive/data.pkl")
        assert seen(fasttensor.load(io.BytesIO(saved(value)), weights_only=False)) == seen(value)
    torch = pytest.importorskip("torch")
    for (value, seen), (theirs, seen_there) in zip(values(fasttensor), values(torch)):
        file = io.BytesIO()
        torch.save(theirs, file)
        here, there = fasttensor.load(io.BytesIO(file.getvalue()), weights_only=False), torch.load(io.BytesIO(saved(value)), weights_only=False)
        assert type(here) is type(value) and type(there) is type(theirs)
        assert str(seen(here)) == str(seen(value)) and str(seen_there(there)) == str(seen_there(theirs))


def modules(nn):
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return {
        "linear": (nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.LayerNorm(4), nn.GELU()), (2, 3)),
        "conv": (nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 2, 6, 6)),
        "lstm": (nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)), "gru": (nn.GRUCell(3, 4), (2, 3)),
        "attention": (nn.MultiheadAttention(4, 2), (5, 2, 4), (5, 2, 4), (5, 2, 4)),
        "layer": (layer, (2, 5, 4)), "encoder": (nn.TransformerEncoder(layer, 2), (2, 5, 4)), "embedding": (nn.Embedding(5, 3), None),
        "decoder": (nn.TransformerDecoderLayer(4, 2, 8), (5, 2, 4), (5, 2, 4)),
        "lists": (nn.ModuleList([nn.ParameterList([nn.Parameter(fasttensor.ones(2))])]),)}


@pytest.mark.parametrize("which", modules(fasttensor.nn))
def test_pytorch_runs_them(which):
    torch = pytest.importorskip("torch")
    net, *shapes = modules(fasttensor.nn)[which]
    net.eval()
    theirs = torch.load(io.BytesIO(saved(net)), weights_only=False)
    assert type(theirs).__module__ == pytorch_name(type(net))[0]
    assert {k: v.tolist() for k, v in theirs.state_dict().items()} == {k: v.tolist() for k, v in net.state_dict().items()}
    file = io.BytesIO()
    torch.save(theirs, file)
    again = fasttensor.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert type(again) is type(net) and set(again.state_dict()) == set(net.state_dict())
    if shapes:
        inputs = [numpy.array([1, 3]) if shape is None else numpy.random.default_rng(0).normal(size=shape).astype("float32") for shape in shapes]
        for mode in (False, True) if which in ("lstm", "gru", "embedding") else (False,):
            got, right = theirs.train(mode)(*map(torch.tensor, inputs)), net.train(mode)(*map(fasttensor.tensor, inputs))
            while isinstance(got, tuple):
                got, right = got[0], right[0]
            numpy.testing.assert_allclose(got.detach().numpy(), right.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_spectral_norm_of_both_and_of_its_first_version():
    nn = fasttensor.nn
    net = nn.utils.spectral_norm(nn.Linear(3, 2))
    x = fasttensor.ones(1, 3)
    net(x)
    now = net.state_dict()
    assert now._metadata[""]["spectral_norm"] == {"weight.version": 1}
    first = OrderedDict(bias=now["bias"], weight_orig=now["weight_orig"], weight_u=now["weight_u"], weight=net.eval().weight.detach())
    other = nn.utils.spectral_norm(nn.Linear(3, 2)).eval()
    other.load_state_dict(first)
    numpy.testing.assert_allclose(other(x).tolist(), net(x).tolist(), rtol=1e-4)
    torch = pytest.importorskip("torch")
    theirs = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2)).eval()
    file = io.BytesIO()
    torch.save(theirs, file)
    ours = fasttensor.load(io.BytesIO(file.getvalue()), weights_only=False)
    numpy.testing.assert_allclose(ours(x).tolist(), theirs(torch.ones(1, 3)).tolist(), rtol=1e-5)
    again = torch.load(io.BytesIO(saved(net)), weights_only=False)
    numpy.testing.assert_allclose(again(torch.ones(1, 3)).tolist(), net(x).tolist(), rtol=1e-5)
    assert set(again.state_dict()) == set(now)


def test_pytorch_steps_them():
    torch = pytest.importorskip("torch")
    p = fasttensor.nn.Parameter(fasttensor.ones(2))
    descent = fasttensor.optim.SGD([p], lr=1.0, momentum=0.5)
    schedule = fasttensor.optim.lr_scheduler.StepLR(descent, 1)
    p.grad = fasttensor.ones(2)
    descent.step()
    schedule.step()
    loaded = torch.load(io.BytesIO(saved(schedule)), weights_only=False)
    q = loaded.optimizer.param_groups[0]["params"][0]
    q.grad = torch.ones(2)
    loaded.optimizer.step()
    loaded.step()
    numpy.testing.assert_allclose(q.tolist(), [-0.15, -0.15], rtol=1e-6)      # 1 - 1 - 0.1 * (0.5 + 1)
    assert loaded.get_last_lr() == [0.010000000000000002]
    for mode in ("triangular2", "exp_range"):
        cycle = fasttensor.optim.lr_scheduler.CyclicLR(fasttensor.optim.SGD([p], lr=1.0, momentum=0.5), 0.1, 0.5, 2, mode=mode, gamma=0.5)
        theirs, ours = torch.load(io.BytesIO(saved(cycle)), weights_only=False), fasttensor.load(io.BytesIO(saved(cycle)), weights_only=False)
        for _ in range(6):
            for each in (cycle, theirs, ours):
                each.optimizer.step()
                each.step()
        assert cycle.get_last_lr() == theirs.get_last_lr() == ours.get_last_lr()


def test_they_load_here():
    nn = fasttensor.nn
    net = nn.LSTM(2, 3)
    again = fasttensor.load(io.BytesIO(saved(net)), weights_only=False)
    assert again._flat_weights[0] is again.weight_ih_l0 and "_flat_weights" not in again.__dict__
    x = fasttensor.ones(4, 1, 2)
    assert again(x)[0].tolist() == net(x)[0].tolist()
    lazy = fasttensor.load(io.BytesIO(saved(nn.LazyLinear(3))), weights_only=False)
    assert lazy(fasttensor.ones(1, 5)).shape == (1, 3) and type(lazy) is nn.Linear
    with fasttensor.serialization.safe_globals([nn.Linear, set]):
        assert type(fasttensor.load(io.BytesIO(saved(nn.Linear(1, 1))))) is nn.Linear
    adam = fasttensor.load(io.BytesIO(saved(fasttensor.optim.Adam(net.parameters()))), weights_only=False)
    assert type(adam) is fasttensor.optim.Adam
    fasttensor.load(io.BytesIO(saved(fasttensor.optim.Adafactor(net.parameters()))), weights_only=False)


class File:
    """Calls a function when it is loaded."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


def test_what_files_must_not_hold():
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.linear\.Linear.*weights_only=False.*add_safe_globals\(\[fasttensor\.nn\.Linear\]\)"):
        fasttensor.load(io.BytesIO(saved(fasttensor.nn.Linear(1, 1))))
    for weights_only in (True, False):
        with pytest.raises(pickle.UnpicklingError, match=r"builtin.*\.eval.*do not trust"):
            fasttensor.load(io.BytesIO(saved(File(eval, "1"))), weights_only=weights_only)
    with pytest.raises(pickle.UnpicklingError, match=r"getattr.*do not trust"):
        fasttensor.load(io.BytesIO(saved(File(getattr, "a", "upper"))))
    with pytest.raises(pickle.UnpicklingError, match="only methods of modules"):
        fasttensor.load(io.BytesIO(saved(File(getattr, "a", "upper"))), weights_only=False)
    with pytest.raises(pickle.UnpicklingError, match="only methods of modules"):
        fasttensor.load(io.BytesIO(saved(File(getattr, fasttensor.nn.Linear(1, 1), "__class__"))), weights_only=False)
    # What our modules import, and their classes that write files, are not values.
    for module, name in (("torch.serialization", "zipfile.ZipFile"), ("torch.serialization", "tempfile.TemporaryDirectory"),
                         ("torch.utils.data.workers", "WorkerPool")):
        with pytest.raises(pickle.UnpicklingError, match=f"{name}, which is not allowed"):
            fasttensor.load(io.BytesIO(saved(File(Name(module, name), "x"))), weights_only=False)
    whole = saved([fasttensor.ones(100)])
    with pytest.raises(RuntimeError, match=r"cut short|at its end is missing.*700 bytes"):
        fasttensor.load(io.BytesIO(whole[:700]))
    with pytest.raises(RuntimeError, match="neither as a zip archive"):
        fasttensor.load(io.BytesIO(b"hello, this is a text"))


def test_loaders_and_generators_saved_whole():
    torch = fasttensor
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    generator = torch.Generator().manual_seed(5)
    torch.rand(2, generator=generator)
    loader = torch.utils.data.DataLoader(data, 2, shuffle=True, generator=torch.Generator().manual_seed(3))
    file = io.BytesIO()
    torch.save([generator, loader], file)
    with pytest.raises(pickle.UnpicklingError, match="Generator"):
        torch.load(io.BytesIO(file.getvalue()))
    drawn, again = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert torch.rand(2, generator=drawn).tolist() == torch.rand(2, generator=generator).tolist() and drawn.initial_seed() == 5
    order = [batch[0].tolist() for batch in again]
    assert order == [[1.0, 3.0], [2.0, 0.0], [4.0, 5.0]] == [batch[0].tolist() for batch in loader]
    with pytest.raises(ValueError, match="batch_size"):
        again.batch_size = 3
    oracle = pytest.importorskip("torch")
    drawn, again = oracle.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert isinstance(again, oracle.utils.data.DataLoader) and [batch[0].tolist() for batch in again] == order
    file = io.BytesIO()
    oracle.save([drawn, again], file)
    expected = oracle.rand(2, generator=drawn).tolist(), [batch[0].tolist() for batch in again]
    drawn, again = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    assert (torch.rand(2, generator=drawn).tolist(), [batch[0].tolist() for batch in again]) == expected
