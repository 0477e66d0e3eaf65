"""Anomaly mode: the line, module and operation of the first NaN, forward or backward, and of what backward trips over."""
import warnings

import pytest

import fasttensor as torch
from fasttensor import nn


class Head(nn.Module):
    def forward(self, x):
        return (x - 2).log()        # the first NaN


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ModuleDict({"head": Head()})["head"])

    def forward(self, x):
        return self.layers(x).sum()


def watching(**options):
    return torch.autograd.set_detect_anomaly(True, **options)


def line_of(function, text):
    import inspect
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if text in line)


def test_forward_names_operation_inputs_line_and_module():
    net = Net()
    with torch.no_grad():
        net.layers[0].weight.zero_()
        net.layers[0].bias.copy_(torch.tensor([0.5, 1.0, 4.0]))
    where = rf"test_anomaly\.py:{line_of(Head.forward, 'first NaN')} \(return \(x - 2\)\.log\(\).*in module Net\.layers\.1 \(Head\)"
    with watching(), pytest.warns(UserWarning, match=rf"aten::log produced the first NaN, from float32\[2, 3\] of -1\.5 to 2, at .*{where}"):
        net(torch.ones(2, 3))
    with watching(forward="raise"), pytest.raises(RuntimeError, match="aten::log produced the first NaN"):
        net(torch.ones(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with watching(forward="ignore"):
            net(torch.ones(2, 3))
        net(torch.ones(2, 3))


def test_backward_names_the_forward_call():
    class Root(nn.Module):
        def forward(self, x):
            return x.sqrt() * 0     # infinite slope times zero
    net = nn.Sequential(Root())
    x = torch.zeros(2, requires_grad=True)
    with watching():
        y = net(x).sum()
        line = line_of(Root.forward, "infinite")
        with pytest.raises(RuntimeError, match=rf"(?s)'SqrtBackward0' returned nan values in its 0th output.*test_anomaly\.py:{line} .*"
                                               r"in module Sequential\.0 \(Root\).*Traceback.*test_anomaly.py"):
            y.backward()
    (x.sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()


def test_backward_names_the_first_nan_of_forward():
    x = torch.tensor([-1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with watching(), pytest.raises(RuntimeError, match="first NaN of forward: aten::log produced the first NaN"):
            (x.log() * x).sum().backward()


def test_nan_that_came_from_outside():
    data = torch.tensor([1.0, float("nan")])
    with watching(), pytest.warns(UserWarning, match=r"aten::mul was given a NaN in float32\[2\], which no operation had produced before"):
        data * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with watching():
            torch.empty(3)
            torch.where(data.isnan(), torch.zeros(2), data)
            torch.nan_to_num(data)


def test_in_place_operations_are_named():
    x = torch.tensor([1.0, -1.0])
    with watching(), pytest.warns(UserWarning, match="aten::sqrt_ produced the first NaN"):
        x.sqrt_()
    with watching(), pytest.warns(UserWarning, match="aten::mul_ was given a NaN"):
        x.mul_(2)


def test_an_overwritten_value_names_the_writing_line_and_the_forward_call():
    x = torch.zeros(2, requires_grad=True)
    with watching(), pytest.warns(UserWarning, match=r"(?s)Error detected in ExpBackward0.*y = x\.exp\(\)"):
        y = x.exp()
        y.mul_(2)       # the write
        line = line_of(test_an_overwritten_value_names_the_writing_line_and_the_forward_call, "the write")
        with pytest.raises(RuntimeError, match=rf"modified by an inplace operation.*test_anomaly\.py:{line}"):
            y.sum().backward()


def test_switches():
    assert not torch.autograd.is_anomaly_enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly(check_nan=False):
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        x = torch.zeros(1, requires_grad=True)
        (x.sqrt() * 0).backward()
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert x.grad.isnan().all() and not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True)
    assert torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()
    with pytest.raises(ValueError, match="forward"):
        watching(forward="never")
