"""Calls of modules: what the compiled short way must pass on."""
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
