"""Programs whose graphs have the same text in both libraries; each function gets the library and returns the text.

    python tests/fx_programs.py        # with PyTorch: writes tests/fx_texts.json
"""
import json
import math
import operator
import re
from pathlib import Path

KEPT = Path(__file__).with_name("fx_texts.json")
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def texts(torch, root, concrete_args=None, tracer=None):
    """All texts of a traced module."""
    if tracer is None:
        traced = torch.fx.symbolic_trace(root, concrete_args)
    else:
        graph = tracer.trace(root, concrete_args)
        traced = torch.fx.GraphModule(tracer.root, graph)
    return f"{traced.graph}\n{traced.code}\n{traced.print_readable(False)}"


@program
def operators(torch):
    def f(x, y=2, *, z=None):
        a = x + y - 3 * x / 2 // y % 5 ** x @ x
        b = (a << 1) >> x & x | x ^ y
        c = (~(a < b) == (a <= 1)) + (a != (a > b))
        d = -a, +b, abs(c), 2 - a, 2 / b, 2 ** c, 2 @ d_of(a), 1 << a, 7 // a, 7 % a
        a += 1
        a *= b
        return {"a": a, "b": [b, (c, None)], "s": slice(a, None)}, d, x[0, :, 1:3, ..., None], y >= x

    def d_of(x):
        return x.T
    return texts(torch, f)


@program
def names_of_functions(torch):
    F = torch.nn.functional

    def f(x):
        a = torch.absolute(x) + torch.abs(x) + torch.clip(x, 0, 1) + torch.clamp(x, min=0) + torch.multiply(x, 2)
        b = F.relu(a) + torch.relu(a) + F.gelu(a) + F.silu(a, inplace=True) + F.softmax(a, 1) + torch.softmax(a, 1)
        c = torch.concat([a, b]) + torch.cat((a, b), dim=1) + torch.special.erf(a) + torch.special.gammaln(a) + torch.erf(a)
        d = torch.linalg.det(c) + torch.det(c) + torch.linalg.norm(c) + torch.norm(c) + torch.fft.fft(c).real
        e = F.linear(d, c) + F.conv2d(d, c, stride=2) + F.max_pool2d(d, 2) + F.avg_pool2d(d, 2) + F.logsigmoid(d) + F.adaptive_avg_pool2d(d, 1)
        g = F.max_pool2d(e, kernel_size=2, return_indices=True)[1] + F.threshold(e, 0.1, 2.0) + F.sigmoid(e) + F.tanh(e) + torch.sigmoid(e)
        h = torch.einsum("ij->i", g) + torch.split(g, 2)[0] + torch.tensordot(g, g) + torch.meshgrid(g, g, indexing="ij")[0]
        i = F.cross_entropy(h, g) + F.interpolate(h, scale_factor=2.0) + F.layer_norm(h, (3,)) + F.dropout(h, 0.5, True) + F.pad(h, (1, 1))
        return torch.where(i > 0, i, -i), torch.max(i, 1)[0], torch.unique(i), torch.cdist(i, h)
    return texts(torch, f)


@program
def methods(torch):
    def f(x):
        n = x.size(0)
        a = x.view(n, -1).sum(dim=1, keepdim=True).to(torch.float16).to(device="cpu", dtype=torch.float64)
        b, c = a.split(2)
        d = x.shape[0] + x.grad.data + x.T.contiguous()
        return b.add_(1), c.size(), d.new_zeros(3), x.foo(x.foo), x.bar
    return texts(torch, f)


def net(torch):
    nn, F = torch.nn, torch.nn.functional

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.plain = torch.ones(4)

        def forward(self, x):
            return self.fc(x) * self.plain

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
            self.layers = nn.ModuleList([Inner(), nn.Sequential(nn.Linear(4, 4), nn.ReLU())])
            self.scale = nn.Parameter(torch.ones(4))
            self.register_buffer("shift", torch.ones(4))
            self.act, self.constant = F.relu, torch.zeros(4)

        def forward(self, x, flag: bool = False) -> torch.Tensor:
            x = self.act(self.bn(self.conv(x)))
            x = F.adaptive_avg_pool2d(x, (1, 1)).flatten(1)
            for layer in self.layers:
                x = layer(x) * self.scale + self.shift
            x = self.constant - x
            x = self.constant.add(x) + torch.add(self.shift, x) + torch.ones(4)
            if flag:
                x = x + 1
            return F.log_softmax(x, dim=1)
    torch.manual_seed(0)
    return Net().eval()


@program
def modules(torch):
    return texts(torch, net(torch), {"flag": False})


@program
def whole_module(torch):
    return str(torch.fx.symbolic_trace(net(torch), concrete_args={"flag": False}))


@program
def tensors_first(torch):
    def f(x):
        k = torch.ones(3)
        return (k + x, k - x, k * x, k / x, k // x, k % x, k ** x, k @ x, k << x, k & x, k | x, k ^ x, k < x, k <= x, k == x, k != x, k > x, k >= x,
                k[x], k.masked_fill(x, 0), torch.masked_fill(k, x, 0), k.max(x), torch.max(k, x), k.reshape(x.shape), torch.zeros((x.size(0), 2)))
    return texts(torch, f)


@program
def annotations(torch):
    from typing import Dict, List, Optional, Tuple

    def f(x: List[torch.Tensor], y: Optional[int] = 3, k: Dict[str, torch.Tensor] = None, n: "int|None" = None, *args, m: float = 0.5,
          **kwargs) -> Tuple[torch.Tensor, List[int]]:
        a, b = x
        return a + args[0], b * kwargs["b"] + m
    return texts(torch, f)


