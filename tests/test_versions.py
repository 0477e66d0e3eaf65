"""How many writes tensors count (`_version`), beside PyTorch and by kept numbers; memory that `data` shares; pinned memory."""
import numpy as np
import pytest

import fasttensor
import fasttensor as torch
from helpers import oracle

# What is new has seen no write.
NEW = """zeros(3) ones(3) rand(3) randn(3) full((3,),2.0) empty(3) tensor([1.,2.]) arange(4) linspace(0,1,3) logspace(0,1,3) eye(3) randint(0,5,(3,))
randperm(4) zeros_like(x) ones_like(x) rand_like(x) randn_like(x) full_like(x,2.0) randint_like(x,0,3) empty_like(x) x.new_zeros(3) x.new_ones(3)
x.new_full((3,),1.0) x.new_tensor([1.0]) scalar_tensor(2.0) from_numpy(np.ones(3)) tensor(np.ones(3)) as_tensor([1.0]) x.clone() x.detach() x+1 x.double()
cat([x,x]) stack([x,x]) x.bernoulli(0.5) bernoulli(p) normal(0.0,1.0,(3,)) normal(p,1.0) normal(p,p) poisson(p) multinomial(p,2) where(x>0,x,p) x.cumsum(0)
nn.functional.dropout(x,0.5) hann_window(4) complex(x,x) x.masked_fill(x>0,1.0) nn.functional.pad(x,(1,1)) topk(x,2)[0] zeros(2,dtype=T.int64)
Tensor([1.0,2.0]) fft.fftfreq(4) tril_indices(3,3) x.repeat(2) nn.Parameter(x)""".split()

# In place: how many writes are counted.
WRITES = {
    1: """add_(1) sub_(1) mul_(2) div_(2) pow_(2) zero_() fill_(1) copy_(p) clamp_(0,1) relu_() exp_() neg_() abs_() sigmoid_() uniform_() normal_()
    bernoulli_(0.5) exponential_() geometric_(0.5) cauchy_() log_normal_() random_() masked_fill_(x>0,1.0) masked_scatter_(x>0,p) index_fill_(0,i,1.0)
    index_add_(0,i,p[:2]) index_copy_(0,i,p[:2]) index_put_((i,),p[:2]) scatter_(0,i,1.0) scatter_add_(0,i,p) put_(i,p[:2]) lerp_(p,0.5) addcmul_(p,p)
    addcdiv_(p,p) cumsum_(0) cumprod_(0) round_() hypot_(p) fmod_(2) logical_not_() nan_to_num_() t_() unsqueeze_(0) squeeze_() transpose_(0,0)
    resize_(5) resize_(2) __setitem__(0,1.0) __setitem__(slice(0,2),p[:2]) __setitem__(x>0,1.0) __setitem__(i,p[:2]) __iadd__(1) __imul__(p)
    view(-1).add_(1) detach().add_(1) [1:].mul_(2)""".split(),
    0: "resize_(3) detach_() requires_grad_() data.add_(1) add(1) view(3) numpy()".split(),
}
OUT = """add(x,1,out=o) exp(x,out=o) cat([x],out=o) zeros(3,out=o) ones(3,out=o) full((3,),1.0,out=o) rand(3,out=o) randn(3,out=o) arange(3,out=o)
cumsum(x,0,out=o)
where(x>0,x,x,out=o) clamp(x,0,1,out=o) bernoulli(x,out=o) lerp(x,x,0.5,out=o) linspace(0,1,3,out=o)""".split()


def names(lib, grad=False):
    x = lib.tensor([0.75, 0.5, 0.25], requires_grad=grad)
    return {"np": np, "T": lib, "x": x * 1 if grad else x, "p": lib.tensor([0.5, 0.5, 0.5]), "i": lib.tensor([0, 2]), "o": lib.tensor([0.0, 0.0, 0.0])}


def version_of_new(lib, text):
    lib.manual_seed(0)
    return eval(text if text.startswith("x") else "T." + text, names(lib))._version


def writes(lib, text, grad):
    lib.manual_seed(0)
    scope = names(lib, grad)
    before = scope["x"]._version
    eval(f"x{text}" if text.startswith("[") else f"x.{text}", scope)
    return scope["x"]._version - before


def writes_to_out(lib, text):
    lib.manual_seed(0)
    scope = names(lib)
    eval("T." + text, scope)
    return scope["o"]._version


@pytest.mark.parametrize("text", NEW)
def test_new_tensors(text):
    assert version_of_new(fasttensor, text) == 0


