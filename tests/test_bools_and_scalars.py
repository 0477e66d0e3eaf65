"""Bools among sizes and dimensions, numpy's numbers beside a dtype, numbers that a dtype does not hold: PyTorch's answers, kept and compared."""
import numpy
import pytest

import fasttensor as torch
from helpers import oracle

# PyTorch looks at the type of a sequence's first item alone: a bool there is refused, one behind it is 0 or 1.
TAKEN = """
t.zeros([2, True]).shape
t.ones(2, True).shape
t.empty([2, False]).shape
t.full([2, True], 1.0).shape
t.rand([2, True]).shape
t.randint(3, (2, True)).shape
t.normal(0.0, 1.0, [2, True]).shape
t.zeros(3).new_zeros(2, True).shape
t.zeros(3).new_full([2, True], 1.0).shape
t.empty_strided([2, True], [1, 1]).shape
t.Tensor(2, True).shape
t.Size([2, True])
t.zeros(2, 3).reshape([6, True]).shape
t.zeros(2, 3).view(6, True).shape
t.zeros(1, 3).expand(2, True, 3).shape
t.zeros(1, 3).repeat(3, True).shape
t.broadcast_to(t.zeros(1, 3), (2, True, 3)).shape
t.zeros(6).unflatten(0, (6, True)).shape
t.zeros(6).as_strided([2, True], [1, 1]).shape
t.zeros(6).as_strided([2, 2], [1, True]).shape
t.zeros(2, 3).permute([0, True]).shape
t.zeros(2, 3).flip([0, True]).shape
t.zeros(2, 3).roll([1, True], [0, 1]).shape
t.zeros(2, 3).rot90(1, [0, True]).shape
t.zeros(2, 3).squeeze([0, True]).shape
t.zeros(2, 3).split([1, True])[1].shape
t.zeros(2, 3).movedim([0, 1], [1, True - 1]).shape
t.zeros(2, 3).sum([0, True]).shape
t.zeros(2, 3).mean([0, True]).shape
t.zeros(2, 3).amax([0, True]).shape
t.zeros(2, 3).var([0, True]).shape
t.zeros(2, 3).logsumexp([0, True]).shape
t.zeros(2, 3).count_nonzero([0, True]).shape
t.zeros(2, 3).any([0, True]).shape
t.fft.fftn(t.ones(2, 4), [2, True]).shape
t.fft.fftn(t.ones(2, 4), dim=[0, True]).shape
t.nn.functional.pad(t.zeros(2, 3), [1, True]).shape
t.nn.functional.max_pool2d(t.zeros(1, 4, 4), [1, True]).shape
t.nn.functional.conv2d(t.zeros(1, 1, 4, 4), t.zeros(1, 1, 2, 2), stride=[1, True]).shape
t.nn.Linear(True, 2).weight.shape
t.nn.Conv2d(1, 2, True).weight.shape
t.nn.Unflatten(0, [2, True])(t.zeros(2)).shape
""".strip().splitlines()
REFUSED = """
t.zeros([True, 2])
t.zeros(True)
t.full((True,), 1.0)
t.rand([True])
t.randint(True, (2,))
t.randint(True, 3, (2,))
t.randperm(True)
t.empty_strided([2, 2], [True, 1])
t.zeros(2, 3).reshape(True, 6)
t.zeros(1, 3).expand(True, 3)
t.zeros(1, 3).repeat(True, 3)
t.tile(t.zeros(1, 3), (True, 2))
t.zeros(6).resize_([True, 2])
t.zeros(6).resize_(True)
t.zeros(6).as_strided([True, 2], [1, 1])
t.zeros(2, 3).permute(True, 0)
t.zeros(2, 3).transpose(0, True)
t.zeros(2, 3).swapaxes(0, True)
t.zeros(2, 3).movedim([0, 1], [True, 0])
t.zeros(2, 3).flip(True)
t.zeros(2, 3).roll(True)
t.zeros(2, 3).roll(1, True)
t.zeros(2, 3).split(True)
t.zeros(2, 3).squeeze(True)
t.zeros(2, 3).select(True, 0)
t.zeros(2, 3).flatten(0, True)
t.zeros(2, 3).size(True)
t.zeros(2, 3).stride(True)
t.zeros(2, 3).unfold(True, 1, 1)
t.zeros(2, 3).sum(dim=True)
t.zeros(2, 3).repeat_interleave(True)
t.fft.fftfreq(True)
t.hann_window(True)
t.histc(t.zeros(3), True)
t.multinomial(t.ones(3), True)
t.vander(t.ones(3), True)
t.nn.functional.pad(t.zeros(2, 3), [True, 1])
t.nn.functional.max_pool2d(t.zeros(1, 4, 5), True)
t.nn.functional.avg_pool2d(t.zeros(1, 4, 5), 2, True)
t.nn.functional.adaptive_avg_pool2d(t.zeros(1, 4, 5), True)
t.nn.functional.conv2d(t.zeros(1, 1, 4, 5), t.zeros(1, 1, 2, 2), padding=True)
t.nn.functional.conv_transpose2d(t.zeros(1, 1, 4, 5), t.zeros(1, 1, 2, 2), stride=True)
t.nn.functional.interpolate(t.zeros(1, 1, 4, 4), size=True)
t.nn.functional.layer_norm(t.zeros(2, 1), [True])
t.tensor(np.float32(1), dtype=t.bool)
t.tensor([np.float16(1), 2], dtype=t.bool)
t.as_tensor(np.complex64(1), dtype=t.bool)
t.tensor(np.float32(1.5), dtype=t.int32)
""".strip().splitlines()
VALUES = {
    "t.tensor(np.float64(0.5), dtype=t.bool)": True,
    "t.tensor(np.int32(2), dtype=t.bool)": True,
    "t.tensor(np.bool_(True), dtype=t.float32)": 1.0,
    "t.asarray(np.float32(1.5), dtype=t.int32)": 1,
    "t.asarray(np.float32(1.5), dtype=t.bool)": True,
    "t.linspace(-5, 3, 3, dtype=t.uint8)": [251, 127, 3],
    "t.linspace(1e6, 0, 1, dtype=t.float16)": [float("inf")],
    "t.lerp(t.ones(2, dtype=t.float16), t.ones(2, dtype=t.float16), 1e6)": [1.0, 1.0],
    "t.tensor([1.0]).half().lerp_(t.tensor([3.0]).half(), 0.3337)": [1.6669921875],
}
BEYOND = """
t.linspace(0, 1e6, 3, dtype=t.float16)
t.linspace(0, 1e39, 3)
t.linspace(0, 1e39, 3, dtype=t.bfloat16)
t.linspace(0, 300, 3, dtype=t.uint8)
t.linspace(-300, 3, 3, dtype=t.uint8)
t.linspace(0, 300, 3, dtype=t.int8)
t.linspace(0, float("nan"), 3, dtype=t.int32)
t.logspace(0, 1e6, 3, dtype=t.float16)
t.logspace(0, 1e39, 3)
t.nn.functional.threshold(t.ones(2, dtype=t.float16), 0.0, 1e6)
t.nn.functional.threshold(t.ones(2), 0.0, 1e39)
t.histc(t.ones(2), 3, 0, 1e39)
t.histc(t.ones(2, dtype=t.float16), 3, 0, 1e6)
""".strip().splitlines()


