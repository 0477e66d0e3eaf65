"""What programs see of recorded operations: classes with PyTorch's names, saved tensors, and how often hooks on them are called."""
import gc
import weakref

import pytest

import fasttensor
import fasttensor as torch
from fasttensor._optable.table import OPS
from helpers import assert_close, oracle

# expression of x, y (2, 3) and m (3, 2): PyTorch's class of the last operation, and the names of what it saves (those that both have)
NODES = {
    "x + y": ("AddBackward0", "alpha"), "x - 1": ("SubBackward0", "alpha"), "x * y": ("MulBackward0", "other self"),
    "x / y": ("DivBackward0", "other self"), "x * 2": ("MulBackward0", "other self"), "-x": ("NegBackward0", ""), "x ** 3": ("PowBackward0", "exponent self"),
    "x ** y": ("PowBackward1", "exponent result self"), "2 ** x": ("PowBackward2", "exponent result self"), "x.exp()": ("ExpBackward0", "result"),
    "x.sigmoid()": ("SigmoidBackward0", "result"), "x.relu()": ("ReluBackward0", "result"), "x.abs()": ("AbsBackward0", "self"),
    "x.remainder(2)": ("RemainderBackward0", ""), "x.remainder(y)": ("RemainderBackward1", "other self"), "x.lerp(y, 0.5)": ("LerpBackward0", "weight"),
    "x.lerp(y, x)": ("LerpBackward1", "end self weight"), "torch.addcmul(x, x, y)": ("AddcmulBackward0", "tensor1 tensor2 value"),
    "torch.where(x > 1, x, y)": ("WhereBackward0", "condition"), "torch.special.i0e(x)": ("SpecialI0EBackward0", "result self"),
    "torch.polygamma(1, x)": ("PolygammaBackward0", "self"), "x.clamp_min(y)": ("ClampMinBackward1", "min self"),
    "x.clamp(0, 1)": ("ClampBackward1", "max min self"),
    "x.sum()": ("SumBackward0", ""), "x.sum(1)": ("SumBackward1", ""), "x.sum((0, 1))": ("SumBackward1", ""), "x.mean()": ("MeanBackward0", ""),
    "x.mean(0)": ("MeanBackward1", ""), "x.mean((0, 1), keepdim=True)": ("MeanBackward1", ""), "x.prod()": ("ProdBackward0", "result self"),
    "x.prod(1)": ("ProdBackward1", "result self"), "x.max()": ("MaxBackward1", "result self"), "x.max(1).values": ("MaxBackward0", "indices"),
    "x.amax(1)": ("AmaxBackward0", "result self"), "x.var(1)": ("VarBackward0", "self"), "x.std()": ("StdBackward0", "result self"),
    "x.median()": ("MedianBackward0", "result self"), "x.nanmedian()": ("NanmedianBackward0", "result self"), "x.sort(1).values": ("SortBackward0", "indices"),
    "x.sort(dim=1, stable=True).values": ("SortBackward1", "indices"), "x.logsumexp(1)": ("LogsumexpBackward0", "result self"),
    "x @ m": ("MmBackward0", "mat2 self"), "torch.addmm(x[:, :2], x, m)": ("AddmmBackward0", "mat1 mat2"),
    "torch.bmm(x[None], m[None])": ("BmmBackward0", "mat2 self"),
    "x @ m[:, 0]": ("MvBackward0", "self vec"), "x[0].dot(y[0])": ("DotBackward0", "self tensor"), "x.softmax(1)": ("SoftmaxBackward0", "result"),
    "x.log_softmax(1)": ("LogSoftmaxBackward0", "result"), "torch.nn.functional.layer_norm(x, (3,))": ("NativeLayerNormBackward0", "input result1 result2"),
    "torch.nn.functional.conv1d(x[None], y[:, :, None][:1].expand(1, 3, 1).mT.expand(1, 2, 3))": ("ConvolutionBackward0", "input weight"),
    "x.cumprod(1)": ("CumprodBackward0", "result self"), "x.index_select(0, torch.tensor([1]))": ("IndexSelectBackward0", "index"),
    "x.gather(1, torch.tensor([[0], [1]]))": ("GatherBackward0", "index"), "x[torch.tensor([1])]": ("IndexBackward0", ""),
    "x.masked_fill(x > 1, 0)": ("MaskedFillBackward0", "mask"), "torch.cat([x, y])": ("CatBackward0", ""), "x.t()": ("TBackward0", ""),
    "x.view(6)": ("ViewBackward0", ""), "x[0]": ("SelectBackward0", ""), "x.clone()": ("CloneBackward0", ""), "x.double()": ("ToCopyBackward0", ""),
    "torch.nn.functional.mse_loss(x, y, reduction='none')": ("MseLossBackward0", "self target"),
}


