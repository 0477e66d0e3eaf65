"""repr and print: PyTorch's text, kept as constants and compared live where PyTorch is installed."""

import pytest
from helpers import oracle

import fasttensor as torch

KEPT = [
    ("tensor([1.0, 2.5])", "tensor([1.0000, 2.5000])"),
    ("tensor([[1, -2], [30, 4]])", "tensor([[ 1, -2],\n        [30,  4]])"),
    ("tensor(3.5)", "tensor(3.5000)"),
    ("tensor(7)", "tensor(7)"),
    ("tensor([True, False])", "tensor([ True, False])"),
    ("tensor([1e-8, 1.0])", "tensor([1.0000e-08, 1.0000e+00])"),
    ("tensor([1e10, 1.0])", "tensor([1.0000e+10, 1.0000e+00])"),
    ("tensor([float('nan'), float('inf'), 1.5])", "tensor([   nan,    inf, 1.5000])"),
    ("tensor([1 + 2j, -0.5j])", "tensor([1.+2.0000j, -0.-0.5000j])"),
    ("tensor([])", "tensor([])"),
    ("zeros(2, 0)", "tensor([], size=(2, 0))"),
    ("zeros(3, dtype=torch.float64)", "tensor([0., 0., 0.], dtype=torch.float64)"),
    ("arange(3, dtype=torch.int32)", "tensor([0, 1, 2], dtype=torch.int32)"),
    ("ones(2, dtype=torch.bfloat16)", "tensor([1., 1.], dtype=torch.bfloat16)"),
    ("arange(2000)", "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (
        "arange(2000.0).reshape(2, 1000)",
        "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.9700e+02, 9.9800e+02,\n         9.9900e+02],\n        [1.0000e+03, 1.0010e+03, 1.0020e+03,  ..., 1.9970e+03, 1.9980e+03,\n         1.9990e+03]])",
    ),
    ("zeros(2, requires_grad=True)", "tensor([0., 0.], requires_grad=True)"),
    ("zeros(2, requires_grad=True) * 2", "tensor([0., 0.], grad_fn=<MulBackward0>)"),
    ("ones(2, 2, 2)", "tensor([[[1., 1.],\n         [1., 1.]],\n\n        [[1., 1.],\n         [1., 1.]]])"),
    (
        "arange(40)",
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n        36, 37, 38, 39])",
    ),
    ("tensor([0.0, -0.0])", "tensor([0., -0.])"),
    ("tensor([100000.0, 2.0])", "tensor([1.0000e+05, 2.0000e+00])"),
    ("tensor([[1.5, 2.0], [3.0, 4.0]]).t()", "tensor([[1.5000, 3.0000],\n        [2.0000, 4.0000]])"),
    ("Size([2, 3])", "torch.Size([2, 3])"),
    ("float32", "torch.float32"),
    ("device('cpu')", "device(type='cpu')"),
]


@pytest.mark.parametrize("text, expected", KEPT, ids=[row[0] for row in KEPT])
def test_kept(text, expected):
    assert repr(eval("torch." + text)) == expected


OPTIONS = [
    {},
    dict(precision=2),
    dict(profile="short"),
    dict(sci_mode=True),
    dict(sci_mode=False),
    dict(linewidth=40),
    dict(edgeitems=1, threshold=10),
    dict(edgeitems=0, threshold=10),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_against_pytorch(options):
    other, np = oracle(), pytest.importorskip("numpy")
    rng = np.random.default_rng(0)
    try:
        torch.set_printoptions(profile="default")
        other.set_printoptions(profile="default")
        torch.set_printoptions(**options)
        other.set_printoptions(**options)
        for dtype in ("float16", "float32", "float64", "int64", "uint8", "bool", "complex64"):
            for shape in ((), (0,), (1,), (5, 7), (2, 3, 4), (1001,), (40, 50)):
                for scale in (1, 1e-6, 1e6):
                    with np.errstate(all="ignore"):
                        a = np.asarray(rng.standard_normal(shape) * scale).astype(dtype)
                    assert repr(torch.from_numpy(a)) == repr(other.from_numpy(a))
    finally:
        torch.set_printoptions(profile="default")
        other.set_printoptions(profile="default")


def test_format():
    assert f"{torch.tensor(2.5):.3f}" == "2.500" and f"{torch.tensor([1])}" == "tensor([1])"
    with pytest.raises(TypeError):
        f"{torch.tensor([1.0]):.3f}"


def test_profile_must_be_known():
    with pytest.raises(ValueError, match="profile"):
        torch.set_printoptions(profile="loud")
