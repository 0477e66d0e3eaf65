"""Notes that nodes get while others are run: ``torch.fx.traceback``."""
import contextlib
import copy
import enum
import traceback as _traceback

__all__ = ["annotate", "preserve_node_meta", "has_preserved_node_meta", "set_stack_trace", "set_grad_fn_seq_nr", "reset_grad_fn_seq_nr",
           "format_stack", "set_current_meta", "get_current_meta", "NodeSource", "NodeSourceAction", "get_graph_provenance_json"]

GRADIENT_ACC_SPECIAL_STACK = "Gradient addition node due to multiple use of tensor around:"
_state = {"meta": {}, "preserve": False, "replay": None}
# what a node takes over from the node that is being run
_COPY_META_FIELDS = ["nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id", "has_backward_hook",
                     "from_node", "quantization_tag", "_numeric_debug_handle", "custom", "partitioner_tag"]


class NodeSourceAction(enum.Enum):
    """How a node came from another."""
    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Which node of which graph a node was made from, in which pass."""

    def __init__(self, node, pass_name="", action=None):
        actions = list(action) if isinstance(action, (list, tuple)) else [action] if action is not None else []
        self.action = actions
        self.pass_name = pass_name
        self.name = node.name if node is not None else ""
        self.target = node._pretty_print_target(node.target) if node is not None else ""
        self.graph_id = id(node.graph) if node is not None else -1
        self.from_node = copy.copy(node.meta.get("from_node", [])) if node is not None else []

    def __repr__(self):
        return self.print_readable()

    def print_readable(self, indent=0):
        """The chain of sources, a line each."""
        if indent > 9:
            return ""
        kinds = "+".join(a.name.lower() for a in self.action)
        line = " " * 4 * indent + f"(name={self.name}, pass_name={self.pass_name}, action={kinds}, graph_id={self.graph_id})\n"
        return line + "".join(source.print_readable(indent + 1) for source in self.from_node)

    def to_dict(self):
        """The same as a dict."""
        return {"name": self.name, "target": self.target, "graph_id": self.graph_id, "pass_name": self.pass_name,
                "action": "+".join(a.name.lower() for a in self.action), "from_node": [source.to_dict() for source in self.from_node]}


def get_graph_provenance_json(graph):
    """{name of a node: the dicts of its sources}."""
    return {node.name: [source.to_dict() for source in node.meta["from_node"]] for node in graph.nodes if "from_node" in node.meta}


@contextlib.contextmanager
def annotate(annotation_dict):
    """Nodes that are made in the block get the entries as ``node.meta["custom"]``."""
    before, kept = _state["meta"], _state["preserve"]
    _state["meta"] = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    _state["preserve"] = True
    try:
        yield
    finally:
        _state["meta"], _state["preserve"] = before, kept


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """While a graph is run in the block, nodes that its operations make get the notes of the node that is run."""
    before, kept = _state["meta"], _state["preserve"]
    _state["preserve"] = enable
    _state["meta"] = before.copy()
    try:
        yield
    finally:
        _state["meta"], _state["preserve"] = before, kept


def has_preserved_node_meta():
    """Whether notes are handed on."""
    return _state["preserve"]


def set_stack_trace(stack):
    """Say where the nodes that follow come from."""
    if _state["preserve"] and stack:
        _state["meta"]["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr):
    """Say the number of the autograd node whose gradient is computed."""
    if _state["preserve"]:
        _state["meta"].setdefault("grad_fn_seq_nr", []).append(seq_nr)
        _state["meta"]["in_grad_fn"] = _state["meta"].get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    """Undo `set_grad_fn_seq_nr`."""
    if _state["preserve"] and _state["meta"].get("in_grad_fn", 0) > 0:
        _state["meta"]["in_grad_fn"] -= 1
        _state["meta"]["grad_fn_seq_nr"].pop()


def format_stack():
    """The trace of the node that is run, or of this call."""
    if _state["preserve"]:
        return [_state["meta"].get("stack_trace", "")]
    return _traceback.format_list(_traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """In the block, notes come from `node`."""
    before = _state["meta"]
    if _state["preserve"] and node.meta:
        _state["meta"] = {**node.meta, "from_node": [NodeSource(node, pass_name, NodeSourceAction.CREATE)]}
    try:
        yield
    finally:
        _state["meta"] = before


def get_current_meta():
    """The notes for nodes that are made now."""
    return _state["meta"]


@contextlib.contextmanager
def set_current_replay_node(node):
    """In the block, `node` is made once more."""
    before = _state["replay"]
    _state["replay"] = node
    try:
        yield
    finally:
        _state["replay"] = before


def get_current_replay_node():
    """The node that is made once more, or None."""
    return _state["replay"]
