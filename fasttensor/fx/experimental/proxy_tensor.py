"""``make_fx``: the operators that a function runs on tensors, as a graph."""
import functools
import inspect
import operator

import fasttensor as torch
from fasttensor.fx.graph import Graph
from fasttensor.fx.graph_module import GraphModule
from fasttensor.standin.fake_tensor import FakeTensorMode
from fasttensor.utils import _pytree
from fasttensor.utils._python_dispatch import TorchDispatchMode

from .gradients import FORMULAS, operator_gradient

__all__ = ["ProxyTorchDispatchMode", "get_proxy_mode", "make_fx"]


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Writes each operator into a graph while it runs.

    Args:
        root: the module that tensors which come from outside become attributes of.
        graph: what is written to.
        decompositions: {operator: function} of operators that are written as what the function runs.
    """

    def __init__(self, root, graph, decompositions=None):
        super().__init__()
        self.root, self.graph, self.decompositions = root, graph, decompositions or {}
        self.nodes = {}             # id of a tensor -> (itself, its node in the graph)
        self.calls = {}             # id of a node of autograd -> (itself, operator, arguments, the same as nodes, number of outputs)

    def track(self, tensor, node):
        """Say which node of the graph gives a tensor."""
        self.nodes[id(tensor)] = tensor, node
        node.meta.setdefault("val", tensor.detach() if not tensor.requires_grad else tensor)

    def node_of(self, value):
        """The graph's node of a tensor, a constant where it comes from outside; other values as they are."""
        if not isinstance(value, torch.Tensor):
            return value
        found = self.nodes.get(id(value))
        if found is None:
            kind = "_param_constant" if isinstance(value, torch.nn.Parameter) else "_tensor_constant"
            name = next(f"{kind}{k}" for k in range(len(self.nodes) + 1) if not hasattr(self.root, f"{kind}{k}"))
            setattr(self.root, name, value)
            node = self.graph.create_node("get_attr", name)
            self.nodes[id(value)] = found = value, node
        return found[1]

    def knows(self, values):
        """Whether a tensor among values was computed in the graph."""
        return any(isinstance(v, torch.Tensor) and id(v) in self.nodes and self.nodes[id(v)][1].op != "get_attr" for v in _pytree.tree_leaves(values))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.decompositions:
            with self:
                return self.decompositions[func](*args, **kwargs)
        name = func.overloadpacket.__name__
        if name == "_local_scalar_dense" and self.knows((args, kwargs)):
            raise RuntimeError(f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's likely that this is "
                               "caused by data-dependent control flow or similar: make_fx writes one path of the program, for any values.")
        named_args, named_kwargs = _pytree.tree_map(self.node_of, (tuple(args), dict(kwargs)))
        out = func(*args, **kwargs)
        if (forward := getattr(func, "gradient_of", None)) is not None:
            node = self.graph.create_node("call_function", operator_gradient, (str(forward), *named_args), named_kwargs, name=name.lstrip("_"))
        elif func.for_gradients:
            raise NotImplementedError(f"make_fx: {func} has no operator to be written as")
        else:
            node = self.graph.create_node("call_function", func, named_args, named_kwargs, name=name.lstrip("_") or name)
        self._take(out, node)
        made = [t for t in _pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
        for t in made:
            if t.grad_fn is not None:
                self.calls[id(t.grad_fn)] = t.grad_fn, func, (args, kwargs), (named_args, named_kwargs), made
        return out

    def _take(self, out, node):
        if isinstance(out, torch.Tensor):
            self.track(out, node)
        elif isinstance(out, (tuple, list)):
            for k, part in enumerate(out):
                if isinstance(part, torch.Tensor):
                    self.track(part, self.graph.create_node("call_function", operator.getitem, (node, k), {}))

    def trace_gradient(self, node, grads):
        """A node's backward, as the operators that it is made of."""
        found = self.calls.get(id(node))
        if found is None:
            raise NotImplementedError(f"make_fx: the gradient of {node.name()} belongs to an operation from before or outside of the graph: "
                                      "compute what is differentiated inside of the function")
        _, func, (args, kwargs), named, made = found
        grads = grads if isinstance(grads, tuple) else (grads,)
        name = func.overloadpacket.__name__
        tensors = [t for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if name in FORMULAS and len(grads) == 1 and not set(kwargs) - {"alpha"}:
            results = FORMULAS[name](grads[0], *args, **kwargs)
            results = [g for a, g in zip(args, results) if isinstance(a, torch.Tensor)]
            results = [g if g is None or g.shape == t.shape else g.sum_to_size(t.shape) for t, g in zip(tensors, results)]
        else:
            floats = [t for t in made if t.is_floating_point() or t.is_complex()]
            given = list(grads) if len(grads) == len(floats) else [next((g for g, o in zip(grads, made) if o is t), None) for t in floats]
            results = self._written(func, given, args, kwargs, named)
        wanted = iter([g for t, g in zip(tensors, results) if t.requires_grad])
        return tuple(None if edge is None else next(wanted, None) for edge, _ in node.next_functions)

    def _written(self, func, grads, args, kwargs, named):
        if torch.is_grad_enabled():
            raise NotImplementedError(f"make_fx: create_graph=True through {func}: gradients of gradients are written for sums and products only")
        names = [self.node_of(g) for g in grads]
        mode = torch._core.dispatch.set_aside_mode()
        try:
            results = operator_gradient(str(func), grads, *args, **kwargs)
        finally:
            torch._core.dispatch.put_back_mode(mode)
        node = self.graph.create_node("call_function", operator_gradient, (str(func), names, *named[0]), named[1],
                                      name=func.overloadpacket.__name__.strip("_") + "_backward")
        self._take(results, node)
        return results


def get_proxy_mode():
    """The ProxyTorchDispatchMode that is entered, or None."""
    from fasttensor.utils._python_dispatch import _get_current_dispatch_mode_stack
    return next((m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, ProxyTorchDispatchMode)), None)


def make_fx(f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False, record_module_stack=False,
            _allow_fake_constant=False, _error_on_data_dependent_ops=True, record_stack_traces=False, proxy_module_inputs=False,
            _disable_torch_fn_metadata_mode=False):
    """A function that runs `f` on examples and gives a GraphModule of the operators of ``torch.ops.aten`` which ran, gradients included.

    Args:
        f: of tensors, numbers and nested lists, tuples and dicts of them. Other values, and the sizes of tensors, are constants of the graph.
        decomposition_table: {operator: function}: what is written in an operator's place.
        tracing_mode: "real"; "fake" runs on shapes only. "symbolic" raises NotImplementedError: there are no symbolic sizes.

    Gradients of common operators are written as operators, those of others as ``operator_gradient``, which runs the operator again.
    RuntimeError where `f` looks at a value.

    >>> import fasttensor as torch
    >>> from fasttensor.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: torch.relu(x) + 1)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        relu = torch.ops.aten.relu.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(relu, 1);  relu = None
        return add
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be 'real', 'fake' or 'symbolic', got {tracing_mode!r}")
    if tracing_mode == "symbolic":
        raise NotImplementedError("make_fx: tracing_mode='symbolic' needs symbolic sizes, which are not here: "
                                  "'real' and 'fake' write a graph for the sizes given")

    @functools.wraps(f)
    def wrapped(*args):
        return _traced(f, args, decomposition_table, tracing_mode == "fake")
    return wrapped


def _traced(f, args, decompositions, fake):
    root, graph = torch.nn.Module(), Graph()
    mode = ProxyTorchDispatchMode(root, graph, decompositions)
    leaves, spec = _pytree.tree_flatten(args)
    fakes = FakeTensorMode(allow_non_fake_inputs=True) if fake else None
    if fake:
        leaves = [fakes.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in leaves]
    elif any(isinstance(x, torch.Tensor) for x in leaves):     # the caller's tensors keep their own graph
        leaves = [x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in leaves]
    inputs = _pytree.tree_unflatten(leaves, spec)
    for name, value in zip(_names(f, args), inputs):
        _placeholders(graph, mode, name, value)
    if fake:
        with fakes, mode:
            out = f(*inputs)
    else:
        with mode:
            out = f(*inputs)
    graph.output(_pytree.tree_map(mode.node_of, out))
    for node in reversed(list(graph.nodes)):        # what the sweep of gradients detaches for itself
        if node.target is torch.ops.aten.detach.default and not node.users:
            graph.erase_node(node)
    graph.lint()
    return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__) if not inspect.isfunction(f) else f.__name__.replace("<lambda>", "lambda"))


def _names(f, args):
    """Names of placeholders: those of the parameters."""
    try:
        found = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        found = []
    names = []
    for p in found:
        if p.kind == p.VAR_POSITIONAL:
            break
        names.append(p.name)
    names = names[:len(args)]
    return names + [f"arg{k}" for k in range(len(names), len(args))]


def _placeholders(graph, mode, name, value):
    """A placeholder for an argument; a nested one is taken apart in the graph."""
    leaves, spec = _pytree.tree_flatten(value)
    node = graph.create_node("placeholder", f"{name}_1", name=f"{name}_1")
    if isinstance(value, torch.Tensor):
        mode.track(value, node)
    elif leaves and not spec.is_leaf():
        _parts(graph, mode, node, value)


def _parts(graph, mode, node, value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, part in items:
        if isinstance(part, (torch.Tensor, dict, list, tuple)):
            inner = graph.create_node("call_function", operator.getitem, (node, key), {})
            mode.track(part, inner) if isinstance(part, torch.Tensor) else _parts(graph, mode, inner, part)


