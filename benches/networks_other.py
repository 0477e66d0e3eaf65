"""Training steps over graphs, tables, functions and environments, in PyTorch's API."""
import copy

from steps import case, train


def mlp(n, *widths, activation="ReLU"):
    """Linear layers of the widths with the activation between."""
    layers = []
    for inside, outside in zip(widths, widths[1:]):
        layers += [n.Linear(inside, outside), getattr(n, activation)()]
    return n.Sequential(*layers[:-1])


@case("network/graph_convolution")
def _(t):
    n, f, nodes, edges = t.nn, t.nn.functional, 2000, 12000
    source, to = t.randint(0, nodes, (2, edges))
    x, y = t.randn(nodes, 64), t.randint(0, 7, (nodes,))
    net = n.ModuleList([n.Linear(64, 64), n.Linear(64, 64), n.Linear(64, 7)])

    def mean(h):
        count = t.zeros(nodes).index_add(0, to, t.ones(edges)).clamp(min=1)
        return t.zeros(nodes, h.shape[1]).index_add(0, to, h[source]) / count[:, None]

    def loss():
        h = f.dropout(f.relu(net[0](mean(x))), 0.5)
        return f.cross_entropy(net[2](f.relu(net[1](mean(h)))), y)
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/graph_attention")
def _(t):
    n, f, nodes, edges, heads = t.nn, t.nn.functional, 1000, 6000, 4
    source, to = t.randint(0, nodes, (2, edges))
    x, y, rows = t.randn(nodes, 64), t.randint(0, 7, (nodes,)), to[:, None].expand(-1, heads)
    net = n.ModuleList([n.Linear(64, 64), n.Linear(64, 7), n.ParameterList([t.randn(heads, 16), t.randn(heads, 16)])])

    def loss():
        h = net[0](x).view(nodes, heads, 16)
        scores = f.leaky_relu((h * net[2][0]).sum(-1)[source] + (h * net[2][1]).sum(-1)[to], 0.2)
        largest = t.full((nodes, heads), -1e9).scatter_reduce(0, rows, scores, "amax")
        weights = (scores - largest[to]).exp()
        weights = weights / t.zeros(nodes, heads).scatter_add(0, rows, weights)[to]
        found = t.zeros(nodes, heads, 16).index_add(0, to, h[source] * weights[..., None])
        return f.cross_entropy(net[1](f.elu(found.flatten(1))), y)
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/recommendation")
def _(t):
    n, batch = t.nn, 256
    tables = n.ModuleList([n.EmbeddingBag(5000, 32, mode="sum") for _ in range(8)])
    net = n.ModuleList([tables, mlp(n, 13, 64, 32), mlp(n, 68, 64, 1)])
    dense, y = t.randn(batch, 13), t.randint(0, 2, (batch, 1)).float()
    bags, starts = [t.randint(0, 5000, (4 * batch,)) for _ in range(8)], t.arange(0, 4 * batch, 4)
    rows, columns = t.tril_indices(9, 9, -1)

    def loss():
        x = net[1](dense)
        z = t.stack([x] + [table(bag, starts) for table, bag in zip(tables, bags)], 1)
        pairs = t.bmm(z, z.transpose(1, 2))[:, rows, columns]
        return n.functional.binary_cross_entropy_with_logits(net[2](t.cat([x, pairs], 1)), y)
    return train(t, net, loss, t.optim.SGD(net.parameters(), lr=0.1))


@case("network/actor_critic")
def _(t):
    f, actor, critic = t.nn.functional, mlp(t.nn, 24, 256, 256, 4), mlp(t.nn, 28, 256, 256, 1)
    target = copy.deepcopy(critic)
    optimize_actor, optimize_critic = t.optim.Adam(actor.parameters()), t.optim.Adam(critic.parameters())
    state, action, reward, after = t.randn(128, 24), t.randn(128, 4), t.randn(128, 1), t.randn(128, 24)

    def run():
        with t.no_grad():
            wanted = reward + 0.99 * target(t.cat([after, actor(after).tanh()], 1))
        optimize_critic.zero_grad()
        f.mse_loss(critic(t.cat([state, action], 1)), wanted).backward()
        optimize_critic.step()
        optimize_actor.zero_grad()
        (-critic(t.cat([state, actor(state).tanh()], 1)).mean()).backward()
        optimize_actor.step()
        with t.no_grad():
            for p, q in zip(critic.parameters(), target.parameters()):
                q.mul_(0.995).add_(p, alpha=0.005)
    return run


