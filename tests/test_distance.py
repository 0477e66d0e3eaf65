"""cdist and pdist: values, gradients, NaN, sizes about the kernel's blocks."""
import pytest

import fasttensor as torch
from fasttensor.nn.functional import pdist

INF = float("inf")
A = torch.tensor([[0.0, 3.0, 1.0], [1.0, -1.0, 1.0]], dtype=torch.float64)
B = torch.tensor([[0.0, 0.0, 1.0], [4.0, 3.0, 1.0], [1.0, -1.0, 1.0]], dtype=torch.float64)


@pytest.mark.parametrize("p, right", [
    (0, [[1, 1, 2], [2, 2, 0]]), (1, [[3, 4, 5], [2, 7, 0]]), (2, [[3, 4, 17 ** 0.5], [2 ** 0.5, 5, 0]]),
    (3, [[3, 4, 65 ** (1 / 3)], [2 ** (1 / 3), 91 ** (1 / 3), 0]]), (INF, [[3, 4, 4], [1, 4, 0]])])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_cdist(p, right, dtype):
    got = torch.cdist(A.to(dtype), B.to(dtype), p)
    assert torch.allclose(got, torch.tensor(right, dtype=dtype), rtol=1e-6, atol=0)
    stacked = torch.cdist(A.to(dtype).expand(2, 2, 3), B.to(dtype), p)
    assert stacked.shape == (2, 2, 3) and torch.equal(stacked[1], got)


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, INF])
@pytest.mark.parametrize("n, m", [(5, 3), (33, 1), (65, 17), (130, 300)])
def test_distances_and_gradients_are_those_of_the_differences(p, n, m):
    torch.manual_seed(0)
    a, b = torch.randn(n, m, dtype=torch.float64).requires_grad_(), torch.randn(n + 7, m, dtype=torch.float64).requires_grad_()
    got = torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")
    plain = torch.norm(a.unsqueeze(1) - b, p, -1)
    assert torch.allclose(got, plain)
    g = torch.randn(n, n + 7, dtype=torch.float64)
    for mine, other in zip(torch.autograd.grad(got, (a, b), g), torch.autograd.grad(plain, (a, b), g)):
        assert torch.allclose(mine, other)
    first, second = torch.triu_indices(n, n, 1)
    got, plain = pdist(a, p), torch.norm(a[first] - a[second], p, -1)
    assert torch.allclose(got, plain)
    g = torch.randn(len(first), dtype=torch.float64)
    assert torch.allclose(torch.autograd.grad(got, a, g)[0], torch.autograd.grad(plain, a, g)[0])


@pytest.mark.parametrize("p", [1, 2, 2.5, INF])
def test_second_gradients(p):
    torch.manual_seed(1)
    a, b = (torch.randn(2, n, 3, dtype=torch.float64).requires_grad_() for n in (4, 3))
    mode = "donot_use_mm_for_euclid_dist"
    assert torch.autograd.gradgradcheck(lambda a, b: torch.cdist(a, b, p, mode), (a, b))
    assert torch.autograd.gradgradcheck(lambda x: pdist(x, p), (a[0].detach().requires_grad_(),))


@pytest.mark.parametrize("p", [0, 1, 2, 3, INF])
def test_nan_equal_rows_and_nothing(p):
    x = torch.tensor([[1.0, float("nan")], [1.0, 2.0], [1.0, 2.0]])
    y = torch.cdist(x, x, p)
    assert y.isnan().tolist() == [[True] * 3, [True, False, False], [True, False, False]] and y[1, 2] == 0
    x = torch.ones(3, 2, requires_grad=True)
    torch.cdist(x, x.detach(), p).sum().backward()
    pdist(x, p).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]] * 3
    assert torch.cdist(torch.zeros(2, 0), torch.zeros(3, 0), p).tolist() == [[0.0] * 3] * 2
    assert pdist(torch.zeros(1, 4), p).shape == (0,) and torch.cdist(torch.zeros(0, 4), torch.zeros(3, 4), p).shape == (0, 3)


def test_products_of_rows_give_euclidean_distances():
    x = torch.arange(120, dtype=torch.float32).reshape(40, 3)
    y = torch.cdist(x, x)
    assert torch.allclose(y, torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist"), atol=0.05)
    assert y[0, 39].item() == pytest.approx(117 * 3 ** 0.5)


def test_ties_of_the_largest_difference_each_get_the_whole_gradient():
    x = torch.tensor([[0.0, 3.0, 1.0]], requires_grad=True)
    torch.cdist(x, torch.zeros(1, 3) + torch.tensor([3.0, 0.0, 0.0]), float("inf")).backward()
    assert x.grad.tolist() == [[-1, 1, 0]]
