"""``torch.utils._python_dispatch``: classes that take over operations below autograd, which is not supported; libraries import the names."""

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode:
    """A block in which ``__torch_dispatch__`` is asked for each operation. Entering one raises NotImplementedError."""

    def __init__(self, _dispatch_key=None):
        pass

    def __enter__(self):
        raise NotImplementedError("TorchDispatchMode: operations below autograd cannot be taken over here; torch.overrides.TorchFunctionMode sees "
                                  "the calls of public functions, and torch.profiler every operation")

    def __exit__(self, kind, error, trace):
        return None


def is_traceable_wrapper_subclass(t):
    """False: no tensor wraps others for a compiler."""
    return False