@pytest.mark.parametrize("count, text", [(n, t) for n in WRITES for t in WRITES[n]])
def test_writes(count, text):
    assert writes(fasttensor, text, False) == count
    if not text.startswith(("resize_", "logical_not_", "detach_", "requires_grad_", "numpy")):
        assert writes(fasttensor, text, True) == count


@pytest.mark.parametrize("text", OUT)
def test_out(text):
    assert writes_to_out(fasttensor, text) == 1


def test_against_pytorch():
    theirs = oracle()
    assert [t for t in NEW if version_of_new(theirs, t) != 0] == []
    assert [t for n in WRITES for t in WRITES[n] if writes(theirs, t, False) != n] == []
    assert [t for t in OUT if writes_to_out(theirs, t) != 1] == []


def story(lib):
    """What happens to counters and values where `data` is set."""
    seen = []
    x, y = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0, 5.0])
    x.add_(1), x.add_(1), y.mul_(2)
    w = y[1:]
    x.data = y
    seen.append((x._version, y._version, w._version, x.tolist()))
    x.add_(1)
    seen.append((x._version, y._version, w._version, y.tolist(), x.data_ptr() == y.data_ptr(), x.untyped_storage().nbytes()))
    d = x.data
    d.add_(1)
    seen.append((x._version, d._version, x.data._version))
    y.add_(1)
    seen.append((x._version, x.tolist(), w.tolist()))
    del y, w
    x.resize_(5)
    seen.append((x._version, x[:3].tolist()))
    with lib.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
    with lib.autograd._unsafe_preserve_version_counter((x, d)):
        x.add_(1), d.mul_(2)
    seen.append((x._version, d._version))
    lib._C._autograd._unsafe_set_version_counter((x,), (9,))
    return [*seen, x._version]


def test_data_keeps_the_counter():
    mine = story(fasttensor)
    assert mine == [(2, 1, 1, [6.0, 8.0, 10.0]), (3, 1, 1, [7.0, 9.0, 11.0], True, 12), (3, 1, 0), (3, [9.0, 11.0, 13.0], [11.0, 13.0]),
                    (4, [9.0, 11.0, 13.0]), (4, 1), 9]
    assert mine == story(oracle())


def test_data_set_again_and_again_keeps_no_chain():
    x = torch.ones(4)
    before = torch._C and fasttensor._core.storage.live_storages()
    for _ in range(100):
        x.data = x.data
        x.data = x.data * 1
    assert fasttensor._core.storage.live_storages() <= before + 2 and x.tolist() == [1.0] * 4


def test_saved_values_do_not_notice_writes_to_what_data_was_set_to():
    w, v = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    y = (w * v).sum()
    other = torch.zeros(2)
    other.data = v
    other.add_(1)
    y.backward()                    # PyTorch does not notice it either
    assert w.grad.tolist() == [4.0, 4.0]
    y = (w * v).sum()
    v.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


PINNED = """zeros(2) empty(2) ones(2) full((2,),1) rand(2) randn(2) tensor([1.]) arange(3) zeros_like(p) ones_like(p) empty_like(p) full_like(p,1) rand_like(p)
randint(0,2,(2,)) linspace(0,1,2) logspace(0,1,2) eye(2) randperm(2) p.new_zeros(2) p.new_empty(2) p.new_full((2,),1) empty_strided((2,),(1,)) hann_window(4)
tril_indices(2,2) scalar_tensor(1) normal(0.0,1.0,(2,)) p.pin_memory() p.untyped_storage().pin_memory()""".split()


def pinned_error(lib, text):
    call = text if "pin_memory" in text else text[:-1] + ", pin_memory=True)"
    with pytest.raises(RuntimeError) as raised:
        eval(call if call.startswith("p.") else "T." + call, names(lib))
    return str(raised.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="memory can be pinned here")
@pytest.mark.parametrize("text", PINNED)
def test_pinning_needs_a_device(text):
    assert ("Cannot access accelerator device" if "pin_memory" in text else "no pinned memory allocator") in pinned_error(fasttensor, text)
    assert pinned_error(fasttensor, text) == pinned_error(oracle(), text)


def layouts(lib):
    a = np.arange(6.0).reshape(2, 3)
    one = lib.zeros(99).as_strided((2, 1, 3), (5, 5, 5))
    arrays = [np.zeros((1, 3))[:, ::2], np.zeros((3, 1)).T, np.zeros((4, 3))[:1, :1], np.zeros((5, 3))[::5]]
    return [lib.tensor(a.T).stride(), lib.tensor(a[:, ::2]).stride(), lib.tensor(a.T, dtype=lib.float32).stride(), lib.from_dlpack(one).stride(),
            np.from_dlpack(one).strides, *(lib.from_dlpack(b).stride() for b in arrays), *(lib.from_numpy(b).stride() for b in arrays)]


