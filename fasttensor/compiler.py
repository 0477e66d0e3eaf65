"""``torch.compile`` and ``torch.compiler``: nothing is compiled, functions are returned as they are."""

__all__ = ["compile", "assume_constant_result", "reset", "allow_in_graph", "list_backends", "disable", "set_stance", "set_enable_guard_collectives",
           "cudagraph_mark_step_begin", "wrap_numpy", "is_compiling", "is_dynamo_compiling", "is_exporting", "save_cache_artifacts",
           "load_cache_artifacts", "substitute_in_graph", "get_default_backend", "set_default_backend", "nested_compile_region"]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_default_backend = "inductor"


def compile(model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None, name=None, disable=False, recompile_limit=None,
            isolate_recompiles=False, shapes_spec=None):
    """Returns `model`, a function or module, as it is; without one, a decorator that does.

    Raises RuntimeError for a mode that PyTorch does not have, or for both a mode and options.

    >>> import fasttensor as torch
    >>> @torch.compile(fullgraph=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return lambda found: compile(found, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
    if not callable(model):
        raise AssertionError(f"compile: a callable function or module is expected, but {type(model).__name__} is provided.")
    return model


def _same(fn=None, *args, **kwargs):
    return (lambda found: found) if fn is None else fn


def disable(fn=None, recursive=True, *, reason=None):
    """Returns the function as it is, or a decorator that does: nothing is compiled anyway."""
    return _same(fn)


def assume_constant_result(fn):
    """Returns the function as it is."""
    return fn


def allow_in_graph(fn):
    """Returns the function, or list of functions, as it is."""
    return fn


def wrap_numpy(fn):
    """A function that gets numpy arrays for tensors, and whose arrays become tensors again."""
    import functools

    import fasttensor

    def walk(x, kind, convert):
        if isinstance(x, kind):
            return convert(x)
        if isinstance(x, (list, tuple)):
            made = [walk(v, kind, convert) for v in x]
            return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
        return {k: walk(v, kind, convert) for k, v in x.items()} if isinstance(x, dict) else x

    @functools.wraps(fn)
    def run(*args, **kwargs):
        import numpy
        args, kwargs = walk((args, kwargs), fasttensor.Tensor, lambda t: t.numpy())
        return walk(fn(*args, **kwargs), (numpy.ndarray, numpy.generic), fasttensor.as_tensor)
    return run


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False, is_embedded_type=False):
    """A decorator that returns its function as it is."""
    return _same()


nested_compile_region = _same


class set_stance:
    """Accepted, as a call, a context manager or a decorator; nothing is compiled under any stance."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __call__(self, fn):
        return fn


def reset():
    """Nothing to forget."""


def cudagraph_mark_step_begin():
    """Nothing to mark."""


def set_enable_guard_collectives(enabled):
    """Accepted; returns the former value, which is False."""
    return False


def list_backends(exclude_tags=("debug", "experimental")):
    """The compilers: none."""
    return []


def get_default_backend():
    """What set_default_backend was told."""
    return _default_backend


def set_default_backend(backend):
    """Remembered only."""
    global _default_backend
    _default_backend = backend


def is_compiling():
    """False: nothing is compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def save_cache_artifacts():
    """None: there is no cache."""
    return None


def load_cache_artifacts(serialized_artifacts):
    """None: there is no cache."""
    return None
