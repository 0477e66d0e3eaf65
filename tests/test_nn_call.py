"""Calls of modules: what the compiled short way must pass on."""
import pytest

import fasttensor as torch


def test_call_passes_arguments_on_as_written():
    class Many(torch.nn.Module):
        def forward(self, *args, scale=1, **rest):
            return args, scale, rest

    m = Many()
    assert m() == ((), 1, {}) and m(1, scale=2) == ((1,), 2, {}) and m(*range(12), other=3) == (tuple(range(12)), 1, {"other": 3})
    m.forward = lambda x: x + 1         # an instance's own comes first
    assert m(1) == 2
    assert torch.nn.Module.__call__(m, 1) == 2

    class Static(torch.nn.Module):
        @staticmethod
        def forward(x):
            return x * 3

    class Own(Many):
        def __call__(self, x):
            return "own", super().__call__(x)

    assert Static()(2) == 6 and Own()(5) == ("own", ((5,), 1, {}))


def test_linear_takes_the_short_way_only_while_nothing_was_replaced(monkeypatch):
    m, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    want = torch.nn.functional.linear(x, m.weight, m.bias)
    assert torch.equal(m(x), want) and torch.equal(m(input=x), want) and m(x).grad_fn.name() == "AddmmBackward0"
    assert torch.equal(torch.nn.Linear(3, 2, bias=False)(x * 0), torch.zeros(4, 2))
    with pytest.raises(RuntimeError, match="linear: mat1 and mat2 shapes cannot be multiplied"):
        m(torch.ones(4, 5))
    with pytest.raises(TypeError):
        m()
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.functional, "linear", lambda input, weight, bias: "replaced")
        assert m(x) == "replaced"
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Linear, "forward", lambda self, input: "other")
        assert m(x) == "other"
    weight = m.weight
    del m.weight
    m.weight = weight.detach() * 2      # a plain attribute, as of a layer whose weight is computed
    assert torch.allclose(m(x), 2 * want - m.bias)
    torch.nn.utils.parametrizations.weight_norm(fresh := torch.nn.Linear(3, 2))
    assert torch.allclose(fresh(x), torch.nn.functional.linear(x, fresh.weight, fresh.bias))