@program
def nested_arguments(torch):
    def f(x, y):
        return {"out": x["a"] + y[0] + y[1]}
    PH = torch.fx.PH
    return texts(torch, f, {"x": {"a": PH}, "y": (PH, 3)}) + texts(torch, f, {"x": {"a": PH}, "y": (PH, PH)})


@program
def constants(torch):
    def f(x):
        return (torch.float32, x.to(torch.device("cuda:0")), torch.Size([1, 2]), slice(x), (1,), 1j, float("nan"), -float("inf"), range(3),
                torch.strided, torch.contiguous_format, ..., "text", None, True, math.pi)
    return texts(torch, f)


@program
def specialised(torch):
    def f(x, y, z):
        return x + y if z is None else x
    return texts(torch, f, {"y": 3, "z": None})


@program
def by_hand(torch):
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", torch.Tensor, default_value=None)
    a = graph.call_function(torch.relu, (x,))
    b = graph.call_function(torch.nn.functional.relu, (a,), {"inplace": True})
    c = graph.call_method("view", (b, -1))
    d, e = graph.get_attr("lin.weight"), graph.call_module("lin", (c,))
    g = graph.create_node("call_function", torch.add, (e, d), {"alpha": 2}, name="my_add")
    with graph.inserting_before(c):
        graph.call_function(operator.neg, (b,))
    with graph.inserting_after(e):
        graph.call_function(torch.nn.functional.linear, (e, d))
    graph.output((g, {"a": e, "y": y}))
    graph.lint()
    nn = torch.nn
    module = torch.fx.GraphModule({"lin": nn.Linear(4, 4), "lin.weight": nn.Parameter(torch.ones(4, 4))}, graph)
    before = f"{graph}\n{module.code}"
    graph.eliminate_dead_code()
    module.recompile()
    return f"{before}\n{graph}\n{module.code}"


@program
def names(torch):
    graph = torch.fx.Graph()
    wanted = ["x", "x", "x_1", "x_1", "layerNorm1", "a.b.0", "0", "", "sum", "for", "inf", "torch", "HTTPServer", "a-b", "x_01", "_", "y_3", "y", "é"]
    made = [graph.placeholder(name).name for name in wanted]
    made += [graph.create_node("call_module", name).name for name in wanted]
    return "\n".join([*made, str(graph)])


@program
def transformed(torch):
    fx, F = torch.fx, torch.nn.functional

    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target == F.relu:
                return super().call_function(F.gelu, args, {})
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            if target == "flatten":
                return args[0].reshape(args[0].shape[0], -1)
            return super().call_method(target, args, kwargs)
    traced = fx.symbolic_trace(net(torch), concrete_args={"flag": False})
    return Swap(traced).transform().code + fx.Transformer(traced).transform().code


@program
def replaced_operator(torch):
    traced = torch.fx.symbolic_trace(net(torch), concrete_args={"flag": False})
    for node in traced.graph.nodes:
        if node.op == "call_function" and node.target == operator.add:
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(torch.bitwise_and, node.args, node.kwargs)
                node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.recompile()
    return traced.code


@program
def other_leaves(torch):
    class Buffers(torch.fx.Tracer):
        proxy_buffer_attributes = True

    class Buffered(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3))

        def forward(self, x):
            self.b.add_(1)
            return self.b * x

    class Shapes(torch.fx.Tracer):
        def __init__(self):
            super().__init__(param_shapes_constant=True)

        def is_leaf_module(self, m, name):
            return name in ("conv", "bn")

    class Shaped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3, 4))
            self.register_buffer("b", torch.ones(3))
            self.child = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Identity()))

        def forward(self, x):
            return self.child(x @ self.w.t() if self.w.shape[0] == 3 and self.w.dim() == 2 else x) + self.b
    return texts(torch, Shaped(), tracer=Shapes()) + texts(torch, Buffered(), tracer=Buffers())


@program
def math_functions(torch):
    def f(x):
        return math.sqrt(x.size(0)) + math.floor(x.shape[1])
    return texts(torch, f)


@program
def changed_code(torch):
    traced = torch.fx.symbolic_trace(lambda x: x + 1)
    with traced.graph.on_generate_code(lambda before: lambda body: ["print(1)\n", *body]):
        traced.recompile()
        inside = traced.code
    traced.recompile()
    return inside + traced.code


@program
def errors(torch):
    told = []

    def say(function):
        try:
            function()
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}")

    def loops(x):
        for _ in x:
            pass
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.relu, (x,))
    other = torch.fx.Graph().placeholder("z")
    for function in (loops, lambda x: 1 if x else 2, lambda x: len(x), lambda x: int(x), lambda x: range(x), lambda x: x in [1], lambda x: {x: 1},
                     lambda x: dict(a=object()), lambda x: x.__setitem__ and {**x}):
        say(lambda function=function: torch.fx.symbolic_trace(function))
    for function in (lambda: graph.erase_node(x), lambda: graph.create_node("foo", "x"), lambda: graph.call_function("a"),
                     lambda: y.append(other), lambda: graph.inserting_before(other), lambda: y.args.append, lambda: y.update_arg(0, other) or graph.lint(),
                     lambda: torch.fx.GraphModule({}, graph.get_attr("a.b").graph), lambda: torch.fx.wrap("f"), lambda: torch.fx.wrap(3),
                     lambda: torch.fx.immutable_collections.immutable_list([1]).append(2)):
        say(function)
    return re.sub(r" at 0x\w+", "", "\n".join(told))


def main():
    import warnings

    import torch
    warnings.simplefilter("ignore")
    KEPT.write_text(json.dumps({name: function(torch) for name, function in PROGRAMS.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
