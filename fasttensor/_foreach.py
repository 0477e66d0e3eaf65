"""``torch._foreach_*``: a function over lists of tensors, which optimizers written for PyTorch call.

One call a tensor: there is no launch to save on a CPU.
"""
import fasttensor as torch

__all__ = []

# Arguments after the first that methods take by name.
_NAMED = {"addcmul": (2, "value"), "addcdiv": (2, "value"), "addcmul_": (2, "value"), "addcdiv_": (2, "value")}


def _norm(x, ord=2, dtype=None):
    return torch.linalg.vector_norm(x, ord, dtype=dtype)


def _power(base, exponent):
    return torch.pow(base, exponent)


def _maximum(x, other):
    return x.clamp_min(other)


def _minimum(x, other):
    return x.clamp_max(other)


_CALLS = {"norm": _norm, "pow": _power, "maximum": _maximum, "minimum": _minimum, "maximum_": torch.Tensor.clamp_min_,
          "minimum_": torch.Tensor.clamp_max_, "max": torch.max}


def __getattr__(name):
    """The function ``_foreach_NAME`` of lists, from the Tensor's method NAME."""
    base = name[len("_foreach_"):]
    call = _CALLS.get(base) or getattr(torch.Tensor, base, None)
    if not name.startswith("_foreach_") or call is None:
        raise AttributeError(f"module 'fasttensor' has no attribute {name!r}")
    function = _over_lists(name, base, call)
    globals()[name] = function
    return function


def _over_lists(name, base, call):
    changes = base.endswith("_")

    def function(*args, **kwargs):
        lists = [v for v in (*args, *kwargs.values()) if isinstance(v, (list, tuple))]
        if not lists:
            raise TypeError(f"{name}: expected a list of tensors, got {', '.join(type(v).__name__ for v in args)}")
        count = len(lists[0])
        for other in lists:
            if len(other) != count:
                raise RuntimeError(f"{name}: tensor lists must have the same number of tensors, got {count} and {len(other)}")
        where, named = _NAMED.get(base, (None, None))
        columns = [_column(v, count) for v in args]
        names = {"value" if k == "scalars" and named else "weight" if k == "scalars" and "lerp" in base else k: _column(v, count)
                 for k, v in kwargs.items()}
        if where is not None and len(columns) > where + 1:
            names[named] = columns.pop()
        made = [call(*(c[i] for c in columns), **{k: _number(v[i], k) for k, v in names.items()}) for i in range(count)]
        return None if changes else tuple(made)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensor.{base} of each tensor of a list; lists among the other arguments go along, other values are used for all."
    return function


def _column(value, count):
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, torch.Tensor) and value.ndim == 1 and count > 1 and value.numel() == count:
        return value.unbind()           # scalars of addcmul and addcdiv, as one tensor
    return [value] * count


def _number(value, name):
    return value.item() if name in ("value", "alpha") and isinstance(value, torch.Tensor) else value
