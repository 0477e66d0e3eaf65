"""Libraries ask whether a model is being exported; it never is. They also say how their operators would be exported, which is accepted."""
import sys

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]


def is_in_onnx_export():
    """False."""
    return False


def export(model, *args, **kwargs):
    """RuntimeError: models are not exported from here."""
    raise RuntimeError("onnx.export: fasttensor does not export models: save the state_dict and export the same model with PyTorch, "
                       "which loads it (docs/coverage.md)")


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version, custom_opsets=None):
    """Accepted: nothing is exported."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Accepted: nothing is exported."""


def parse_args(*descriptors):
    """A decorator that returns the function; of PyTorch's ``onnx.symbolic_helper``."""
    return lambda function: function


def __getattr__(name):
    # Modules of PyTorch that describe operators for export; what is in them is looked up when something is exported.
    if name == "symbolic_helper" or name.startswith("symbolic_opset"):
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
