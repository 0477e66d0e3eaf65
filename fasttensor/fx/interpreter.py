"""`Interpreter`: runs a graph node by node. `Transformer`: makes another graph on the way."""
import inspect

from fasttensor.nn import Module

from . import traceback as fx_traceback
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a `GraphModule` node by node, with a method for each kind of node; subclasses do something else with some of them.

    ``env`` holds the values of the nodes that are still used (with `garbage_collect_values` the others are dropped at once). `graph` is
    run in the place of the module's own.

    >>> import fasttensor as torch
    >>> class Negative(Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return -super().call_function(target, args, kwargs)
    >>> Negative(torch.fx.symbolic_trace(lambda x: torch.relu(x))).run(torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = {}
        if garbage_collect_values:
            seen = set()
            for node in reversed(self.graph.nodes):
                for used in node._input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """What the graph gives for the arguments.

        `initial_env` gives values of nodes that are not run then. The arguments are those of the module, or with
        ``enable_io_processing=False`` those of the graph, which differ where they are nested. Errors say which node was run.
        """
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
                    error.args = (f"{error.args[0]}\n\n{text}" if error.args else text, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for gone in self.user_to_last_uses.get(node, ()):
                self.env.pop(gone, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """`run` of a list of arguments, which is emptied so that they can be freed while the graph runs."""
        env = {}
        for i, node in enumerate(n for n in self.graph.nodes if n.op == "placeholder"):
            env[node] = args_list[i]
        args_list.clear()
        return self.run(initial_env=env)

    def _set_current_node(self, node):
        return fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}")

    def run_node(self, n):
        """The value of one node, by the method that its kind names."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if not isinstance(args, tuple):
                raise AssertionError(f"Expected args to be tuple, got {type(args)}")
            if not isinstance(kwargs, dict):
                raise AssertionError(f"Expected kwargs to be dict, got {type(kwargs)}")
            return getattr(self, n.op)(n.target, args, kwargs)

    # --- one method a kind ---
    def placeholder(self, target, args, kwargs):
        """The next argument; the default in ``args`` where there is none. RuntimeError where there is no default either."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The call of a function."""
        if isinstance(target, str):
            raise AssertionError(f"Expected target to be callable, got string: {target}")
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The call of a method of the first argument."""
        this, *rest = args
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        return getattr(this, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """The call of a submodule."""
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the graph returns."""
        return args[0]

    # --- values ---
    def fetch_attr(self, target):
        """An attribute of the module by its dotted name. RuntimeError where it is not there."""
        found, parts = self.module, target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """A node's arguments, with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Values in the place of the nodes in nested arguments of node `n`. RuntimeError where a node has no value."""
        def value(used):
            if used not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues")
            return self.env[used]
        return map_arg(args, value)


class Transformer(Interpreter):
    """Runs a graph with `Proxy` values and makes a new module of what its methods do: overridden ones change the program.

    >>> import fasttensor as torch
    >>> class Tanh(Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)
    >>> print(Tanh(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform().code.strip())
    def forward(self, x):
        tanh = torch.tanh(x);  x = None
        return tanh
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph, self._run = Graph(), None
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph, self.tensor_attrs = graph, {}

            def is_leaf_module(self, m, module_qualified_name):
                return True
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def run_node(self, n):
        """The proxy of what a node becomes."""
        self._run = n
        made = super().run_node(n)
        node = getattr(made, "node", None) if isinstance(made, Proxy) else None
        if isinstance(node, Node) and n._written and node.target is n.target and node._written is None:
            object.__setattr__(node, "_written", n._written)       # which of a function's names it had
        return made

    def placeholder(self, target, args, kwargs):
        """A placeholder of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else inspect.Signature.empty), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A node that reads an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A node that calls a submodule."""
        module = self.fetch_attr(target)
        if not isinstance(module, Module):
            raise AssertionError(f"Expected Module, got {type(module)}")
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A node that calls a function."""
        same = self._run if self._run.op == "call_function" and self._run.target is target and self._run._written else None
        name = same and self.new_graph._target_to_str(same._written.rpartition(".")[2])
        return self.tracer.create_proxy("call_function", target, args, kwargs, name=name)

    def transform(self):
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            output = self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
            old = self.graph.output_node()
            for key, value in old.meta.items():
                output.meta.setdefault(key, value)
        return GraphModule(self.module, self.new_graph)