def test_layouts_of_others_are_kept():
    mine = layouts(fasttensor)
    exported = [(3, 2), (1, 1), (3, 1), (15, 1)]
    if np.from_dlpack(np.zeros((3, 1)).T).strides != (8, 8):
        exported = mine[5:9]        # numpy before 2.3 writes other strides for dimensions of size 1 itself
    assert mine == [(1, 3), (2, 1), (1, 3), (5, 5, 5), (20, 20, 20), *exported, (3, 2), (1, 1), (3, 1), (15, 1)]
    assert mine == layouts(oracle())


def test_foreign_byte_order():
    for make in (torch.from_numpy, torch.tensor, torch.as_tensor, torch.asarray):
        with pytest.raises(ValueError, match="byte order different from the native byte order"):
            make(np.arange(3, dtype=">f8"))


def test_text_of_storages():
    for lib in (torch, oracle()):
        assert repr(lib.tensor([1, 2], dtype=lib.uint8).untyped_storage()) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
        assert repr(lib.UntypedStorage(0)).endswith("[torch.storage.UntypedStorage(device=cpu) of size 0]")


SCATTERED = """index_add(x,0,i,p[:2])
index_copy(x,0,i,p[:2]) index_fill(x,0,i,1.0) index_put(x,(i,),p[:2]) scatter(x,0,i,1.0) scatter_add(x,0,i,p) put(x,i,p[:2])
select_scatter(x,p[0],0,1) slice_scatter(x,p[:1],0,0,1) diagonal_scatter(x.view(3,1),p[:1]) as_strided_scatter(x,p[:1],(1,),(1,))
diag(x) diag_embed(x) diagflat(x) fill(x,2.0) nonzero_static(x,size=2) scatter_reduce(x,0,i,p[:2],"sum") masked_scatter(x,x>0,p)""".split()


@pytest.mark.parametrize("text", SCATTERED)
def test_results_made_by_writing_into_a_copy_are_new(text):
    assert version_of_new(fasttensor, text) == 0


def test_outputs_that_are_resized_are_written_once():
    for name in ("exp", "neg", "tril", "square"):
        out = torch.empty(0)
        getattr(torch, name)(torch.ones(2, 2), out=out)
        assert out._version == 1, name


def test_set_counts_in_the_tensor_that_is_set():
    x, y = torch.zeros(3).add_(1), torch.zeros(4)
    x.set_(y)
    assert (x._version, y._version) == (2, 0)
    x.add_(1)
    assert (x._version, y._version) == (3, 0) and y.tolist() == [1] * 4
    x.set_(y.untyped_storage(), 1, (2,), (1,))
    assert x._version == 4 and x.data_ptr() == y.data_ptr() + 4
    x.set_()
    assert x._version == 5 and x.numel() == 0
    y.copy_(y)
    assert y._version == 1


def test_writes_that_pytorch_does_not_count():
    x = torch.zeros(3)
    x.apply_(lambda v: v + 1)
    x.map_(x, lambda a, b: a + b)
    x.untyped_storage().fill_(0)
    torch.nn.functional.batch_norm(torch.ones(2, 3), x, torch.ones(3), training=True)
    assert x._version == 4
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3)
    torch.optim.SGD([p], lr=0.1, fused=True).step()
    assert p._version == 1


OPTIMIZERS = [("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {}), ("Adam", {"amsgrad": True}), ("AdamW", {}),
              ("AdamW", {"weight_decay": 0}), ("NAdam", {}), ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}), ("ASGD", {}),
              ("ASGD", {"foreach": True}), ("RAdam", {}), ("Adagrad", {}), ("Adadelta", {}), ("Adamax", {}),
              ("RMSprop", {"momentum": 0.9, "centered": True}), ("Rprop", {}), ("Adafactor", {})]


@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_steps_count_as_in_pytorch(name, options):
    """A step writes as often as PyTorch's formula does."""
    def run(t):
        p, seen = t.ones(3, 3, requires_grad=True), []
        optimizer = getattr(t.optim, name)([p], **options)
        for _ in range(3):
            p.grad = t.ones(3, 3)
            optimizer.step()
            seen.append((p._version, {key: value._version for key, value in optimizer.state[p].items() if isinstance(value, t.Tensor)}))
        return seen
    assert run(torch) == run(oracle())
