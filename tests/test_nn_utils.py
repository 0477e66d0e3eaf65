"""nn.utils against PyTorch: parametrizations, pruning, fusion, packing, stateless calls."""
import importlib

import pytest

import fasttensor as torch
from fasttensor import nn
from helpers import assert_close, oracle

SEQUENCES = [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[10.0, 11.0]], [[20.0, 21.0], [22.0, 23.0]]]


def tool(m, name):
    return importlib.import_module(f"{m.__name__}.nn.utils.{name}")


def weights(m, module):
    return [module(m.ones(2, 3)), *(p for _, p in sorted(module.state_dict().items()))]


def orthogonal(map, rows, columns, trivial):
    def run(m):
        layer = m.nn.Linear(columns, rows)
        m.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=map, use_trivialization=trivial)
        (layer(m.ones(2, columns)) ** 2).sum().backward()
        return [layer.weight, layer.parametrizations.weight.original.grad]
    return run


def pruned(method, *args, name="weight", **named):
    def run(m):
        layer = m.nn.Linear(3, 5)
        getattr(tool(m, "prune"), method)(layer, name, *args, **named)
        tool(m, "prune").l1_unstructured(layer, name, 1)
        return [*layer.state_dict().values(), getattr(layer, name)]
    return run


def everywhere(m):
    net = m.nn.Sequential(m.nn.Linear(3, 5), m.nn.Linear(5, 3))
    prune = tool(m, "prune")
    prune.global_unstructured([(net[0], "weight"), (net[1], "weight"), (net[1], "bias")], prune.L1Unstructured, amount=0.4)
    return weights(m, net)


def fused(kind, norm, transpose):
    def run(m):
        pair = m.nn.Sequential(getattr(m.nn, kind)(2, 3, 3) if kind != "Linear" else m.nn.Linear(2, 3), getattr(m.nn, norm)(3))
        x = m.randn(4, 2) if kind == "Linear" else m.randn(4, 2, 5, 5)
        pair(x)
        pair.eval()
        fusion = tool(m, "fusion")
        one = fusion.fuse_linear_bn_eval(*pair) if kind == "Linear" else fusion.fuse_conv_bn_eval(*pair, transpose)
        assert (one(x) - pair(x)).abs().max() < 1e-5
        return [one.weight, one.bias]
    return run


def packed(first, sort):
    def run(m):
        rnn = m.nn.utils.rnn
        padded = rnn.pad_sequence([m.tensor(s) for s in SEQUENCES], batch_first=first, padding_value=-1.0)
        pack = rnn.pack_padded_sequence(padded if sort else padded[:, :1] if not first else padded[:1], [3, 1, 2] if sort else [3], first, not sort)
        out, lengths = rnn.pad_packed_sequence(pack, first, 7.0, 4)
        return [padded, pack.data, pack.batch_sizes, out, lengths, *rnn.unpack_sequence(pack)]
    return run


def normed(function, kind, **named):
    def run(m):
        layer = m.nn.Linear(3, 4) if kind == "Linear" else m.nn.ConvTranspose2d(3, 4, 3)
        function(m)(layer, **named)
        y = layer(m.ones(2, 3) if kind == "Linear" else m.ones(2, 3, 4, 4))
        (y ** 2).sum().backward()
        layer.eval()
        return [y, *layer.state_dict().values(), *(p.grad for p in layer.parameters())]
    return run


def stateless(m):
    net = m.nn.Sequential(m.nn.Linear(3, 3), m.nn.BatchNorm1d(3))
    w = m.zeros(3, 3, requires_grad=True)
    out = tool(m, "stateless").functional_call(net, {"0.weight": w, "1.running_mean": m.ones(3)}, (m.ones(2, 3),))
    (out ** 2).sum().backward()
    return [out, w.grad, *net.state_dict().values()]


CASES = {
    **{f"orthogonal-{map}-{rows}x{columns}-{trivial}": orthogonal(map, rows, columns, trivial) for map in ("matrix_exp", "cayley", "householder")
       for rows, columns in ((3, 5), (5, 3), (4, 4)) for trivial in (True, False)},
    "l1": pruned("l1_unstructured", 0.3), "l1-scores": pruned("l1_unstructured", 4, importance_scores=None), "random": pruned("random_unstructured", 4),
    "random-rows": pruned("random_structured", 2, 0), "norm-columns": pruned("ln_structured", 1, 2, -1),
    "largest": pruned("ln_structured", 0.4, float("inf"), 0),
    "bias": pruned("l1_unstructured", 2, name="bias"), "identity": pruned("identity"), "everywhere": everywhere,
    "conv": fused("Conv2d", "BatchNorm2d", False), "transposed": fused("ConvTranspose2d", "BatchNorm2d", True), "linear": fused("Linear", "BatchNorm1d", False),
    **{f"packed-{first}-{sort}": packed(first, sort) for first in (True, False) for sort in (True, False)},
    **{f"weight_norm-{dim}": normed(lambda m: m.nn.utils.parametrizations.weight_norm, "Linear", dim=dim) for dim in (0, 1, None)},
    **{f"spectral-{kind}": normed(lambda m: m.nn.utils.parametrizations.spectral_norm, kind, n_power_iterations=3) for kind in ("Linear", "ConvTranspose2d")},
    **{f"spectral-hook-{kind}": normed(lambda m: m.nn.utils.spectral_norm, kind) for kind in ("Linear", "ConvTranspose2d")},
    "stateless": stateless,
}


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    oracle()
    import torch as pt
    results = []
    for m in (torch, pt):
        m.manual_seed(0)
        results.append(CASES[name](m))
    for i, (mine, theirs) in enumerate(zip(*results, strict=True)):
        assert_close(mine, theirs, rtol=1e-3, atol=1e-4, what=f"{name} {i}")


@pytest.mark.parametrize("map", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_take_assignments(map):
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(4, 3), orthogonal_map=map)
    w = layer.weight
    assert_close(w @ w.mT, torch.eye(3), atol=1e-5)
    assert nn.utils.parametrize.is_parametrized(layer, "weight")
    layer.weight = nn.init.orthogonal_(torch.empty(3, 4))
    w = layer.weight
    assert_close(w @ w.mT, torch.eye(3), atol=1e-5)


def test_kept_masks():
    layer = nn.Linear(3, 2)
    layer.weight.data = torch.tensor([[1.0, -5.0, 2.0], [-0.5, 3.0, 1.5]])
    nn.utils.prune.l1_unstructured(layer, "weight", 2)
    assert layer.weight_mask.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    nn.utils.prune.ln_structured(layer, "weight", 1, 1, 0)
    assert layer.weight.tolist() == [[0.0, -5.0, 2.0], [0.0, 0.0, 0.0]]
    assert [type(f).__name__ for f in layer._forward_pre_hooks.values()] == ["PruningContainer"]
    packed = nn.utils.rnn.pack_sequence([torch.tensor(s) for s in SEQUENCES], enforce_sorted=False)
    assert packed.data[:, 0].tolist() == [0.0, 20.0, 10.0, 2.0, 22.0, 4.0] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [0, 2, 1] and [x[:, 0].tolist() for x in nn.utils.rnn.unpack_sequence(packed)][1] == [10.0]


def test_assignments_that_do_not_fit():
    class Same(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x

    layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Same())
    with pytest.raises(ValueError, match="has dtype torch.float64 while `original`"):
        layer.weight = torch.ones(3, 3).double()
    with pytest.raises(RuntimeError, match="1D CPU int64"):
        nn.utils.rnn.pack_padded_sequence(torch.zeros(3, 2), torch.ones(2, 2, dtype=torch.int64))
