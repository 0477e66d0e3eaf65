"""``fasttensor.graph``: the recorded graph of a result, as a picture."""

import os

import fasttensor as ft

__all__ = ["graph", "GraphPicture"]

EXTRA = ("the graphviz package and the dot program draw pictures: pip install 'fasttensor[graph]' and install Graphviz itself (for example"
         " apt install graphviz), or write the text with save('graph.dot')")


def _quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class GraphPicture:
    """A graph in DOT's language: ``str(picture)`` is the text.

    `save` writes text (.dot, .gv) or, through the graphviz package, a picture (.svg, .png, .pdf); `svg` gives the picture's text.
    Notebooks show it where graphviz is installed.
    """

    def __init__(self, text, nodes, edges):
        self.text, self.nodes, self.edges = text, nodes, edges

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<GraphPicture of {self.nodes} nodes and {self.edges} edges: print it, save('graph.dot') or save('graph.svg')>"

    def _draw(self, kind):
        try:
            import graphviz
        except ImportError as error:
            raise ImportError(f"graph: {EXTRA}") from error
        try:
            return graphviz.Source(self.text).pipe(format=kind)
        except graphviz.ExecutableNotFound as error:
            raise RuntimeError(f"graph: {EXTRA}") from error

    def svg(self):
        """The picture as SVG. ImportError without the graphviz package, RuntimeError without its program."""
        return self._draw("svg").decode()

    def save(self, path):
        """Write the text or a picture, by the path's ending; returns the path."""
        path = os.fspath(path)
        kind = path.rpartition(".")[2].lower()
        content = self.text.encode() if kind in ("dot", "gv", "txt") else self._draw(kind)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def _repr_svg_(self):
        try:
            return self.svg()
        except (ImportError, RuntimeError):
            return None


class _Writer:
    """Walks the graph and writes a line for each node and edge."""

    def __init__(self, names, show_saved):
        self.names, self.show_saved = names, show_saved
        self.lines, self.known, self.edges = [], {}, 0
        self.held = []      # objects whose ids are in `known`

    def node(self, key, label, **style):
        """The name of a node, and whether it is new."""
        if key in self.known:
            return self.known[key], False
        name = self.known[key] = f"n{len(self.known)}"
        options = "".join(f", {option}={_quoted(value)}" for option, value in style.items())
        self.lines.append(f"  {name} [label={_quoted(label)}{options}];")
        return name, True

    def edge(self, source, target, **style):
        options = ", ".join(f"{option}={_quoted(value)}" for option, value in style.items())
        self.lines.append(f"  {source} -> {target}{f' [{options}]' if options else ''};")
        self.edges += 1

    def leaf(self, tensor):
        """A leaf's node; a parameter has its name, and another colour."""
        self.held.append(tensor)
        name = self.names.get(id(tensor))
        label = f"{name or type(tensor).__name__}\n{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
        return self.node(id(tensor), label, shape="box", style="filled", fillcolor="lightblue" if tensor.requires_grad else "lightgray")[0]

    def walk(self, root):
        """Everything that leads to a node of the recorded graph; its name."""
        first, new = self.operation(root)
        waiting = [root] if new else []
        while waiting:
            function = waiting.pop()
            target = self.known[id(function)]
            for source, number in function.next_functions:
                if source is None:
                    continue
                if hasattr(source, "variable"):
                    self.edge(self.leaf(source.variable), target)
                    continue
                name, new = self.operation(source)
                self.edge(name, target, **({"label": number} if number else {}))
                if new:
                    waiting.append(source)
        return first

    def operation(self, function):
        name, new = self.node(id(function), function.name())
        if new:
            self.held.append(function)
            if self.show_saved:
                self.saved(function, name)
        return name, new

    def saved(self, function, target):
        """The tensors that a node keeps for backward, unless they were freed."""
        try:
            kept = function.saved_tensors
        except RuntimeError:
            return
        for tensor in kept:
            if tensor is not None:
                self.held.append(tensor)
                label = f"saved\n{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
                source, _ = self.node(("saved", id(tensor)), label, shape="box", style="filled", fillcolor="orange")
                self.edge(source, target, style="dashed", dir="none")


def _tensors(value):
    if isinstance(value, ft.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    else:
        raise TypeError(f"graph(): expected a Tensor, or a list, tuple or dict of Tensors, not {type(value).__name__}")


def graph(outputs, params=None, *, show_saved=False, direction="TB"):
    """The recorded graph that leads to tensors, as a `GraphPicture`: DOT text, and pictures where graphviz is installed.

    outputs: a tensor, for example a loss, or tensors in lists, tuples and dicts. params: a module, or names and tensors, whose
    names label the leaves. show_saved adds what each operation keeps for backward, until it is freed. direction: "TB" from
    top to bottom or "LR" from left to right. Raises RuntimeError where nothing was recorded.

    >>> layer = nn.Linear(2, 1)
    >>> picture = torch.graph(layer(torch.ones(3, 2)).mean(), params=layer)
    >>> picture
    <GraphPicture of 5 nodes and 4 edges: print it, save('graph.dot') or save('graph.svg')>
    >>> print(str(torch.graph(torch.ones(1, requires_grad=True).exp())))
    digraph {
      rankdir="TB"; node [fontname="monospace", fontsize=10, shape=box, style=rounded];
      n0 [label="ExpBackward0"];
      n1 [label="Tensor\\n[1] float32", shape="box", style="filled", fillcolor="lightblue"];
      n1 -> n0;
      n2 [label="output\\n[1] float32", shape="box", style="filled", fillcolor="palegreen"];
      n0 -> n2;
    }
    """
    if direction not in ("TB", "LR", "BT", "RL"):
        raise ValueError(f"graph(): direction must be 'TB', 'LR', 'BT' or 'RL', got {direction!r}")
    if isinstance(params, ft.nn.Module):
        params = dict(params.named_parameters(remove_duplicate=False))
    writer = _Writer({id(tensor): name for name, tensor in dict(params or {}).items()}, show_saved)
    tensors = list(_tensors(outputs))
    if not any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError("graph(): the tensors were recorded nowhere: none of them requires grad; run the model with gradients enabled")
    for number, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            continue
        if tensor.grad_fn is None:
            writer.leaf(tensor)
            continue
        source = writer.walk(tensor.grad_fn)
        label = f"output{number if len(tensors) > 1 else ''}\n{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
        target, _ = writer.node(("output", number), label, shape="box", style="filled", fillcolor="palegreen")
        writer.edge(source, target)
    lines = ["digraph {", f"  rankdir={_quoted(direction)}; node [fontname=\"monospace\", fontsize=10, shape=box, style=rounded];",
             *writer.lines, "}"]
    return GraphPicture("\n".join(lines), len(writer.known), writer.edges)
