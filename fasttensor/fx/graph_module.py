"""`GraphModule`: a module whose ``forward`` is written from a graph."""
import contextlib
import copy
import linecache
import os
import sys
from pathlib import Path

import fasttensor
from fasttensor import Tensor, nn
from fasttensor.nn import Module

from .graph import Graph, _custom_builtins, _PyTreeCodeGen

__all__ = ["reduce_graph_module", "GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"       # under which passes keep attributes in `meta`

# what of a module's state goes over to a copy
HOOKS = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
         "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_backward_hooks", "_backward_pre_hooks",
         "_non_persistent_buffers_set", "_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


class _Sources:
    """Keeps generated sources, so that tracebacks show their lines."""

    def __init__(self):
        self.kept, self.count = {}, 0

    def cache(self, source, namespace, origin):
        key = f"<eval_with_key>.{self.count}"
        self.count += 1
        if origin:
            key += f" from {origin['co_filename']}:{origin['co_firstlineno']} in {origin['co_name']}"
        self.kept[key] = source
        linecache.lazycache(key, {**namespace, "__file__": key, "__name__": key, "__loader__": self})
        return key

    def get_source(self, name):
        """The source that goes by a name."""
        return self.kept.get(name)


_loader = _Sources()


def _method_from_src(method_name, src, globals, co_fields=None):
    namespace = dict(globals)
    exec(compile(src, _loader.cache(src, namespace, co_fields), "exec", dont_inherit=True), namespace)
    return namespace.pop(method_name)


def _forward_from_src(src, globals, co_fields=None):
    return _method_from_src("forward", src, globals, co_fields)


def _import_line(name, obj):
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if getattr(sys.modules.get(obj.__module__), obj.__name__, None) is not obj:
        raise AttributeError(f"GraphModule: the code names {obj!r}, which cannot be imported from {obj.__module__}")
    return f"from {obj.__module__} import {obj.__name__} as {name}"


def _format_import_block(globals, importer=None):
    return "\n".join(sorted({_import_line(name, obj) for name, obj in globals.items()}))


class _CodeOnlyModule(Module):
    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body, import_block):
    """The module of a pickle: its attributes, and the code of its forward, which is traced again."""
    known = {line: name for name, (line, _) in _custom_builtins.items()}
    lines = [line for line in import_block.split("\n") if line not in known]     # the library itself may go by another name
    namespace = {known[line]: _custom_builtins[known[line]].obj for line in import_block.split("\n") if line in known}
    forward = _forward_from_src("\n".join(lines) + (body.get("_code") or body["code"]), {**namespace, "torch": fasttensor})
    return _deserialize_graph_module(forward, body)


def _deserialize_graph_module(forward, body, graph_module_cls=None):
    from ._symbolic_trace import Tracer
    tracer_cls = body.get("_tracer_cls") or Tracer
    code_only = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)

    class KeepModules(tracer_cls):
        def is_leaf_module(self, m, module_qualified_name):
            return True
    graph = KeepModules().trace(code_only, **(body.get("_tracer_extras") or {}))
    traces = body.pop("_graphmodule_graph_node_meta_stack_trace", None) or {}
    for node in graph.nodes:
        if traces.get(node.name) is not None:
            node.meta["stack_trace"] = traces[node.name]
    graph._tracer_cls = tracer_cls
    made = (graph_module_cls or GraphModule)(code_only, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


def _copy_attr(from_module, to_module, target):
    *path, name = target.split(".")
    for part in path:
        found, there = getattr(from_module, part), getattr(to_module, part, None)
        if found is there:
            return
        if there is None:
            there = Module()
            setattr(to_module, part, there)
        from_module, to_module = found, there
    value = getattr(from_module, name)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


def _assign_attr(from_obj, to_module, target):
    *path, name = target.split(".")
    for part in path:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, nn.Parameter):
        to_module.register_buffer(name, from_obj)
    else:
        setattr(to_module, name, from_obj)


def _get_attr(model, attr_name):
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _del_attr(model, attr_name):
    path, _, name = attr_name.rpartition(".")
    delattr(_get_attr(model, path) if path else model, name)


