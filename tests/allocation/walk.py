"""Runs calls of every family again and again, each time with another of their allocations failing. Started by test_allocation.py."""
import ctypes
import gc
import io
import sys

import fasttensor as torch
from fasttensor._core.storage import empty_cache, live_storages, set_cache_limit

F, nn, linalg = torch.nn.functional, torch.nn, torch.linalg
shim = ctypes.CDLL(None)
set_cache_limit(0)
torch.manual_seed(0)
MOST = 40                       # allocations of one call that are made to fail

x, m, image = torch.randn(3000), torch.randn(40, 40), torch.randn(2, 8, 12, 12)
positive = m @ m.t() + 40 * torch.eye(40)
weight, depthwise, i = torch.randn(8, 8, 3, 3), torch.randn(8, 1, 3, 3), torch.randint(3000, (3000,))
inside = image.contiguous(memory_format=torch.channels_last)
lstm, gru, sequence = nn.LSTM(8, 16, num_layers=2, bidirectional=True), nn.GRU(8, 16), torch.randn(6, 3, 8)
queries = torch.randn(2, 3, 20, 8)
volume = torch.randn(1, 2, 6, 6, 6)
encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
log_p = torch.randn(20, 4, 9).log_softmax(-1)
targets = torch.randint(1, 9, (4, 5))
table = torch.randn(50, 6)
saved = io.BytesIO()
torch.save({"x": x, "m": m}, saved)


def grads(function, *tensors):
    """Results of backward: the tensors' gradients."""
    leaves = [t.clone().requires_grad_() for t in tensors]
    y = function(*leaves)
    (y if isinstance(y, torch.Tensor) else y[0]).sum().backward()
    return [t.grad for t in leaves]


def step(name, **options):
    def run():
        p = m.clone().requires_grad_()
        optimizer = getattr(torch.optim, name)([p], lr=0.1, **options)
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        return p.detach()
    return run


def load():
    saved.seek(0)
    return torch.load(saved)["m"]


def save(t):
    file = io.BytesIO()
    torch.save(t + 1, file)
    return len(file.getvalue())


def inplace():
    y = x.clone()
    y.add_(1).mul_(2)
    y[i] = 3.0
    y[::2] = y[1::2]
    return y