def operands(lib):
    values = [0.5, 1.5, 2.5, 0.25, 1.25, 0.75]
    x = lib.tensor(values).reshape(2, 3).requires_grad_()
    y = lib.tensor(values[::-1]).reshape(2, 3).requires_grad_()
    return {"torch": lib, "x": x, "y": y, "m": lib.tensor(values).reshape(3, 2).requires_grad_()}


def saved_of(node):
    return {name[7:] for name in dir(node) if name.startswith("_saved_")}


@pytest.mark.parametrize("text", NODES)
def test_classes_and_saved_names(text):
    name, saved = NODES[text]
    node = eval(text, operands(fasttensor)).grad_fn
    assert type(node).__name__ == name == node.name() and repr(node).startswith(f"<{name} object at 0x")
    assert isinstance(node, torch.autograd.graph.Node) and set(saved.split()) <= saved_of(node)


@pytest.mark.parametrize("text", NODES)
def test_classes_against_pytorch(text):
    theirs = eval(text, operands(oracle())).grad_fn
    name, saved = NODES[text]
    assert type(theirs).__name__ == name and set(saved.split()) <= {n for n in saved_of(theirs)} | {"result", "input"}
    mine = eval(text, operands(fasttensor)).grad_fn
    for word in saved.split():
        if "_saved_" + word in dir(theirs):
            a, b = getattr(mine, "_saved_" + word), getattr(theirs, "_saved_" + word)
            if a is None or b is None or isinstance(b, (int, float)):
                # what the gradients asked for do not read is not saved
                assert a == b or isinstance(a, torch.Tensor) or (a is None) == (b is None) or b is None, (word, a, b)
            else:
                assert_close(a, b.to(getattr(oracle(), str(a.dtype)[6:])))      # a number is kept in the dtype that is computed in


def test_class_of_a_kind_is_one():
    x = torch.ones(3, requires_grad=True)
    first, second = x.exp().grad_fn, x.exp().grad_fn
    assert type(first) is type(second) and first is not second and first != second
    with pytest.raises(TypeError, match="cannot create 'ExpBackward0' instances"):
        type(first)()
    with pytest.raises(AttributeError, match="_saved_nothing"):
        first._saved_nothing
    assert not hasattr(first, "_saved_self") and first.metadata == {} and second._sequence_nr() > first._sequence_nr()


def test_shown_nodes_run_and_are_freed():
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        y = x.exp().sin()
        seen = [y.grad_fn, y.grad_fn.next_functions[0][0]]
        assert [type(n).__name__ for n in seen] == ["SinBackward0", "ExpBackward0"]
        y.sum().backward()
        gone = [weakref.ref(n) for n in seen]
        del y, seen
        gc.collect()
        assert [r() for r in gone] == [None, None]
    assert_close(x.grad, torch.full((3,), 3 * float(torch.tensor(1.0).exp() * torch.tensor(1.0).exp().cos())))


def test_a_long_chain_of_shown_nodes_is_freed():
    y = x = torch.ones(1, requires_grad=True)
    shown = []
    for _ in range(50_000):
        y = y + 1
        shown.append(y.grad_fn)
    y.backward()
    assert x.grad.item() == 1.0
    del shown, y


def test_leaves_end_in_an_accumulator():
    x = torch.ones(2, requires_grad=True)
    node = (x * 2).grad_fn
    end = node.next_functions[0][0]
    assert type(end).__name__ == "AccumulateGrad" and isinstance(end, torch.autograd.graph.Node) and end.variable is x
    assert end is node.next_functions[0][0] and end.next_functions == () and end._sequence_nr() == 2 ** 64 - 1
    assert end.name() == "struct torch::autograd::AccumulateGrad" and end.metadata == {}
    edge = torch.autograd.graph.get_gradient_edge(x)
    assert edge.node is end and edge.output_nr == 0 and edge.ownership_token is None


def test_functions_have_their_class():
    seen = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            ctx.save_for_backward(x)
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor

    x = torch.ones(2, requires_grad=True)
    y = Scaled.apply(x)
    cls = type(y.grad_fn)
    assert cls.__name__ == "ScaledBackward" and cls._forward_cls is Scaled and cls is Scaled._backward_cls and y.grad_fn is seen[0]
    assert repr(y.grad_fn).startswith("<torch.autograd.function.ScaledBackward object at ")
    assert isinstance(seen[0], torch.autograd.function.FunctionCtx) and isinstance(seen[0], torch.autograd.graph.Node)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    Scaled.apply(x.detach())
    assert type(seen[1]) is cls

    class Other(Scaled):
        pass

    assert type(Other.apply(x).grad_fn).__name__ == "OtherBackward"


