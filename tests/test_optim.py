"""Optimizers: PyTorch's values, state layouts, hooks and errors; fused kernels against tensor operations."""
import pytest
from helpers import assert_close, from_oracle, oracle
from optim_problem import descend, start

import fasttensor as torch

# Parameters after eight steps of lr 0.1 on the problem of `descend`, as PyTorch 2.13 computes them.
KEPT = [
    ("SGD", dict(),
     [1.195215531, -1.219137877, 1.438275754, 1.200782073, 1.196871708, -1.0]),
    ("SGD", dict(momentum=0.9, dampening=0.1, weight_decay=0.01),
     [1.548863165, 0.309010554, -1.599094793, 2.133445668, -2.604038399, -0.988290712]),
    ("SGD", dict(momentum=0.9, nesterov=True),
     [1.598906752, 0.395627009, -1.791254017, 1.866279931, -1.465119725, -1.0]),
    ("SGD", dict(maximize=True),
     [0.703075963, -3.187696149, 5.375392298, -1.352586422, 11.410345688, -1.0]),
    ("Adam", dict(),
     [1.656945999, -1.212336948, 2.205098198, 1.263736274, 3.205098196, -1.0]),
    ("Adam", dict(amsgrad=True, weight_decay=0.1),
     [1.41541172, -1.212336947, 2.2053242, 1.256148878, 3.205098196, -0.942002073]),
    ("Adam", dict(decoupled_weight_decay=True, weight_decay=0.1),
     [1.588348913, -1.088219992, 2.002407583, 1.20250537, 2.925809489, -1.034016629]),
    ("Adam", dict(maximize=True),
     [0.192093389, -2.805861375, 3.80351447, -0.308194469, 4.803514472, -1.0]),
    ("AdamW", dict(),
     [1.650129158, -1.199475329, 2.184137576, 1.257470314, 3.176226822, -1.028827557]),
    ("AdamW", dict(amsgrad=True),
     [1.650129158, -1.199475329, 2.184137576, 1.257470314, 3.176226822, -1.02882608]),
    ("Adamax", dict(),
     [1.532549501, -1.273200327, 2.235947956, 1.156637916, 3.235947954, -1.0]),
    ("Adamax", dict(weight_decay=0.1),
     [1.382444157, -1.273200326, 2.237354229, 1.141807021, 3.235947954, -0.960218467]),
    ("NAdam", dict(),
     [1.459859117, -1.395025993, 2.376200079, 1.062212932, 3.376200078, -1.0]),
    ("NAdam", dict(weight_decay=0.1),
     [1.30888648, -1.395025992, 2.376867345, 1.051811529, 3.376200078, -0.933764621]),
    ("NAdam", dict(weight_decay=0.1, decoupled_weight_decay=True),
     [1.400049572, -1.271593308, 2.173110114, 1.01082168, 3.098184979, -0.995186603]),
    ("RAdam", dict(),
     [1.149849326, -1.428852861, 1.867128146, 1.107518817, 1.595745995, -1.0]),
    ("RAdam", dict(weight_decay=0.1, betas=(0.8, 0.9)),
     [1.184014555, -1.262601933, 1.664744513, 1.146263387, 1.415028589, -0.892618538]),
    ("RAdam", dict(weight_decay=0.1, decoupled_weight_decay=True),
     [1.068814206, -1.308168883, 1.699792739, 1.042838435, 1.432737071, -0.938887399]),
    ("RMSprop", dict(),
     [1.499411299, -0.017177903, -0.200339969, 1.5, 0.799659997, -1.0]),
    ("RMSprop", dict(centered=True, momentum=0.9),
     [2.040870812, -0.644081915, -3.583152387, 0.947256779, -2.583152351, -1.0]),
    ("RMSprop", dict(momentum=0.5, weight_decay=0.1),
     [1.226752027, -0.113654901, -1.104020388, 1.45313368, -0.245809806, -0.925917994]),
    ("RMSprop", dict(centered=True),
     [1.499460249, -0.015655724, -0.229402468, 1.5, 0.770597499, -1.0]),
    ("Adagrad", dict(),
     [1.345587885, -1.582251539, 2.572248813, 0.895894795, 3.572248813, -1.0]),
    ("Adagrad", dict(lr_decay=0.1, initial_accumulator_value=0.2, weight_decay=0.1),
     [1.160531966, -1.665754438, 2.653907147, 0.817585962, 3.651824733, -0.940190932]),
    ("Adadelta", dict(),
     [1.002670871, -1.997325914, 2.997325395, 0.502673066, 3.997325393, -1.0]),
    ("Adadelta", dict(rho=0.8, weight_decay=0.1),
     [1.002008217, -1.997988462, 2.997988204, 0.50201089, 3.997988194, -0.998004439]),
    ("ASGD", dict(),
     [1.195139781, -1.219050467, 1.438166002, 1.200724597, 1.19680129, -0.999949946]),
    ("ASGD", dict(t0=2, lambd=0.1, weight_decay=0.1),
     [1.059716804, -1.044531129, 1.208495867, 1.103257334, 1.030117743, -0.907191179]),
    ("Rprop", dict(),
     [1.4936, -0.35009152, 1.35009152, 1.7915904, 2.35009152, -1.0]),
    ("Rprop", dict(etas=(0.4, 1.5), step_sizes=(0.001, 0.2)),
     [1.45, -0.55, 1.55, 1.47, 2.55, -1.0]),
    ("Adafactor", dict(),
     [1.470861897, -1.297849914, 0.135504021, 1.436739674, 2.603474802, -1.0]),
    ("Adafactor", dict(weight_decay=0.1, eps=(1e-08, 0.01), d=1.5),
     [1.434884679, -1.173470638, 0.028932103, 1.402816796, 2.355052505, -0.95330936]),
]
CASES = [(name, options) for name, options, _ in KEPT]
FUSED = [(name, options) for name, options in CASES if name != "Adafactor"]


