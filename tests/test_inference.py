"""Inference mode: what is recorded inside, and which tensors may be written to outside."""
import pytest

import fasttensor as torch


@pytest.mark.parametrize("on", [torch.enable_grad, lambda: torch.set_grad_enabled(True)])
def test_nothing_is_recorded_where_gradients_are_switched_on_inside(on):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        with on():
            made = [x * 2, x.sum(), x.exp(), torch.cat([x, x]), x.softmax(0), torch.nn.functional.linear(x, torch.ones(2, 3)), x.clone().mul_(x)]
            assert torch.is_grad_enabled() and torch.is_inference_mode_enabled()
            with torch.no_grad():
                assert not torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        with torch.inference_mode(False):
            assert (x * 2).requires_grad and torch.is_grad_enabled() and not (x * 2).is_inference()
        assert torch.is_inference_mode_enabled() and not (x * 2).requires_grad
    assert all(not y.requires_grad and y.grad_fn is None and y.is_inference() for y in made)
    assert torch.is_grad_enabled() and (x * 2).requires_grad
    with torch.no_grad(), torch.inference_mode(), torch.enable_grad():
        pass
    assert torch.is_grad_enabled()


WRITERS = {
    "add": lambda out: torch.add(torch.ones(3), 1, out=out), "exp": lambda out: torch.exp(torch.ones(3), out=out),
    "where": lambda out: torch.where(torch.ones(3) > 0, torch.ones(3), torch.ones(3), out=out), "cat": lambda out: torch.cat([torch.ones(3)], out=out),
    "sum": lambda out: torch.sum(torch.ones(3, 3), 0, out=out), "matmul": lambda out: torch.matmul(torch.ones(3, 3), torch.ones(3), out=out),
    "zeros": lambda out: torch.zeros(3, out=out), "full": lambda out: torch.full((3,), 2.0, out=out), "empty": lambda out: torch.empty(3, out=out),
    "arange": lambda out: torch.arange(3, out=out), "randn": lambda out: torch.randn(3, out=out), "eye": lambda out: torch.eye(3, out=out),
    "sort": lambda out: torch.sort(torch.ones(3), out=(out, torch.zeros(3, dtype=torch.int64))), "stack": lambda out: torch.stack(list(torch.ones(3)), out=out),
}


@pytest.mark.parametrize("name", WRITERS)
def test_results_are_not_written_into_inference_tensors_outside(name):
    with torch.inference_mode():
        out = torch.full((3,), 7.0)
        view = out[:]
    for target in (out, view):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            WRITERS[name](target)
    assert out.tolist() == [7.0, 7.0, 7.0]
    with torch.inference_mode():
        WRITERS[name](out)


def test_functions_and_views_under_enable_grad_inside_record_nothing():
    steps = {name: staticmethod(lambda ctx, x: x * 2) for name in ("forward", "backward")}
    Double = type("Double", (torch.autograd.Function,), steps)
    w = torch.ones(3, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        made = Double.apply(w), w.view(3)
    assert [y.requires_grad for y in made] == [False, False] and made[0].is_inference()
