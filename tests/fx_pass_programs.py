"""Passes over graphs that give the same text in both libraries, as in fx_programs.

    python tests/fx_pass_programs.py        # with PyTorch: writes tests/fx_pass_texts.json
"""
import json
import re
from importlib import import_module
from pathlib import Path

KEPT = Path(__file__).with_name("fx_pass_texts.json")
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def part(torch, name):
    return import_module(torch.__name__ + ".fx." + name)


def replaced(torch, root, pattern, replacement):
    traced = torch.fx.symbolic_trace(root)
    found = torch.fx.replace_pattern(traced, pattern, replacement)
    maps = [(str(m.anchor), {str(a): str(b) for a, b in m.nodes_map.items()}) for m in found]
    return f"{maps}{traced.code}"


@program
def patterns(torch):
    F, nn = torch.nn.functional, torch.nn

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 3)

        def forward(self, x):
            return self.first(x).tanh() + 1

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.second = nn.Linear(3, 3)

        def forward(self, x):
            return self.second(x).relu()

    def sums(x, w1, w2):
        m1, m2 = torch.cat([w1, w2]).sum(), torch.cat([w1, w2]).sum()
        return x + torch.max(m1) + torch.max(m2)

    def chain(x):
        v = torch.neg(x) + torch.relu(x)
        w = torch.neg(v) + torch.relu(v)
        return w + torch.relu(x)
    return "".join((
        replaced(torch, sums, lambda a, b: torch.cat([a, b]), lambda a, b: torch.stack([a, b])),
        replaced(torch, chain, lambda x: torch.neg(x) + torch.relu(x), lambda x: torch.relu(x)),
        replaced(torch, lambda x: torch.relu(torch.relu(torch.relu(x))), lambda x: torch.relu(torch.relu(x)), lambda x: x.abs()),
        replaced(torch, lambda x, y: (F.relu(x) + y, torch.relu(x)), lambda x: F.relu(x), lambda x: F.gelu(x)),
        replaced(torch, lambda x: (x + 1) * (x + 2), lambda a: a + 1, lambda a: a - 1),
        replaced(torch, lambda x: x.add(2, alpha=3) - x.add(2), lambda a: a.add(2, alpha=3), lambda a: a * 7),
        replaced(torch, lambda x: x.sum() + 1, lambda a: a.sum(), lambda a: a.mean()),
        replaced(torch, Outer(), lambda x: x.tanh(), torch.fx.symbolic_trace(Inner()))))


@program
def patterns_with_filters(torch):
    rewriter, traced = part(torch, "subgraph_rewriter"), torch.fx.symbolic_trace(lambda x: x * 2 + x * 3)
    done = rewriter.replace_pattern_with_filters(traced, lambda x: x * 2, lambda x: x * 5, ignore_literals=True,
                                                 match_filters=[lambda match, graph, pattern: match.anchors[0].name == "mul"])
    return f"{[[str(n) for n in d.replacements] for d in done]}{traced.code}"


def net(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
            self.rest = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.Dropout())
            self.fc, self.scale = nn.Linear(4, 2), nn.Parameter(torch.ones(2))

        def forward(self, x, y=None):
            a = self.rest(F.relu(self.norm(self.conv(x))))
            b = self.fc(a.mean((2, 3))) * self.scale
            return b + 1, b.clamp(min=0)
    torch.manual_seed(0)
    return Net().eval()


@program
def shapes(torch):
    traced = torch.fx.symbolic_trace(net(torch))
    part(torch, "passes.shape_prop").ShapeProp(traced).propagate(torch.ones(2, 3, 6, 6))
    lines = [f"{node} {node.meta.get('tensor_meta')} {node.meta['type'].__name__}" for node in traced.graph.nodes]
    return "\n".join([*lines, traced.print_readable(False), traced.print_readable(False, include_stride=True, include_device=True, colored=True)])


@program
def normalized(torch):
    traced = torch.fx.symbolic_trace(net(torch))
    return "\n".join(f"{n} {n.normalized_arguments(traced)} {n.normalized_arguments(traced, normalize_to_only_use_kwargs=True)}"
                     for n in traced.graph.nodes)


