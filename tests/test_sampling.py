"""Sampling at the points of a grid: values by hand, and gradients of the kernel against differences."""
import pytest

import fasttensor as torch
from fasttensor.nn.functional import grid_sample
from helpers import oracle, to_oracle


def test_values_between_pixels_and_outside():
    x = torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
    grid = torch.tensor([[[[0.0, 0.0], [-1.0, -1.0], [0.5, -0.5], [3.0, 0.0]]]])
    assert grid_sample(x, grid, align_corners=True).flatten().tolist() == [1.5, 0.0, 1.25, 0.0]
    assert grid_sample(x, grid, align_corners=False).flatten().tolist() == [1.5, 0.0, 1.0, 0.0]
    assert grid_sample(x, grid, padding_mode="border", align_corners=False).flatten().tolist() == [1.5, 0.0, 1.0, 2.0]
    assert grid_sample(x, grid, padding_mode="reflection", align_corners=True).flatten().tolist() == [1.5, 0.0, 1.25, 1.0]
    assert grid_sample(x, grid, mode="nearest", align_corners=True).flatten().tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("mode, dims", [("bilinear", 2), ("bilinear", 3), ("nearest", 3), ("bicubic", 2)])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients(mode, dims, padding):
    torch.manual_seed(0)
    sizes = (3, 4, 2)[:dims]
    x = torch.randn(2, 2, *sizes, dtype=torch.float64, requires_grad=True)
    grid = (torch.rand(2, *[2] * dims, dims, dtype=torch.float64) * 2.4 - 1.2).requires_grad_()
    inputs = (x, grid) if mode != "nearest" else (x, grid.detach())
    for align in (False, True):
        def f(x, grid, align=align):
            return grid_sample(x, grid, mode, padding, align)
        assert torch.autograd.gradcheck(f, inputs) and torch.autograd.gradgradcheck(f, inputs)


def test_many_channels_and_points_as_pytorch():
    pytorch = oracle()
    torch.manual_seed(1)
    x, grid = torch.randn(2, 7, 9, 11), torch.rand(2, 30, 31, 2) * 3 - 1.5
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            right = pytorch.nn.functional.grid_sample(to_oracle(x), to_oracle(grid), mode, padding, False)
            assert (to_oracle(grid_sample(x, grid, mode, padding, False)) - right).abs().max() < 1e-4
