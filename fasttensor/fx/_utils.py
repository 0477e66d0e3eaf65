"""Text of graphs for logs."""

__all__ = ["lazy_format_graph_code"]


class _Late:
    def __init__(self, function, *args, **kwargs):
        self.function, self.args, self.kwargs = function, args, kwargs

    def __str__(self):
        return self.function(*self.args, **self.kwargs)


def _format(name, gm, maybe_id, **kwargs):
    title = name if maybe_id is None else f"{name} {maybe_id}"
    return f"TRACED GRAPH\n ===== {title} =====\n {gm.print_readable(print_output=False, **kwargs)}\n"


def lazy_format_graph_code(name, gm, maybe_id=None, **kwargs):
    """An object whose text is a module's readable code, made when it is asked for."""
    return _Late(_format, name, gm, maybe_id, **kwargs)


def first_call_function_nn_module_stack(graph):
    """The modules around the first call of a function that has them, or None."""
    return next((n.meta["nn_module_stack"] for n in graph.nodes if n.op == "call_function" and "nn_module_stack" in n.meta), None)


def get_node_context(node, num_nodes=2):
    """The texts of the nodes before and including one."""
    found = []
    while node.op != "root" and len(found) < num_nodes:
        found.append(str(node.format_node()))
        node = node.prev
    return "\n".join(reversed(found))