def thirds():
    numbers = {}
    return lambda node: numbers.setdefault(node, len(numbers) // 3)


@program
def splits(torch):
    split = part(torch, "passes.split_module").split_module
    module, out = net(torch), []
    traced = torch.fx.symbolic_trace(module)
    for options in ({}, {"keep_original_order": True}, {"tuple_return": True}, {"partition_affix": "a"}, {"keep_original_input_name": False},
                    {"keep_original_node_name": True}):
        names = {}
        made = split(traced, module, thirds(), names, **options)
        out += [str(made), str(names), *(child.code for _, child in made.named_children())]
    order = {"conv": 0, "norm": 1, "relu": 0, "rest_0": 2, "rest_1": 2, "rest_2": 2, "mean": 3, "fc": 4, "mul": 4, "add": 5, "clamp": 6}
    order["relu"] = 1
    out.append(split(traced, module, lambda node: order[node.name]).code)
    return "\n".join(out)


@program
def fused(torch):
    optimization, module = part(torch, "experimental.optimization"), net(torch)
    nodes = list(torch.fx.symbolic_trace(module).graph.nodes)
    piece = optimization.extract_subgraph(module, nodes[3:5], [nodes[2]], [nodes[4]])
    return optimization.fuse(module).code + optimization.remove_dropout(module).code + piece.code


@program
def managers(torch):
    base, manager = part(torch, "passes.infra.pass_base"), part(torch, "passes.infra.pass_manager")

    class Swap(base.PassBase):
        def call(self, graph_module):
            changed = False
            for node in graph_module.graph.nodes:
                if node.target == "clamp":
                    node.target, changed = "clamp_min", True
                    node.args, node.kwargs = (node.args[0], 0), {}
            return base.PassResult(graph_module, changed)

    def count(graph_module):
        graph_module.meta["passes"] = graph_module.meta.get("passes", 0) + 1
    swap, counting = Swap(), manager.pass_result_wrapper(count)
    run = manager.PassManager([swap, counting], steps=2, constraints=[manager.this_before_that_pass_constraint(counting, swap)])
    result = run(torch.fx.symbolic_trace(net(torch)))
    return f"{result.modified} {result.graph_module.meta} {[p is swap for p in run.passes]}{result.graph_module.code}"


@program
def supports(torch):
    support, manipulation = part(torch, "passes.operator_support"), part(torch, "passes.graph_manipulation")
    traced = torch.fx.symbolic_trace(net(torch))
    traced.graph.erase_node(traced.graph.find_nodes(op="placeholder", target="y")[0])
    manipulation.get_size_of_all_nodes(traced, [torch.ones(2, 3, 6, 6)])
    modules = dict(traced.named_modules())
    some = support.OperatorSupport({"torch.nn.modules.conv.Conv2d": None, "mean": None, "_operator.add": None, "torch.nn.functional.relu": None})
    other = support.OpSupports.decline_if_node_in_names({"add"})
    lines = [f"{n} {some.is_node_supported(modules, n)} {support.chain(some, other).is_node_supported(modules, n)} "
             f"{support.any_chain(some, other).is_node_supported(modules, n)} {tuple(getattr(n, 'size_bytes', ()))}" for n in traced.graph.nodes]
    manipulation.replace_target_nodes_with(traced, "call_method", "clamp", "call_method", "clip")
    return "\n".join(lines) + traced.code


@program
def sorted_nodes(torch):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(torch.neg, (x,))
    b = graph.call_function(torch.relu, (a,))
    a.prepend(b)
    graph.output(b)
    tools = part(torch, "passes.tools_common")
    return tools.legalize_graph(torch.fx.GraphModule(torch.nn.Module(), graph)).code


@program
def tensor_types(torch):
    types = part(torch, "tensor_type")
    T, Dyn = types.TensorType, types.Dyn
    return re.sub("fasttensor", "torch", f"{T((1, Dyn))} {types.is_consistent(T((1, 2)), T((1, Dyn)))} {types.is_more_precise(T((1, 2)), T((1, Dyn)))} "
                  f"{types.is_more_precise(T((1, Dyn)), T((1, 2)))}")


def main():
    import warnings

    import torch
    warnings.simplefilter("ignore")
    KEPT.write_text(json.dumps({name: function(torch) for name, function in PROGRAMS.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
