"""Indices outside of what they point into are refused by every operation that takes them, whatever their value."""
import pytest

import fasttensor as torch
from fasttensor.nn import functional as F

I = torch.tensor
X = torch.arange(6.0).reshape(2, 3)
CALLS = {
    "max_unpool1d": lambda k: F.max_unpool1d(torch.ones(1, 1), I([[k]]), 2), "max_unpool2d": lambda k: F.max_unpool2d(torch.ones(1, 1, 1), I([[[k]]]), 2),
    "max_unpool3d": lambda k: F.max_unpool3d(torch.ones(1, 1, 1, 1), I([[[[k]]]]), 2),
    "max_pool2d_with_indices_backward": lambda k: torch.ops.aten.max_pool2d_with_indices_backward(
        torch.ones(1, 1, 1), torch.ones(1, 2, 2), [2, 2], [2, 2], [0, 0], [1, 1], False, I([[[k]]])),
    "gather": lambda k: X.gather(0, I([[k]])), "scatter": lambda k: X.scatter(0, I([[k]]), 1.0),
    "scatter_add": lambda k: X.scatter_add(0, I([[k]]), torch.ones(1, 1)),
    "scatter_reduce": lambda k: X.scatter_reduce(0, I([[k]]), torch.ones(1, 1), "sum"), "index_select": lambda k: X.index_select(0, I([k])),
    "index_add": lambda k: X.index_add(0, I([k]), torch.ones(1, 3)), "index_copy": lambda k: X.index_copy(0, I([k]), torch.ones(1, 3)),
    "index_reduce": lambda k: X.index_reduce(0, I([k]), torch.ones(1, 3), "prod"), "embedding": lambda k: F.embedding(I([k]), X),
    "embedding_bag": lambda k: F.embedding_bag(I([[k]]), X), "embedding_bag max": lambda k: F.embedding_bag(I([[k]]), X, mode="max"),
    "embedding_bag weights": lambda k: F.embedding_bag(I([[k]]), X, mode="sum", per_sample_weights=torch.ones(1, 1)),
    "cross_entropy": lambda k: F.cross_entropy(X, I([k, 0])), "nll_loss": lambda k: F.nll_loss(X, I([k, 0])),
    "nll_loss image": lambda k: F.nll_loss(X[:, :, None], I([[k], [0]])), "multi_margin_loss": lambda k: F.multi_margin_loss(X, I([k, 0])),
    "one_hot": lambda k: F.one_hot(I([k]), 2), "ctc_loss": lambda k: F.ctc_loss(torch.zeros(3, 1, 4), I([[k]]), I([3]), I([1])),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("index", [-1, -4, -2 ** 40, 9, 2 ** 40])
def test_refused(name, index):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        CALLS[name](index)


@pytest.mark.parametrize("name", CALLS)
def test_taken(name):
    CALLS[name](1)
