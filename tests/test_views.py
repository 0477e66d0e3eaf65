"""Views: shapes, strides, shared memory, errors, and gradients of each."""
import pytest

import fasttensor as torch
from helpers import assert_close, oracle, to_oracle

VIEWS = {
    "view": lambda x: x.view(4, 6), "reshape": lambda x: x.transpose(0, 1).reshape(-1), "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, -1), "mT": lambda x: x.mT, "expand": lambda x: x[:, :1].expand(2, 5, 4),
    "squeeze": lambda x: x[:1].squeeze(0), "unsqueeze": lambda x: x.unsqueeze(1), "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, -1)), "narrow": lambda x: x.narrow(1, 1, 2), "select": lambda x: x.select(1, -1),
    "slice": lambda x: x[:, ::2, 1:], "ints": lambda x: x[1, 2], "none": lambda x: x[:, None, ..., 0], "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1), "as_strided": lambda x: x.as_strided((2, 3), (4, 2), 1), "movedim": lambda x: x.movedim(0, 2),
    "chunk": lambda x: x.chunk(2, 1)[0], "split": lambda x: x.split([1, 3], -1)[1], "unbind": lambda x: x.unbind(1)[2],
    "T": lambda x: x[0].T, "contiguous": lambda x: x.mT.contiguous(), "view_as": lambda x: x.view_as(x.reshape(6, 4)),
}


@pytest.fixture
def cube():
    return torch.arange(24, dtype=torch.float64).reshape(2, 3, 4)


@pytest.mark.parametrize("name", VIEWS)
def test_against_pytorch(name, cube):
    oracle()
    mine, theirs = VIEWS[name](cube), VIEWS[name](to_oracle(cube))
    assert_close(mine, theirs)
    assert tuple(mine.stride()) == tuple(theirs.stride())
    assert mine.storage_offset() == theirs.storage_offset()


@pytest.mark.parametrize("name", VIEWS)
def test_gradients(name, cube):
    x = (cube / 10).clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda t: VIEWS[name](t).sin(), (x,))
    assert torch.autograd.gradgradcheck(lambda t: VIEWS[name](t) ** 2, (x,))


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("reshape", "contiguous", "view_as")])
def test_share_memory_and_count_writes(name, cube):
    x = cube.clone()
    view = VIEWS[name](x)
    version = x._version
    if name != "expand" and name != "unfold":
        view.zero_()
        assert_close(VIEWS[name](x), torch.zeros_like(view))
        assert x._version > version


def test_view_refuses_what_needs_a_copy(cube):
    with pytest.raises(RuntimeError, match=r"view size.*float64\[2, 4, 3\].*reshape"):
        cube.mT.view(-1)
    with pytest.raises(RuntimeError, match="invalid for input of size 24"):
        cube.view(5, 5)
    with pytest.raises(RuntimeError, match="only one dimension"):
        cube.view(-1, -1)


def test_view_of_strided_runs(cube):
    part = cube[:, :, :2]
    assert part.view(6, 2).data_ptr() == part.data_ptr()
    assert_close(part.view(6, 2), cube.reshape(6, 4)[:, :2].clone())


def test_index_errors(cube):
    with pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"):
        cube[2]
    with pytest.raises(IndexError, match="too many indices"):
        cube[0, 0, 0, 0]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        cube[::-1]
    with pytest.raises(IndexError, match="single ellipsis"):
        cube[..., ..., 0]
    assert cube[..., 0, ...].shape == (2, 3)         # where nothing follows, another one is PyTorch's custom
    with pytest.raises(IndexError, match="0-dim"):
        torch.tensor(1.0)[0]
    with pytest.raises(IndexError, match=r"Dimension out of range.*\[-3, 2\]"):
        cube.select(3, 0)


def test_as_strided_stays_inside_the_storage():
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        torch.zeros(4).as_strided((3,), (2,))
    with pytest.raises(RuntimeError, match="Negative"):
        torch.zeros(4).as_strided((2,), (-1,), 3)


def test_expanded_tensors_are_not_written():
    x = torch.zeros(1, 3).expand(4, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.copy_(torch.ones(4, 3))


def test_copy_between_overlapping_views():
    x = torch.arange(6.0)
    x[1::2].copy_(x[:3])
    assert x.tolist() == [0.0, 0.0, 2.0, 1.0, 4.0, 2.0]
    y = torch.arange(4.0)
    y[1::2].add_(y[:2])
    assert y.tolist() == [0.0, 1.0, 2.0, 4.0]


def test_many_dimensions():
    x = torch.ones([1] * 20)
    assert x.ndim == 20 and (x + x).shape == x.shape
    assert x.permute(*reversed(range(20))).sum().item() == 1
    with pytest.raises(RuntimeError, match="at most 64"):
        torch.ones([1] * 65)


def test_memory_formats():
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    y = x.contiguous(memory_format=torch.channels_last)
    assert y.stride() == (24, 1, 8, 2) and y.is_contiguous(memory_format=torch.channels_last)
    assert_close(y, x)
    assert (y + y).stride() == y.stride()
    assert y.contiguous().is_contiguous()


def test_reading_bytes_as_another_dtype():
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == [0x3F800000, -0x40000000]
    assert x.view(torch.uint8).shape == (8,)
    assert x.view(torch.int64).shape == (1,)
    with pytest.raises(RuntimeError, match="divisible"):
        torch.zeros(3).view(torch.float64)


def test_views_made_without_gradients():
    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        assert x[:2].numpy().tolist() == [1.0, 1.0]
        of_leaf, y = x[:2], x.detach()
    assert of_leaf.requires_grad and of_leaf.is_leaf and of_leaf.grad_fn is None and not y.requires_grad
    y = x * 2
    with torch.no_grad():
        view = y[:2]
        view += 1
    assert view.requires_grad and view.grad_fn is None and not (view * 3).requires_grad
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.add_(1)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view * 2


def test_views_of_a_detached_base_keep_their_history():
    x = torch.ones(4, requires_grad=True)
    base = x * 2
    view = base[:2]
    base.detach_()
    assert not base.requires_grad and view.grad_fn.name() == "SliceBackward0"
    view.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="detach views"):
        torch.zeros(2)[:1].detach_()


