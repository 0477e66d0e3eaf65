"""What tensors over one memory know of each other: storages, `set_`, outputs that are operands, elements that share memory."""
import numpy
import pytest

import fasttensor as torch

WRITTEN_OVER = {
    "index_add": lambda x, out: torch.index_add(x, 0, torch.tensor([0, 2]), torch.ones(2), out=out),
    "index_copy": lambda x, out: torch.index_copy(x, 0, torch.tensor([0, 2]), torch.ones(2), out=out),
    "index_reduce": lambda x, out: torch.index_reduce(x, 0, torch.tensor([0, 2]), torch.full((2,), 3.0), "prod", out=out),
    "scatter": lambda x, out: torch.scatter(x, 0, torch.tensor([0, 2]), 7.0, out=out),
    "scatter_add": lambda x, out: torch.scatter_add(x, 0, torch.tensor([0, 2]), torch.ones(2), out=out),
    "scatter_reduce": lambda x, out: torch.scatter_reduce(x, 0, torch.tensor([0, 2]), torch.ones(2), "mean", out=out),
}


@pytest.mark.parametrize("name", WRITTEN_OVER)
def test_outputs_may_be_what_is_written_over(name):
    x = torch.arange(4.0)
    want = WRITTEN_OVER[name](x, torch.empty(0))
    assert WRITTEN_OVER[name](x, x) is x and x.tolist() == want.tolist()
    part = torch.arange(5.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        WRITTEN_OVER[name](part[1:], part[:4])


def test_outputs_without_elements_take_the_strides_of_results():
    x = torch.arange(6.0).view(2, 3).t()
    places = torch.empty(0, dtype=torch.int64)
    for out in (torch.add(x, x, out=torch.empty(0)), torch.clamp(x, 0, 1, out=torch.empty(0)), torch.sort(x, 1, out=(torch.empty(0), places))[0]):
        assert out.shape == (3, 2) and out.stride() == (1, 3)
    assert torch.exp(x, out=torch.empty(0)).stride() == (1, 3) and torch.exp(x, out=torch.empty(3, 2)).stride() == (2, 1)
    assert torch.equal(torch.exp(x, out=torch.empty(0)), x.exp())


def test_same_memory_is_known():
    x = torch.zeros(2, 3)
    empty = torch.zeros(0)
    assert x.is_set_to(x[:]) and not x.is_set_to(x.t()) and not x.is_set_to(x.clone()) and empty.is_set_to(empty) and not x[1:].is_set_to(x[:1])
    y = torch.empty(0).set_(x)
    assert y.is_set_to(x) and y.untyped_storage()._cdata == x.untyped_storage()._cdata
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.set_(torch.zeros(2))


def test_elements_that_share_memory():
    x = torch.arange(6.0)
    kinds = [torch._debug_has_internal_overlap(t) for t in (x, x.view(2, 3).t(), x.expand(2, 6), x.as_strided((3, 2), (1, 1)), x.view(2, 3)[:, ::2])]
    assert kinds == [0, 0, 1, 2, 2]
    with pytest.raises(TypeError, match="must be Tensor"):
        torch._debug_has_internal_overlap(3)


def test_resize_as_keeps_an_order_that_is_asked_for():
    images = torch.zeros(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    assert torch.arange(24.0).resize_as_(images, memory_format=torch.preserve_format).stride() == images.stride()
    assert torch.arange(24.0).resize_as_(images).stride() == (24, 12, 4, 1)


def test_attention_lies_as_its_operands_let_it():
    q = torch.randn(2, 3, 5, 8)
    assert torch.nn.functional.scaled_dot_product_attention(q, q, q).is_contiguous()
    heads = torch.randn(2, 5, 3, 8).transpose(1, 2)
    assert torch.nn.functional.scaled_dot_product_attention(heads, q, q).transpose(1, 2).is_contiguous()
    assert torch.nn.functional.scaled_dot_product_attention(q[0], q[0], q[0]).is_contiguous()
    wide = torch.randn(2, 3, 5, 16)[..., ::2]
    assert torch.nn.functional.scaled_dot_product_attention(wide, wide, wide).is_contiguous()


@pytest.mark.parametrize("name", ["max", "min", "round", "baddbmm", "bernoulli", "normal"])
def test_outputs_apart_from_what_is_read(name):
    memory = torch.arange(9.0) / 16
    x, out = memory[1:].view(2, 2, 2), memory[:8].view(2, 2, 2)
    calls = {"max": lambda o: torch.max(x, x, out=o), "min": lambda o: torch.min(x, x, out=o), "round": lambda o: torch.round(x, decimals=1, out=o),
             "baddbmm": lambda o: torch.baddbmm(x, x * 1, x * 1, out=o), "bernoulli": lambda o: torch.bernoulli(x, out=o),
             "normal": lambda o: torch.normal(x, 1.0, out=o)}
    with pytest.raises(RuntimeError, match="single memory location"):
        calls[name](out)
    assert memory.tolist() == [v / 16 for v in range(9)]
    assert calls[name](x) is x


def test_storages_grow_and_shrink():
    x = torch.arange(6.0)
    part, other, array = x[2:], x.data, x.numpy()
    part.resize_(3, 2)
    assert part.data_ptr() == x.data_ptr() + 8 == other.data_ptr() + 8 and part.storage_offset() == 2
    part.fill_(7)
    assert x.tolist() == other.tolist() == [0, 1, 7, 7, 7, 7] == array.tolist()
    store = x.untyped_storage()
    assert store.nbytes() == other.untyped_storage().nbytes() == 32
    part.resize_(100, 2).fill_(8)
    assert x.tolist() == other.tolist() == [0, 1, 8, 8, 8, 8] and array.tolist() == [0, 1, 7, 7, 7, 7] and other.untyped_storage().nbytes() == 808
    assert store.resize_(100) is store and x[0] == 0 and len(store) == 100 and store.resizable()
    store.resize_(0)
    assert store.nbytes() == 0
    store.resize_(24)
    assert x.fill_(3).tolist() == [3] * 6
    shown = torch.zeros(3).set_(store, 1, (6,), (2,))
    assert store.nbytes() == 48 and shown[0] == 3
    w = torch.ones(3, requires_grad=True)
    z = torch.ones(3)
    total = (w * z).sum()
    z.untyped_storage().resize_(4000)       # saved tensors move too
    total.backward()
    assert w.grad.tolist() == [1, 1, 1]
    meta = torch.ones(3, device="meta")
    meta.untyped_storage().resize_(400)
    assert meta.untyped_storage().nbytes() == 400
    grown = torch.FloatStorage([1, 2])
    grown.resize_(5)
    assert len(grown) == 5 and grown.tolist()[:2] == [1, 2]
    view = memoryview(x)
    x.resize_(10000)
    assert view[0] == 3
    for call in (lambda: torch.from_numpy(numpy.ones(3)).untyped_storage().resize_(100), lambda: torch.UntypedStorage(3).resize_(1.5),
                 lambda: torch.UntypedStorage(3).resize_(-1)):
        with pytest.raises(RuntimeError, match="resiz"):
            call()