@case("network/mixture_of_experts")
def _(t):
    n, width, x = t.nn, 64, t.randn(512, 64)
    net = n.ModuleList([n.Linear(width, 8)] + [mlp(n, width, 4 * width, width, activation="GELU") for _ in range(8)])

    def loss():
        weights, chosen = net[0](x).softmax(-1).topk(2, -1)
        weights, found = weights / weights.sum(-1, keepdim=True), t.zeros_like(x)
        for expert in range(8):
            row, place = t.where(chosen == expert)
            found.index_add_(0, row, net[1 + expert](x[row]) * weights[row, place, None])
        return ((found - x) ** 2).mean()
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/differential_equation")
def _(t):
    net, points = mlp(t.nn, 2, 50, 50, 50, 1, activation="Tanh"), t.rand(500, 2, requires_grad=True)

    def loss():
        u = net(points)
        first = t.autograd.grad(u.sum(), points, create_graph=True)[0]
        second = t.autograd.grad(first[:, 0].sum(), points, create_graph=True)[0][:, 0]
        return ((first[:, 1] + u[:, 0] * first[:, 0] - 0.01 * second) ** 2).mean()
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/meta_learning")
def _(t):
    call, f = t.func.functional_call, t.nn.functional
    net, x, y = mlp(t.nn, 1, 40, 40, 1), t.randn(10, 1), t.randn(10, 1)

    def loss():
        weights = dict(net.named_parameters())
        for _ in range(2):
            inner = f.mse_loss(call(net, weights, (x,)), y)
            gradients = t.autograd.grad(inner, list(weights.values()), create_graph=True)
            weights = {name: w - 0.01 * g for (name, w), g in zip(weights.items(), gradients)}
        return f.mse_loss(call(net, weights, (x,)), y)
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/gradients_by_sample")
def _(t):
    net, x, y = mlp(t.nn, 32, 64, 10), t.randn(64, 32), t.randint(0, 10, (64,))
    weights = {name: w.detach() for name, w in net.named_parameters()}

    def loss(weights, row, label):
        return t.nn.functional.cross_entropy(t.func.functional_call(net, weights, (row[None],)), label[None])
    gradients = t.func.vmap(t.func.grad(loss), (None, 0, 0))
    return lambda: gradients(weights, x, y)


@case("network/variational")
def _(t):
    f, x = t.nn.functional, t.rand(128, 784)
    net = t.nn.ModuleList([mlp(t.nn, 784, 400, 40), mlp(t.nn, 20, 400, 784)])

    def loss():
        mean, log_variance = net[0](x).chunk(2, 1)
        z = mean + t.randn_like(mean) * (log_variance / 2).exp()
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum()
        return f.binary_cross_entropy_with_logits(net[1](z), x, reduction="sum") + divergence
    return train(t, net, loss, t.optim.Adam(net.parameters()))


@case("network/normalizing_flow")
def _(t):
    net, x, normal = t.nn.ModuleList([mlp(t.nn, 4, 64, 8) for _ in range(6)]), t.randn(256, 8), t.distributions.Normal(0.0, 1.0)

    def loss():
        z, logarithm = x, 0
        for part in net:
            kept, changed = z.chunk(2, 1)
            scale, shift = part(kept).chunk(2, 1)
            scale = t.tanh(scale)
            logarithm = logarithm + scale.sum(1)
            z = t.cat([changed * scale.exp() + shift, kept], 1)
        return -(normal.log_prob(z).sum(1) + logarithm).mean()
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/gaussian_process")
def _(t):
    x, y, net = t.rand(100, 3), t.randn(100), t.nn.ParameterList([t.zeros(3), t.tensor(-2.0)])

    def loss():
        z = x / net[0].exp()
        factor = t.linalg.cholesky(t.exp(-0.5 * t.cdist(z, z) ** 2) + net[1].exp() * t.eye(100))
        return 0.5 * (y @ t.cholesky_solve(y[:, None], factor)[:, 0]) + factor.diagonal().log().sum()
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/mlp_bfloat16")
def _(t):
    net, x, y = mlp(t.nn, 256, 512, 512, 10), t.randn(128, 256), t.randint(0, 10, (128,))

    def loss():
        with t.autocast("cpu", dtype=t.bfloat16):
            return t.nn.functional.cross_entropy(net(x), y)
    return train(t, net, loss, t.optim.AdamW(net.parameters()))


@case("network/mlp_float64")
def _(t):
    net, x = mlp(t.nn, 64, 128, 128, 1, activation="Tanh").double(), t.randn(256, 64).double()
    return train(t, net, lambda: net(x).pow(2).mean(), t.optim.AdamW(net.parameters()))


@case("network/lbfgs")
def _(t):
    net, x, y = mlp(t.nn, 10, 20, 1, activation="Tanh"), t.randn(100, 10), t.randn(100, 1)
    optimizer = t.optim.LBFGS(net.parameters(), lr=0.1, max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = t.nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss
    return lambda: optimizer.step(closure)


@case("network/k_means")
def _(t):
    x = t.randn(5000, 16)
    centres = x[:32].clone()

    def run():
        nearest = t.cdist(x, centres).argmin(1)
        count = t.zeros(32).index_add_(0, nearest, t.ones(5000))
        return t.zeros(32, 16).index_add_(0, nearest, x) / count.clamp(min=1)[:, None]
    return run