class GraphModule(Module):
    """A module made of a `Graph` and of what the graph names: submodules, parameters and buffers of `root`, a module or a dict.

    ``code`` is the Python of its ``forward``. After changes of the graph `recompile` writes it anew.

    >>> graph = Graph()
    >>> _ = graph.output(graph.call_module("fc", (graph.placeholder("x"),)))
    >>> net = GraphModule({"fc": nn.Linear(2, 3)}, graph)
    >>> print(net.code.strip())
    def forward(self, x):
        fc = self.fc(x);  x = None
        return fc
    >>> net(fasttensor.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __new__(cls, *args, **kwargs):
        # forward is a method of the class, so every module has a class of its own
        base = next(kind for kind in cls.__mro__ if kind.__qualname__.rpartition(".")[2] != "GraphModuleImpl")

        class GraphModuleImpl(base):
            pass
        return Module.__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for name in ("_in_spec", "_out_spec"):
                if name in vars(root):
                    setattr(self, name, vars(root)[name])
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
            for target in sorted(dict.fromkeys(targets), key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self._replace_hooks, self._create_node_hooks, self._erase_node_hooks, self._deepcopy_hooks = [], [], [], []
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = dict(graph._tracer_extras) if graph._tracer_extras else {}
        self.meta = dict(getattr(root, "meta", None) or {}) if isinstance(root, Module) else {}
        self.shape_env = None

    __jit_unused_properties__ = ["graph", "_boxed_call"]

    @property
    def graph(self):
        """The graph; another that is assigned must name what this module has."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        if g.owning_module is not None and g.owning_module is not self:
            g = copy.deepcopy(g)            # another module's stays that module's
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The Python of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self):
        """Write ``forward`` anew from the graph; to be called after changes. Returns the `PythonCode`."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        written = self._graph.python_code("self")
        self._code, self._lineno_map, self._prologue_start = written.src, written._lineno_map, written._prologue_start
        type(self).forward = _method_from_src(codegen._func_name, written.src, written.globals, self._graph._co_fields)
        return written

    # --- what it holds ---
    def add_submodule(self, target, m):
        """Put a module under a dotted name; modules between are made. Whether that could be done."""
        *path, name = target.split(".")
        module = self
        for part in path:
            if not hasattr(module, part):
                setattr(module, part, Module())
            module = getattr(module, part)
            if not isinstance(module, Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Take a module away by its dotted name. Whether it was there."""
        *path, name = target.split(".")
        module = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self):
        """Take away the modules that the graph does not name."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[:i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    used.update(f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # --- text ---
    def __str__(self):
        return "\n".join([super().__str__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, *, fast_sympy_print=False,
                       expanded_def=False, additional_meta=None):
        """The module as a class with annotations of shapes, dtypes and origins, as far as the nodes have them; printed and returned."""
        text = _readable(self, self._get_name(), dict(include_stride=include_stride, include_device=include_device, colored=colored,
                                                      expanded_def=expanded_def, additional_meta=additional_meta))
        if print_output:
            print(text)
        return text

    # --- copies ---
    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        body = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        GraphModule.__init__(made, body, body.__dict__["_graph"])
        for name in HOOKS:
            if name in body.__dict__:
                made.__dict__[name] = body.__dict__[name]
        made.meta = copy.copy(getattr(self, "meta", {}))
        for name in USER_PRESERVED:
            if name in self.meta:
                setattr(made, name, self.meta[name])
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    def __reduce__(self):
        body = self.__dict__.copy()
        written = self.recompile()
        del body["_graph"]
        for name in ("_lineno_map", "_prologue_start"):
            body.pop(name, None)
        body["_graphmodule_cls_name"] = type(self).__name__
        traces = {node.name: node.meta["stack_trace"] for node in self.graph.nodes if "stack_trace" in node.meta}
        body["_graphmodule_graph_node_meta_stack_trace"] = traces
        return reduce_graph_module, (body, _format_import_block(written.globals))

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def to_folder(self, folder, module_name="FxModule"):
        """Write the module as Python source and files of its tensors and submodules into a folder, as a package."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        fasttensor.save(self.state_dict(), folder / "state_dict.pt")
        written = self.graph.python_code("self")
        lines = [_format_import_block({**written.globals, "torch": fasttensor}), "", "from torch.nn import *", f"class {module_name}(torch.nn.Module):",
                 "    def __init__(self):", "        super().__init__()"]
        for name, child in self.named_children():
            file = folder / f"{name}.pt"
            text = repr(child)
            if type(child) in (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
                lines.append(f"        self.{name} = {text}")
            else:
                fasttensor.save(child, file)
                short = text.replace("\r", " ").replace("\n", " ")
                lines.append(f"        self.{name} = torch.load({os.fspath(file)!r}, weights_only=False) # {short}")
        for name, tensor in self._buffers.items():
            if tensor is not None:
                lines.append(f"        self.register_buffer({name!r}, torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))")
        for name, tensor in self._parameters.items():
            if tensor is not None:
                lines.append(f"        self.{name} = torch.nn.Parameter(torch.empty({list(tensor.shape)}, dtype={tensor.dtype}))")
        lines.append(f"        self.load_state_dict(torch.load({os.fspath(folder / 'state_dict.pt')!r}))")
        source = "\n".join(lines) + "\n" + "\n".join("    " + line for line in written.src.split("\n")) + "\n"
        (folder / "module.py").write_text(source)
        (folder / "__init__.py").write_text("from .module import *")


USER_PRESERVED = ("_in_spec", "_out_spec")


def _indented(text):
    first, *rest = text.split("\n")
    return "\n".join([first, *("    " + line if line.strip() else "" for line in rest)])


def _readable(module, name, options):
    graph = getattr(module, "graph", None)
    if not isinstance(graph, Graph):
        raise AssertionError("print_readable must be used on a module with a graph")
    code = graph.python_code("self", verbose=True, **options).src.lstrip("\n")
    parts = ["", *(_readable(child, child_name, options) for child_name, child in module.named_children() if isinstance(child, GraphModule))]
    return _indented(f"class {name}(torch.nn.Module):\n" + code) + _indented("\n".join(parts))