CASES = {
    "add": lambda: x + x, "broadcast": lambda: m + m[0] * m[:, :1].t(), "exp": lambda: x.exp(), "mixed dtypes": lambda: x.double() + x.half(),
    "strided": lambda: m.t() + m[:, torch.arange(39, -1, -1)], "where": lambda: torch.where(x > 0, x, 0.0), "in place": inplace,
    "clamp": lambda: x.clamp(-x.abs(), x.abs()), "elementwise backward": lambda: grads(lambda t: (t.tanh() * t).exp().sigmoid(), x),
    "softmax backward": lambda: grads(lambda t: t.softmax(-1), m), "sum": lambda: m.sum(0), "mean": lambda: m.t().mean(1), "var": lambda: m.var(0),
    "norm": lambda: m.norm(dim=1), "max": lambda: m.max(0), "argmax": lambda: m.argmax(), "logsumexp": lambda: m.logsumexp(1),
    "median": lambda: m.median(0), "mode": lambda: m.round().mode(), "prod backward": lambda: grads(lambda t: t.prod(1), m),
    "quantile": lambda: m.quantile(0.3, 1), "histc": lambda: x.histc(20), "bincount": lambda: i.bincount(), "cumsum": lambda: m.cumsum(0),
    "cummax": lambda: m.cummax(0), "logcumsumexp backward": lambda: grads(lambda t: t.logcumsumexp(0), x), "matmul": lambda: m @ m,
    "matmul backward": lambda: grads(lambda a, b: a @ b, m, m), "bmm": lambda: torch.bmm(queries[0], queries[1].transpose(1, 2)),
    "half matmul": lambda: m.half() @ m.half(), "integer matmul": lambda: m.long() @ m.long(),
    "complex matmul": lambda: m.to(torch.complex64) @ m.to(torch.complex64), "einsum": lambda: torch.einsum("ij,kj->ik", m, m),
    "mv": lambda: m.t() @ x[:40], "dot": lambda: x @ x, "linear backward": lambda: grads(lambda a, w: F.linear(a, w, w[0]), m, m),
    "addmm": lambda: torch.addmm(m, m, m), "outer": lambda: x[:50].outer(x[:60]), "kron": lambda: torch.kron(m[:5], m[:5]),
    "conv1d": lambda: F.conv1d(x.view(1, 10, 300), weight[:, :5, 0].repeat(1, 2, 1)), "conv2d": lambda: F.conv2d(image, weight, padding=1),
    "conv2d stride": lambda: F.conv2d(image, weight, stride=2), "conv2d inside": lambda: F.conv2d(inside, weight),
    "conv2d backward": lambda: grads(F.conv2d, image, weight), "conv2d 1x1": lambda: grads(F.conv2d, image, weight[:, :, :1, :1]),
    "depthwise backward": lambda: grads(lambda a, w: F.conv2d(a, w, groups=8), image, depthwise),
    "grouped": lambda: grads(lambda a, w: F.conv2d(a, w, groups=2), image, weight[:, :4]),
    "double conv2d": lambda: F.conv2d(image.double(), weight.double()), "integer conv2d": lambda: F.conv2d(image.long(), weight.long()),
    "conv3d": lambda: grads(F.conv3d, volume, torch.ones(3, 2, 3, 3, 3)),
    "conv_transpose2d": lambda: grads(lambda a, w: F.conv_transpose2d(a, w, stride=2), image, weight),
    "unfold": lambda: F.fold(F.unfold(image, 3), (12, 12), 3), "max_pool2d": lambda: grads(lambda t: F.max_pool2d(t, 2), image),
    "avg_pool2d": lambda: grads(lambda t: F.avg_pool2d(t, 3, 2), inside),
    "adaptive pools": lambda: grads(lambda t: F.adaptive_max_pool2d(t, 5) + F.adaptive_avg_pool2d(t, 5), image),
    "max_pool3d": lambda: F.max_pool3d(volume, 2), "unpool": lambda: F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2),
    "pads": lambda: [grads(lambda t, k=k: F.pad(t, (1, 2, 1, 1), mode=k), image) for k in ("constant", "reflect", "replicate", "circular")],
    "bicubic": lambda: grads(lambda t: F.interpolate(t, scale_factor=2, mode="bicubic"), image),
    "bilinear": lambda: F.interpolate(inside, size=(7, 9), mode="bilinear"), "nearest": lambda: F.interpolate(volume, scale_factor=2),
    "grid_sample": lambda: grads(lambda t: F.grid_sample(t, torch.zeros(2, 5, 5, 2), align_corners=False), image),
    "batch_norm": lambda: grads(lambda t: F.batch_norm(t, None, None, training=True).square(), image),
    "group_norm": lambda: grads(lambda t: F.group_norm(t, 2).square(), image),
    "layer_norm": lambda: grads(lambda t, w: F.layer_norm(t, (40,), w).square(), m, m[0]), "instance_norm": lambda: F.instance_norm(image),
    "rms_norm": lambda: F.rms_norm(m, (40,)), "cholesky": lambda: linalg.cholesky(positive), "qr": lambda: linalg.qr(m),
    "svd": lambda: linalg.svdvals(m), "eigh": lambda: linalg.eigvalsh(positive), "eig": lambda: linalg.eigvals(positive).abs().sort()[0],
    "solve backward": lambda: grads(lambda a: linalg.solve(a, m), positive), "inv": lambda: linalg.inv(positive),
    "det": lambda: linalg.slogdet(positive), "lu": lambda: linalg.lu_factor(positive), "lstsq": lambda: linalg.lstsq(positive, m)[0],
    "pinv": lambda: linalg.pinv(positive), "matrix_exp": lambda: linalg.matrix_exp(m / 40),
    "triangular": lambda: linalg.solve_triangular(positive.triu(), m, upper=True), "fft": lambda: torch.fft.fft(x),
    "fft of a prime": lambda: torch.fft.fft(x[:2999]), "rfft2": lambda: torch.fft.irfft2(torch.fft.rfft2(image)),
    "stft": lambda: torch.stft(x, 64, return_complex=True, window=torch.ones(64)), "sort": lambda: x.sort(), "sort rows": lambda: m.sort(0),
    "topk": lambda: x.topk(20), "kthvalue": lambda: m.kthvalue(3), "unique": lambda: i.unique(return_counts=True),
    "unique dim": lambda: m.round().unique(dim=0), "searchsorted": lambda: torch.searchsorted(x.sort()[0], x), "isin": lambda: torch.isin(i, i[:50]),
    "gather": lambda: grads(lambda t: t.gather(0, i), x), "x[i]": lambda: grads(lambda t: t[i], x), "x[i, j]": lambda: m[i[:10] % 40, :, None],
    "x[mask]": lambda: grads(lambda t: t[t > 0], x), "nonzero": lambda: x.round().nonzero(), "scatter_add": lambda: x.scatter_add(0, i, x),
    "scatter_reduce": lambda: grads(lambda t: t.scatter_reduce(0, i, t, "amax"), x), "index_add": lambda: m.index_add(0, i[:40] % 40, m),
    "index_put": lambda: m.index_put((i[:10] % 40,), m[:10], accumulate=True), "masked_scatter": lambda: x.masked_scatter(x > 0, x),
    "take": lambda: grads(lambda t: t.take(i), x), "cat": lambda: torch.cat([m, m.t()], 1), "stack": lambda: torch.stack([x, x], 1),
    "roll": lambda: m.roll((3, 5), (0, 1)), "flip": lambda: m.flip(0), "repeat": lambda: m.repeat(2, 3),
    "repeat_interleave": lambda: x.repeat_interleave(2), "tril": lambda: m.tril(), "one_hot": lambda: F.one_hot(i[:50] % 7),
    "tensor": lambda: torch.tensor([[1.0, 2.0]] * 9), "embedding": lambda: grads(lambda t: F.embedding(i % 50, t), table),
    "embedding_bag": lambda: grads(lambda t: F.embedding_bag(i.view(300, 10) % 50, t, mode="mean"), table),
    "lstm": lambda: [*lstm(sequence)[0].detach().unbind()], "lstm backward": lambda: grads(lambda t: lstm(t)[0], sequence),
    "gru backward": lambda: grads(lambda t: gru(t)[0], sequence),
    "attention": lambda: F.scaled_dot_product_attention(queries, queries, queries, is_causal=True),
    "attention backward": lambda: grads(F.scaled_dot_product_attention, *[queries] * 3), "encoder": lambda: grads(encoder, torch.ones(2, 5, 16)),
    "cross_entropy": lambda: grads(lambda t: F.cross_entropy(t, i[:40] % 40), m), "mse": lambda: grads(lambda t: F.mse_loss(t, m.t()), m),
    "ctc_loss": lambda: grads(lambda t: F.ctc_loss(t, targets, [20] * 4, [5] * 4), log_p),
    "margin": lambda: grads(lambda t: F.multi_margin_loss(t, i[:40] % 40), m), "kl_div": lambda: F.kl_div(m, m.softmax(1)),
    "cdist": lambda: grads(lambda t: torch.cdist(t, m), m.t()), "pdist": lambda: grads(lambda t: F.pdist(t), m),
    "cosine": lambda: F.cosine_similarity(m, m.t()), "randn": lambda: torch.randn(3000).shape, "randperm": lambda: torch.randperm(500).shape,
    "dropout": lambda: F.dropout(x, 0.5).shape, "multinomial": lambda: x.abs().multinomial(5).shape, "numpy": lambda: (x + 1).numpy().tolist(),
    "load": load, "save": lambda: save(m.t()),
    "copies": lambda: (m.t().contiguous(), image.contiguous(memory_format=torch.channels_last), m.clone(), m.bfloat16()),
    "double backward": lambda: torch.autograd.grad( torch.autograd.grad((g := m.clone().requires_grad_()).sin().sum(), g, create_graph=True)[0].sum(), g)[0],
    "vmap": lambda: torch.vmap(lambda t: t.sort()[0] @ m)(m), "jacobian": lambda: torch.func.jacrev(lambda t: t.sin() * t)(x[:10]),
    "clip": lambda: nn.utils.clip_grad_norm_([nn.Parameter(m)], 1.0), "foreach": lambda: torch._foreach_add([m, x], 1.0),
    **{name: step(name) for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Rprop", "ASGD")},
    "SGD momentum": step("SGD", momentum=0.9), "sobol": lambda: torch.quasirandom.SobolEngine(3).draw(8), "histogram": lambda: x.histogram(10),
    "trapezoid": lambda: torch.trapezoid(m), "fractional": lambda: F.fractional_max_pool2d(image, 2, 6)[0].shape,
    "renorm": lambda: m.renorm(2, 0, 1.0), "cross": lambda: torch.cross(m[:, :3], m[:, 3:6], 1),
}