def test_copies_into_slices():
    b = torch.ones(3, requires_grad=True) * 1
    b[1:].mul_(2)
    assert type(b.grad_fn).__name__ == "CopySlices" and b.grad_fn.name() == "torch::autograd::CopySlices"
    assert repr(b) == "tensor([1., 2., 2.], grad_fn=<CopySlices>)"
    c = torch.zeros(2).copy_(torch.ones(2, requires_grad=True))
    assert type(c.grad_fn).__name__ == "CopyBackwards" and c.grad_fn.name() == "torch::autograd::CopyBackwards"


def test_hooks_of_one_saved_tensor():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x.exp()
    calls = []
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda t: calls.append("pack") or t * 10, lambda t: calls.append("unpack") or t / 10)
    assert raw.data.tolist() == [10.0, 20.0]
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        raw.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert calls == ["pack", "unpack"]
    assert_close(x.grad, x.exp().detach() * (1 + x.detach()))
    with pytest.raises(RuntimeError, match="already been freed"):
        y.grad_fn._saved_self


def test_the_other_saved_tensors_are_still_checked():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = x * 1, x * 3
    y = a * b
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t.clone(), lambda t: t)
    a.add_(1)
    y.sum().backward(retain_graph=True)
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_ties_with_tensor_bounds():
    """The gradient goes to the input where it equals its bound."""
    x, m = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    kept = {"min": ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0]), "max": ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0])}
    for name, want in kept.items():
        for y in (x.clamp(**{name: m}), getattr(torch, "clamp_" + name)(x, m)):
            assert tuple(g.tolist() for g in torch.autograd.grad(y.sum(), (x, m))) == want


COUNTS = {
    "x * y": (2, 2), "x * 2": (0, 0), "x / y": (2, 2), "x ** y": (3, 3), "x ** 2": (1, 1), "2 ** x": (2, 2), "x.exp()": (1, 1), "x + y": (0, 0),
    "x @ m": (2, 2),
    "x.softmax(1)": (1, 1), "x.max()": (2, 2), "x.max(1).values": (1, 1), "x.sum(1)": (0, 0), "torch.nn.functional.layer_norm(x, (3,))": (3, 3),
    "x[torch.tensor([1])]": (1, 1), "torch.where(x > 1, x, y)": (1, 1), "x.lerp(y, x)": (3, 3), "x.hypot(y)": (3, 3), "x.atan2(y)": (2, 2),
    "torch.nn.functional.mse_loss(x, y, reduction='none')": (2, 2), "x.clone().mul_(y)": (2, 2), "x.clone().mul_(3)": (0, 0), "torch.addcmul(x, x, y)": (2, 2),
    "x.std()": (2, 2), "x.maximum(y)": (2, 2), "torch.nn.functional.gelu(x)": (1, 1),
}


def count_hooks(lib, text):
    calls = [0, 0]

    def count(k):
        def hook(t):
            calls[k] += 1
            return t
        return hook
    with lib.autograd.graph.saved_tensors_hooks(count(0), count(1)):
        y = eval(text, operands(lib))
    y.backward(lib.ones_like(y))
    return tuple(calls)


@pytest.mark.parametrize("text", COUNTS)
def test_calls_of_hooks(text):
    assert count_hooks(fasttensor, text) == COUNTS[text]


@pytest.mark.parametrize("text", COUNTS)
def test_calls_of_hooks_against_pytorch(text):
    assert count_hooks(oracle(), text) == COUNTS[text]


@pytest.mark.parametrize("op", [op for op in OPS if not op.private and any(op.gradients) and "torch" in op.namespaces and op.method], ids=lambda op: op.name)
def test_rows_unpack_once(op):
    """Every row of the table, all of whose operands require gradients: as many calls of one hook as of the other."""
    calls = {"pack": 0, "unpack": 0}

    def count(name):
        def hook(t):
            calls[name] += 1
            return t
        return hook
    low, high = op.domain
    dtype = torch.float64 if "float64" in op.dtypes else torch.complex128
    given = [torch.tensor([True, False]) if n in op.mask else torch.tensor([0.6 * low + 0.4 * high, 0.4 * low + 0.6 * high], dtype=dtype).requires_grad_()
             for n in op.inputs]
    params = [1.0 if v is None else v for v in op.params.values()]
    function = getattr(torch, op.name)
    with torch.autograd.graph.saved_tensors_hooks(count("pack"), count("unpack")):
        if op.params_first:
            y = function(*map(int, params), *given)
        elif op.keyword_params:
            y = function(*given, **dict(zip(op.params, params)))
        else:
            y = function(*given, *params)
    if y.requires_grad:
        y.backward(torch.ones_like(y))
    assert calls["pack"] == calls["unpack"], calls


def test_reduced_products_unpack_once():
    x, src = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    calls = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: calls.append("pack") or t, lambda t: calls.append("unpack") or t):
        y = x.scatter_reduce(0, torch.tensor([0, 0]), src, "prod")
    y.sum().backward()
    assert calls == ["pack"] * 4 + ["unpack"] * 4 and x.grad.tolist() == [12.0, 1.0]