def run(text, t):
    return eval(text, {"t": t, "np": numpy})


@pytest.mark.parametrize("text", TAKEN)
def test_bools_behind_the_first_item_are_numbers(text):
    shape = run(text, torch)
    assert all(type(n) is int for n in shape)
    assert list(shape) == list(run(text, oracle()))


@pytest.mark.parametrize("text", REFUSED)
def test_other_bools_are_refused(text):
    with pytest.raises(TypeError):
        run(text, torch)
    with pytest.raises(TypeError):
        run(text, oracle())


@pytest.mark.parametrize("text", VALUES)
def test_values_of_numbers(text):
    assert run(text, torch).tolist() == pytest.approx(VALUES[text], rel=1e-7)
    assert run(text, oracle()).tolist() == run(text, torch).tolist()


@pytest.mark.parametrize("text", BEYOND)
def test_numbers_that_the_dtype_does_not_hold(text):
    for t in (torch, oracle()):
        with pytest.raises(RuntimeError, match="without overflow"):
            run(text, t)


UNORDERED = {
    "t.topk(t.ones(3) > 0, 1)": RuntimeError, "t.kthvalue(t.ones(3) > 0, 1)": NotImplementedError, "t.argmax(t.ones(3) > 0)": RuntimeError,
    "t.argmin(t.ones(3) > 0, 0)": RuntimeError, "t.median(t.ones(3) > 0)": NotImplementedError, "t.median(t.ones(3) > 0, 0)": NotImplementedError,
    "t.nanmedian(t.ones(3) > 0)": NotImplementedError, "t.bincount(t.ones(3) > 0)": NotImplementedError, "t.trapezoid(t.ones(3) > 0)": RuntimeError,
    "t.kthvalue(t.ones(3) * 1j, 1)": NotImplementedError, "t.argmax(t.ones(3) * 1j)": RuntimeError, "t.median(t.ones(3) * 1j)": NotImplementedError,
}


@pytest.mark.parametrize("text", UNORDERED)
def test_bools_and_complex_numbers_that_pytorch_refuses(text):
    for t in (torch, oracle()):
        with pytest.raises(UNORDERED[text]):
            run(text, t)
