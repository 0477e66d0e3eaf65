"""The graph and the backward sweep: accumulation, hooks, in-place writes, freeing, modes."""
import gc
import threading

import pytest

import fasttensor as torch
from helpers import assert_close


def leaf(*values):
    return torch.tensor(values if len(values) != 1 else values[0], requires_grad=True, dtype=torch.float64)


def test_gradients_accumulate_in_place_of_what_was_there():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert_close(x.grad, [5.0, 7.0])


def test_one_tensor_used_many_times():
    x = leaf(2.0, 3.0)
    y = x * x
    z = y + y * x + x
    z.backward(torch.ones_like(z))
    assert_close(x.grad, [2 * 2 + 3 * 4 + 1, 2 * 3 + 3 * 9 + 1])


def test_broadcast_gradients_shrink_to_the_operand():
    a, b = leaf([[1.0], [2.0]]), leaf([10.0, 20.0, 30.0])
    (a * b).sum().backward()
    assert_close(a.grad, [[60.0], [60.0]])
    assert_close(b.grad, [3.0, 3.0, 3.0])


def test_grad_gives_none_or_refuses_unused_inputs():
    x, unused = leaf(1.0, 2.0), leaf(1.0)
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match="allow_unused"):
        torch.autograd.grad(y, [x, unused], retain_graph=True)
    got = torch.autograd.grad(y, [x, unused], allow_unused=True, retain_graph=True)
    assert_close(got[0], [2.0, 2.0])
    assert got[1] is None and x.grad is None
    assert_close(torch.autograd.grad(y, [x, unused], materialize_grads=True)[1], 0.0)


def test_grad_of_an_intermediate_stops_there():
    x = leaf(3.0, 4.0)
    y = x * x
    z = (y * y).sum()
    g, = torch.autograd.grad(z, y)
    assert_close(g, [18.0, 32.0])
    assert x.grad is None


def test_backward_with_inputs_touches_only_those():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w).sum().backward(inputs=[w])
    assert x.grad is None
    assert_close(w.grad, [1.0, 2.0])


def test_second_backward_needs_retain_graph():
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time.*ExpBackward0"):
        y.backward()


def test_create_graph_differentiates_again():
    x = leaf(2.0, 3.0)
    g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    gg, = torch.autograd.grad(g.sum(), x, create_graph=True)
    ggg, = torch.autograd.grad(gg.sum(), x)
    assert_close(g.detach(), [12.0, 27.0])
    assert_close(gg.detach(), [12.0, 18.0])
    assert_close(ggg, [6.0, 6.0])


def test_non_scalar_needs_a_gradient_and_shapes_are_checked():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match=r"Mismatch in shape.*float64\[3\]"):
        (x * 2).backward(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()


def test_changed_saved_tensor_names_operation_and_line():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y * y
    y.add_(1)  # this line is named
    with pytest.raises(RuntimeError, match=r"MulBackward0 saved float64\[2\].*test_autograd\.py"):
        z.sum().backward()


def test_in_place_on_leaf_is_refused_and_allowed_without_grad():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.mul_(2)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].mul_(2)
    with torch.no_grad():
        x.mul_(2)
    assert_close(x.detach(), [2.0, 4.0])


def test_in_place_history():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.mul_(y)
    y.add_(x)
    y.sum().backward()
    assert_close(x.grad, [19.0, 37.0])


def test_in_place_through_a_view_changes_the_base():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 2
    y[0].mul_(5)
    y[:, 1] = 0
    y.sum().backward()
    assert_close(x.grad, [[10.0, 0.0], [2.0, 0.0]])


def test_view_sees_later_writes_to_its_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x.clone()
    v = y[1:]
    y.mul_(x)
    assert "AsStrided" in v.grad_fn.name()
    (v * v).sum().backward()
    assert_close(x.grad, [0.0, 4 * 8.0, 4 * 27.0])


def test_buffer_written_piece_by_piece():
    x = leaf(2.0, 3.0)
    out = torch.zeros(2, 2, dtype=torch.float64)
    out[0] = x * x
    out[1] = x
    assert out.requires_grad
    out.sum().backward()
    assert_close(x.grad, [5.0, 7.0])


def test_overlapping_window_gradient_counts_each_use():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    x.unfold(0, 3, 1).sum().backward()
    assert_close(x.grad, [1.0, 2.0, 2.0, 1.0])
    y = leaf(1.0, 2.0, 3.0)
    y.as_strided((2, 2), (1, 1)).sum().backward()
    assert_close(y.grad, [1.0, 2.0, 1.0])


