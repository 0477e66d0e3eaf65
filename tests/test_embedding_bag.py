"""embedding_bag: values and gradients of every mode, what is left out, and what is refused."""
import pytest

import fasttensor as ft

bag = ft.nn.functional.embedding_bag
INDEX, OFFSETS = ft.tensor([0, 2, 2, 1, 3]), ft.tensor([0, 3, 3])


def table(dtype=ft.float32, width=37):
    # wider than one and two blocks of columns, and not a multiple of them
    return (ft.arange(4).unsqueeze(1) * 2 + ft.arange(width) % 3).to(dtype).requires_grad_()


@pytest.mark.parametrize("dtype", [ft.float16, ft.bfloat16, ft.float32, ft.float64])
@pytest.mark.parametrize("mode, sums, grads", [("sum", [8, 0, 8], [1, 1, 2, 1]), ("mean", [8 / 3, 0, 4], [1 / 3, 0.5, 2 / 3, 0.5]),
                                               ("max", [4, 0, 6], [0, 0, 1, 1])])
def test_values_and_gradients(mode, sums, grads, dtype):
    w = table(dtype)
    y = bag(INDEX, w, OFFSETS, mode=mode)
    y.sum().backward()
    assert y.dtype is dtype
    assert y[:, 0].tolist() == pytest.approx(sums, rel=4e-3) and y[:, -1].tolist() == y[:, 0].tolist()
    assert w.grad[:, 36].tolist() == pytest.approx(grads, rel=4e-3)


def test_weights_padding_and_last_offset():
    w, p = table(), ft.tensor([1.0, 10.0, 3.0, 2.0, 100.0]).requires_grad_()
    y = bag(INDEX, w, ft.tensor([0, 2, 4], dtype=ft.int32), mode="sum", per_sample_weights=p, include_last_offset=True, padding_idx=1)
    assert y[:, 0].tolist() == [40.0, 12.0]
    y[:, 0].sum().backward()
    assert w.grad[:, 0].tolist() == [1.0, 0.0, 13.0, 0.0] and p.grad.tolist() == [0.0, 4.0, 4.0, 0.0, 0.0]
    assert bag(INDEX[:4].view(2, 2), w, mode="mean", padding_idx=1)[:, 0].tolist() == [2.0, 4.0]


def test_equal_maxima_send_the_gradient_to_the_first():
    w = ft.ones(3, 2).requires_grad_()
    bag(ft.tensor([[2, 0, 0]]), w, mode="max").sum().backward()
    assert w.grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_derivatives_of_derivatives(mode):
    w, p = ft.randn(5, 3, dtype=ft.float64).requires_grad_(), ft.rand(6, dtype=ft.float64).requires_grad_(mode == "sum")

    def run(w, p):
        return bag(ft.tensor([0, 2, 2, 4, 1, 0]), w, ft.tensor([0, 3, 3]), mode=mode, padding_idx=1, per_sample_weights=p if mode == "sum" else None)
    assert ft.autograd.gradcheck(run, (w, p)) and ft.autograd.gradgradcheck(run, (w, p))


@pytest.mark.parametrize("index, offsets, message", [
    ([0, 4], [0], "takes value 4"), ([-1, 0], [0], "takes value -1"), ([0, 1], [1], r"offsets\[0\] has to be 0"),
    ([0, 1], [0, 2, 1], "must not decrease"), ([0, 1], [0, 3], "must not decrease nor exceed")])
def test_refused(index, offsets, message):
    with pytest.raises(RuntimeError, match=message):
        bag(ft.tensor(index), table(), ft.tensor(offsets))


def test_shapes_without_values():
    meta = bag(INDEX.to("meta"), table().detach().to("meta"), OFFSETS.to("meta"), mode="max")
    assert meta.is_meta and meta.shape == (3, 37)
    assert bag(ft.zeros(2, 0, dtype=ft.int64), table()).tolist() == [[0.0] * 37] * 2