def names(cases):
    return [f"{case[0]}-{'-'.join(case[1])}" for case in cases]


@pytest.mark.parametrize("name, options, expected", KEPT, ids=names(KEPT))
def test_kept_values(name, options, expected):
    w = start()
    descend(getattr(torch.optim, name)([w], lr=0.1, **options), w)
    assert_close(w.flatten().tolist(), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name, options", FUSED, ids=names(FUSED))
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_kernel_agrees_with_tensor_operations(name, options, dtype):
    dtype = getattr(torch, dtype)
    results = []
    for fused in (True, False):
        w = start(dtype)
        optimizer = getattr(torch.optim, name)([w], lr=0.1, **options)
        if not fused:
            optimizer._fused = lambda group: group["params"]
        descend(optimizer, w)
        results.append((w.detach(), {k: v for k, v in optimizer.state[w].items()} if w in optimizer.state else {}))
    assert_close(results[0][0], results[1][0], what=name)
    assert results[0][1].keys() == results[1][1].keys()
    for key, value in results[0][1].items():
        assert_close(value, results[1][1][key], what=f"{name} {key}")


@pytest.mark.parametrize("name, options", CASES, ids=names(CASES))
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_against_pytorch(name, options, dtype):
    theirs = oracle()
    values = theirs.randn(5, 7, generator=theirs.Generator().manual_seed(1)).to(getattr(theirs, dtype))
    grads = [theirs.randn(5, 7, generator=theirs.Generator().manual_seed(i)).to(values.dtype) for i in range(5)]
    p = values.clone().requires_grad_()
    q = from_oracle(values).requires_grad_()
    a = getattr(theirs.optim, name)([p], lr=0.05, **options)
    b = getattr(torch.optim, name)([q], lr=0.05, **options)
    for g in grads:
        p.grad, q.grad = g.clone(), from_oracle(g)
        a.step()
        b.step()
    loose = {"rtol": 0.1, "atol": 0.05} if dtype == "bfloat16" else {}
    assert_close(q, p, what=name, **loose)
    assert list(b.state_dict()["state"].get(0, {})) == list(a.state_dict()["state"].get(0, {}))
    assert b.state_dict()["param_groups"][0].keys() == a.state_dict()["param_groups"][0].keys()


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_many_parameters_of_all_sizes(name):
    """The kernel cuts chunks across parameters: sizes on both sides of a chunk, empty ones, views."""
    options = {"momentum": 0.9} if name == "SGD" else {}
    sizes = [(3,), (0,), (16384,), (1,), (128, 200), (16383,), (2, 0, 3), (40000,)]
    results = []
    for fused in (True, False):
        torch.manual_seed(3)
        parameters = [torch.randn(s, requires_grad=True) for s in sizes]
        parameters.append(torch.randn(30, 20).t().requires_grad_())
        optimizer = getattr(torch.optim, name)(parameters, lr=0.1, **options)
        if not fused:
            optimizer._fused = lambda group: group["params"]
        for _ in range(3):
            for p in parameters:
                p.grad = torch.randn(p.shape)
            optimizer.step()
        results.append([p.detach() for p in parameters])
    for a, b in zip(*results):
        assert_close(a, b)


def test_same_bits_at_every_thread_count():
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        parameters = [torch.randn(n, requires_grad=True) for n in (70000, 5, 33000)]
        optimizer = torch.optim.AdamW(parameters, lr=0.1)
        for p in parameters:
            p.grad = torch.randn(p.shape)
        optimizer.step()
        results.append([p.detach().tolist() for p in parameters])
    assert results[0] == results[1] == results[2]


def test_parameters_without_gradient_are_skipped():
    a, b = start(), start()
    optimizer = torch.optim.Adam([a, b], lr=0.1)
    for i in range(4):
        optimizer.zero_grad()
        a.grad = torch.ones_like(a)
        if i % 2:
            b.grad = torch.ones_like(b)
        optimizer.step()
    assert optimizer.state[a]["step"].item() == 4
    assert optimizer.state[b]["step"].item() == 2
    assert optimizer.state_dict()["state"].keys() == {0, 1}


def test_sgd_without_momentum_keeps_no_state():
    w = start()
    optimizer = torch.optim.SGD([w], lr=0.1)
    descend(optimizer, w, 2)
    assert optimizer.state_dict()["state"] == {}


def test_closure_and_lr_tensor():
    w = start()
    optimizer = torch.optim.Adam([w], lr=torch.tensor(0.1))
    loss = optimizer.step(lambda: (w * w).sum())
    assert loss.requires_grad
    plain, v = start(), start()
    descend(torch.optim.Adam([plain], lr=0.1), plain, 3)
    descend(torch.optim.Adam([v], lr=torch.tensor(0.1, dtype=torch.float64)), v, 3)
    assert_close(v, plain)


def test_zero_grad():
    w = start()
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    g = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is g and not g.any()
    optimizer.zero_grad()
    assert w.grad is None


def test_differentiable_step():
    """The gradient of the loss after a step with respect to the learning rate."""
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    w = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    p = w.clone()
    optimizer = torch.optim.SGD([p], lr=lr, differentiable=True)
    p.grad = torch.tensor([3.0], dtype=torch.float64)
    optimizer.step()
    (p ** 2).sum().backward()
    assert_close(lr.grad, torch.tensor(2 * (2.0 - 0.3) * -3.0, dtype=torch.float64))
    assert_close(w.grad, torch.tensor([2 * (2.0 - 0.3)], dtype=torch.float64))


@pytest.mark.parametrize("name, options", FUSED, ids=names(FUSED))
def test_differentiable_agrees(name, options):
    w, results = start(), []
    for differentiable in (False, True):
        p = w.detach().clone().requires_grad_(not differentiable)
        optimizer = getattr(torch.optim, name)([p], lr=0.1, differentiable=differentiable, **options)
        for i in range(3):
            p.grad = torch.ones_like(p) * (i + 1)
            optimizer.step()
        results.append(p.detach())
    assert_close(*results)


def test_repeated_parameter():
    w = torch.zeros(50000, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate"):
        optimizer = torch.optim.SGD([w, w], lr=1.0)
    w.grad = torch.ones(50000)
    optimizer.step()
    assert w.detach().eq(-2).all()


def test_flags_accepted():
    for options in ({"foreach": True}, {"fused": True}, {"capturable": True}):
        w = start()
        descend(torch.optim.Adam([w], lr=0.1, **options), w, 1)
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        torch.optim.Adam([start()], fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="does not support `differentiable`"):
        torch.optim.SGD([start()], fused=True, differentiable=True)


def test_sparse_adam_refuses():
    w = start()
    optimizer = torch.optim.SparseAdam([w])
    optimizer.step()
    w.sum().backward()
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optimizer.step()


def test_lbfgs_finds_rosenbrocks_minimum():
    w = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
        loss.backward()
        return loss
    optimizer.step(closure)
    assert_close(w.tolist(), [1.0, 1.0], rtol=1e-4)
    assert closure().item() < 1e-8


def test_lbfgs_refuses():
    with pytest.raises(ValueError, match="parameter groups"):
        torch.optim.LBFGS([{"params": [start()]}, {"params": [start()]}])
    w = start()
    w.grad = torch.ones_like(w)
    with pytest.raises(RuntimeError, match="strong_wolfe"):
        torch.optim.LBFGS([w], line_search_fn="armijo").step(lambda: (w * w).sum())


def test_muon_makes_steps_orthogonal():
    with pytest.raises(ValueError, match="only supports 2D"):
        torch.optim.Muon([torch.zeros(3, requires_grad=True)])
    torch.manual_seed(0)
    w = torch.zeros(4, 6, requires_grad=True)
    w.grad = torch.randn(4, 6)
    torch.optim.Muon([w], lr=1.0, weight_decay=0.0).step()
    gram = (w.detach() @ w.detach().t()).tolist()
    assert all(0.3 < gram[i][i] < 1.7 for i in range(4))


def test_norm_kernels():
    from fasttensor.cpu import optim_norm
    tensors = [torch.arange(5.0), -torch.ones(40000), torch.zeros(0), torch.ones(3, dtype=torch.float64)]
    assert optim_norm.norm_of(tensors, 2.0) == pytest.approx((30 + 40000 + 3) ** 0.5)
    assert optim_norm.norm_of(tensors, 1.0) == pytest.approx(10 + 40000 + 3)
    assert optim_norm.norm_of(tensors, float("inf")) == 4
    assert optim_norm.norm_of(tensors, 3.0) == pytest.approx((100 + 40003) ** (1 / 3))
    optim_norm.scale_(tensors, 0.5)
    assert tensors[0].tolist() == [0, 0.5, 1, 1.5, 2] and tensors[1][-1].item() == -0.5
    with pytest.raises(TypeError):
        optim_norm.norm_of([torch.ones(2, dtype=torch.int64)], 2.0)
