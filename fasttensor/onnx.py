"""Libraries ask whether a model is being exported; it never is."""

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export():
    """False."""
    return False


def export(model, *args, **kwargs):
    """RuntimeError: models are not exported from here."""
    raise RuntimeError("onnx.export: fasttensor does not export models: save the state_dict and export the same model with PyTorch, "
                       "which loads it (docs/coverage.md)")