def test_gradients_of_parts_of_an_expanded_tensor():
    # a part's gradient belongs to its own indices, although others mean the same memory
    cuts = {
        "row": (lambda w: w[0], [2.0, 4.0, 6.0]), "slice": (lambda w: w[:1], [2.0, 4.0, 6.0]), "column": (lambda w: w[:, 0], [4.0, 0.0, 0.0]),
        "select": (lambda w: w.select(0, 1), [2.0, 4.0, 6.0]), "narrow": (lambda w: w.narrow(0, 0, 1), [2.0, 4.0, 6.0]),
        "diagonal": (lambda w: w.diagonal(), [2.0, 4.0, 0.0]), "windows": (lambda w: w.unfold(0, 2, 1), [4.0, 8.0, 12.0]),
        "strides": (lambda w: w.as_strided((2, 2), (0, 1)), [4.0, 8.0, 0.0]), "none": (lambda w: w[None, 1:, 1], [0.0, 4.0, 0.0]),
    }
    for name, (cut, expected) in cuts.items():
        v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = cut(v.expand(2, 3))
        first, = torch.autograd.grad((y * y).sum(), v, create_graph=True)
        assert first.tolist() == expected, name
        second, = torch.autograd.grad((first ** 2).sum(), v)
        assert second.tolist() == [2 * e * e / x for e, x in zip(expected, v.tolist())], name
    v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert torch.autograd.grad(v.unfold(0, 2, 1)[1].sum(), v)[0].tolist() == [0.0, 1.0, 1.0]
    w = v.expand(2, 3)
    assert torch.autograd.grad(w[0].sum(), w)[0].tolist() == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_view_copy_of_any_strides():
    x = torch.arange(4.0).view(1, 2, 2).expand(3, 2, 2)
    assert torch.view_copy(x, (6, 2))[-1].tolist() == [2.0, 3.0] and torch.view_copy(torch.ones(2), torch.int32).dtype is torch.int32


def test_broadcast_to_takes_a_size_or_several_numbers():
    x = torch.arange(3)
    for y in (x.broadcast_to(2, 3), x.broadcast_to((2, 3)), x.broadcast_to(size=(2, 3)), torch.broadcast_to(x, (2, 3))):
        assert y.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_parts_of_a_tensor_may_be_written():
    def written(parts):
        x = torch.ones(2, 2, requires_grad=True)
        y = x * 1
        parts(y)[0].mul_(3)
        (y * y).sum().backward()
        return x.grad.tolist()
    rows = [[18, 18], [2, 2]]
    assert written(torch.unbind) == written(lambda y: y.split(1)) == written(lambda y: y.chunk(2)) == written(list) == rows


def test_converted_to_the_dtype_written_to():
    x = torch.zeros(3, dtype=torch.float64)
    x[:2] = torch.tensor([1.5, 2.5])
    x[x == 0] = torch.tensor(3)
    assert x.tolist() == [1.5, 2.5, 3] and x.dtype == torch.float64
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        x[[0, 1]] = torch.tensor([1, 2])


def test_nodes_of_copied_views():
    """A copied view is named as PyTorch names it; of detach_copy there is no derivative, as there."""
    pt, names = oracle(), {}
    for t in (torch, pt):
        x = t.ones(2, 3, requires_grad=True)
        made = [t.alias_copy(x), t.permute_copy(x, (1, 0)), t.t_copy(x), t.expand_copy(x, (2, 3)), t.select_copy(x, 0, 0), t.unbind_copy(x)[1],
                t.split_copy(x, 1)[0], t.narrow_copy(x, 0, 0, 1), t.detach_copy(x), t.squeeze_copy(x), t.slice_copy(x, 0), t.unsqueeze_copy(x, 0)]
        names[t.__name__] = [(y.grad_fn.name(), type(y.grad_fn).__name__) for y in made]
        with pytest.raises(RuntimeError, match="derivative for aten::detach_copy is not implemented"):
            t.detach_copy(x).sum().backward()
        t.t_copy(x)[0, 1].backward()
        assert x.grad.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert names["fasttensor"] == names["torch"]