def test_hooks_on_leaves_and_intermediates():
    x = leaf(1.0, 2.0)
    seen = []
    y = x * 2
    handle = y.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0], [21.0, 21.0]]
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert_close(x.grad, [3.0, 3.0])


def test_retain_grad_and_node_hooks():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    calls = []
    y.grad_fn.register_hook(lambda ins, outs: calls.append((len(ins), outs[0].tolist())))
    (y * y).sum().backward()
    assert_close(y.grad, [6.0, 12.0])
    assert calls == [(2, [6.0, 12.0])]
    assert y.retains_grad and not x.retains_grad


def test_grad_fn_shows_the_graph():
    x = leaf(1.0)
    y = (x * 2).exp()
    assert y.grad_fn.name() == "ExpBackward0"
    mul, number = y.grad_fn.next_functions[0]
    assert (mul.name(), number) == ("MulBackward0", 0)
    assert mul.next_functions[0][0].variable is x and x.grad_fn is None and x.is_leaf


def test_modes():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def inside():
        return (x * 2).requires_grad
    assert not inside()

    @torch.no_grad()
    def steps():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()
    states = []
    for state in steps():
        states += [state, torch.is_grad_enabled()]
    assert states == [False, True, False, True]


def test_inference_tensors_stay_outside_graphs():
    x = leaf(1.0)
    with torch.inference_mode():
        y = x * 2
        assert y.is_inference() and not y.requires_grad
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        x * y
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        y.add_(1)
    assert not (y.clone() * 2).is_inference()


def test_modes_are_per_thread():
    states = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: states.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert states == [True]


def test_detach_shares_memory_and_requires_grad_is_for_floats():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert not d.requires_grad and d.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([1, 2]).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        (x * 2).requires_grad_(False)


def test_long_chains_are_freed_and_run_without_recursion():
    x = leaf(0.5)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert_close(x.grad, 1.0)
    z = x
    for _ in range(100_000):
        z = z.sin()
    del z
    gc.collect()


def test_graph_is_freed_by_reference_counting():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        before = torch.memory_stats()["live"]
        for _ in range(10):
            y = (x.exp().tanh() * x).sum()
            del y
        assert torch.memory_stats()["live"] == before
    finally:
        gc.enable()


def test_backward_inside_backward():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                again.exp().backward(g)
            return again.grad

    x = leaf(0.5, 1.0)
    (Inner.apply(x) * x).sum().backward()
    assert_close(x.grad, [(1 + v) * torch.tensor(v, dtype=torch.float64).exp().item() for v in (0.5, 1.0)])


def test_failed_backward_leaves_the_graph_usable():
    x = leaf(1.0, 2.0)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward(retain_graph=True)
    handle.remove()
    (y * 1).sum().backward()
    assert_close(x.grad, [2.0, 2.0])


def test_anomaly_mode_shows_the_forward_call():
    x = leaf(0.0)
    with torch.autograd.detect_anomaly():
        y = (x * 0).sqrt() * 0
        with pytest.raises(RuntimeError, match=r"(?s)DivBackward0.*nan.*test_autograd\.py"):
            (y / (x * 0).sqrt()).sum().backward()


def test_saved_tensor_hooks():
    x = leaf(1.0, 2.0)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
        y = x.exp()
    y.sum().backward()
    assert len(packed) == 1
    assert_close(x.grad, packed[0])


def test_gradcheck_finds_a_wrong_gradient():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    assert torch.autograd.gradcheck(torch.sin, (leaf(0.3, 0.4),))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Bad.apply, (leaf(0.3, 0.4),))
    assert not torch.autograd.gradcheck(Bad.apply, (leaf(0.3, 0.4),), raise_exception=False)


def test_mixed_dtypes_send_gradients_in_their_own():
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.dtype is torch.float32 and b.grad.dtype is torch.float64


def test_complex_gradients_follow_the_conjugate_convention():
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    (z * z).real.sum().backward()
    assert_close(z.grad, [2 - 4j, 6 + 2j])
    assert torch.autograd.gradcheck(lambda t: t.exp() * t, (z,))


def test_backward_in_threads_with_runs_inside():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                z = torch.ones(3, requires_grad=True)
                (z * z).sum().backward()
            return g * z.grad[0]

    found = {}

    def work(k):
        w = torch.full((100, 100), 0.1 * k, requires_grad=True)
        for _ in range(5):
            w.grad = None
            Inner.apply(w @ w).sum().backward()
        found[k] = w.grad[0, 0].item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: pytest.approx(40 * k, rel=1e-4) for k in range(1, 4)}
