"""Reductions over the elements that a mask selects: as the plain ones of these elements, and of all without a mask."""
import pytest

import fasttensor as torch
from fasttensor import masked

X = torch.tensor([[1.0, -2.0, 4.0, 8.0], [3.0, 5.0, -7.0, 2.0]], dtype=torch.float64)
MASK = torch.tensor([[True, False, True, True], [False, True, True, True]])


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp"])
def test_selected_elements(name):
    reduce, plain = getattr(masked, name), getattr(torch, name)
    assert torch.allclose(reduce(X, 1), plain(X, 1))
    rows = torch.stack([plain(row[mask], 0) for row, mask in zip(X, MASK)])
    assert torch.allclose(reduce(X, 1, mask=MASK), rows)
    columns = torch.stack([plain(column[mask], 0) for column, mask in zip(X.T, MASK.T)])
    assert torch.allclose(reduce(X, 0, mask=MASK), columns, equal_nan=True)


def test_values():
    assert masked.sum(X, 1, mask=MASK).tolist() == [13.0, 0.0] and masked.var(X, 1, mask=MASK, unbiased=False)[1].item() == 26.0
    assert masked.norm(X, 2.0, 1, mask=MASK)[0].item() == 9.0
    assert masked.argmax(X, 1, mask=MASK).tolist() == [3, 1] and masked.argmin(X, 1, mask=MASK).tolist() == [0, 2]
    assert masked.cumsum(X, 1, mask=MASK)[0, 3].item() == 13.0
    assert torch.allclose(masked.softmax(X, 1, mask=MASK)[0, [0, 2, 3]], torch.softmax(X[0, [0, 2, 3]], 0))
    with pytest.raises(ValueError, match="unbiased or correction"):
        masked.var(X, 1, True, correction=0)


def test_logsumexp_of_integers_without_a_selected_one():
    x, mask = torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor([[False, True], [False, True]])
    assert masked.logsumexp(x, 0, mask=mask).tolist() == [-127, 4]        # -128 + log(2), towards zero