def plain(value):
    """Numbers to compare: lists of what is in tensors."""
    if isinstance(value, torch.Tensor):
        return plain(value.detach().tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return repr(value)


def attempt(run, first, last):
    """(error or None, allocations) of a call in which some allocations fail."""
    error = None
    shim.fail_between(first, last)
    try:
        run()
    except Exception as caught:
        error = caught.with_traceback(None)
        error.__context__ = error.__cause__ = None
    n = shim.fail_no_more()
    gc.collect()
    return error, n


def walk(name, run):
    want = plain(run())
    _, total = attempt(run, 1 << 30, 1 << 30)
    storages, failed = live_storages(), 0
    for n in range(1, min(total, MOST) + 1):
        for last in (n + 1, 1 << 30):       # a cached block is given back and asked for again; or there is no memory from here on
            held = []
            for _ in range(3):
                error, _ = attempt(run, n, last)
                held.append(shim.still_held())
                # Python's own MemoryError has no text, a kernel's says what it had no room for
                fine = "memory" in str(error) if isinstance(error, RuntimeError) else type(error) is MemoryError and not str(error)
                if error is not None and not fine:
                    print(f"{name}: allocation {n}: {type(error).__name__}: {error}")
                failed += error is not None
            if live_storages() != storages:
                print(f"{name}: allocation {n}: {live_storages() - storages} storages are left")
                storages = live_storages()
            if held[2] > held[1]:
                print(f"{name}: allocation {n}: {held[2] - held[1]} blocks are lost each time")
            if plain(run()) != want and not isinstance(want, str):
                print(f"{name}: allocation {n}: other values afterwards")
                break
    if not failed:
        print(f"{name}: nothing failed in {total} allocations")


chosen = [name for name in CASES if len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])]
for name in chosen:
    print("at", name, file=sys.stderr, flush=True)
    walk(name, CASES[name])
empty_cache()
print("done", len(chosen))
