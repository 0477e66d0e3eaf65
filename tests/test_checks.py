"""What the compiled checks of arguments let through and refuse."""
import pytest

import fasttensor as torch

x = torch.tensor([3.0, 1.0, 2.0])


@pytest.mark.parametrize("call, error, text", [
    (lambda: x.index_select(10**30, torch.tensor([0])), IndexError, "out of range"),
    (lambda: x.index_select(True, torch.tensor([0])), TypeError, "'dim' must be int, not bool"),
    (lambda: x.index_select(0, torch.tensor([0.5])), RuntimeError, "Expected dtype int32/int64"),
    (lambda: x.index_select(0, torch.tensor([[0]])), IndexError, "supposed to be a vector"),
    (lambda: torch.tensor(1.0).index_select(0, torch.tensor([0, 0])), RuntimeError, "only 1 value, got 2"),
    (lambda: x.topk(4), RuntimeError, "k = 4, size 3 along dimension 0"),
    (lambda: x.topk(1.5), TypeError, "'k' .position 2. must be int, not float"),
    (lambda: x.max(1), IndexError, r"range of \[-1, 0\], but got 1"),
    (lambda: torch.softmax([1.0], 0), TypeError, "must be Tensor, not list"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_taken():
    class Two:
        def __index__(self):
            return 2

    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    assert torch.topk(x, Two(), -1, out=(values, indices)).values is values
    assert values.tolist() == [3.0, 2.0] and indices.tolist() == [0, 2]
    assert torch.index_select(x, 0, torch.tensor(1), out=torch.empty(1)).tolist() == [1.0]
    assert torch.tensor(5.0).topk(1, -1).indices.tolist() == 0 and x[[2, -1]].tolist() == [2.0, 2.0]
