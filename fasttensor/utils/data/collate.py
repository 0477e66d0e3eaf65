"""Samples to batches."""
import copy
import re
import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import fasttensor as torch

from .transport import room

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

MESSAGE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"

np_str_obj_array_pattern = re.compile("[SaUO]")      # dtypes without tensors: libraries that collate themselves look for them


def _numpy_kind(value):
    """"array", "scalar", or None for what is not numpy's. Does not import numpy: if a value is
    numpy's, numpy is there."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray):
        return "array"
    if isinstance(value, (numpy.bool_, numpy.number, numpy.object_)):
        return "scalar"
    return None


def _is_text(array):
    return array.dtype.kind in "SUaO"


def _rebuild(template, items):
    """A mapping or sequence like `template` with other values; plain dict or list where it cannot be made."""
    if isinstance(template, Mapping):
        try:
            if isinstance(template, MutableMapping):
                # A copy keeps what a subclass adds: default_factory, attributes.
                result = copy.copy(template)
                result.update(items)
                return result
            return type(template)(items)
        except TypeError:
            return items
    try:
        if isinstance(template, MutableSequence):
            result = copy.copy(template)
            for i, item in enumerate(items):
                result[i] = item
            return result
        return type(template)(items)
    except TypeError:
        return items


def default_convert(data):
    """Numpy arrays and numbers inside `data` as Tensors; everything else as it is.

    >>> from fasttensor.utils.data import default_convert
    >>> default_convert({"a": [1, "b"]})
    {'a': [1, 'b']}
    """
    if isinstance(data, torch.Tensor):
        return data
    kind = _numpy_kind(data)
    if kind is not None:
        return data if kind == "array" and _is_text(data) else torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild(data, [default_convert(item) for item in data])
    return data


def collate(batch, *, collate_fn_map=None):
    """One batch of a list of samples.

    Args:
        batch: a list of samples of the same structure: what `collate_fn_map` has functions for,
            and mappings, tuples, named tuples and sequences of them.
        collate_fn_map: {type: function(batch, *, collate_fn_map)}; subclasses are looked up in its order.

    Raises TypeError for samples of other types, RuntimeError for sequences of different lengths.
    """
    first = batch[0]
    if collate_fn_map is not None:
        function = collate_fn_map.get(type(first))
        if function is None:
            function = next((f for kind, f in collate_fn_map.items() if isinstance(first, kind)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
        if _numpy_kind(first) is not None and torch.Tensor in collate_fn_map:
            return _collate_numpy(batch, collate_fn_map)

    def together(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _rebuild(first, {key: together([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(together(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [together(samples) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else _rebuild(first, columns)
    raise TypeError(MESSAGE.format(type(first)))


def _collate_numpy(batch, collate_fn_map):
    if _numpy_kind(batch[0]) == "scalar":
        return torch.as_tensor(list(batch))
    if _is_text(batch[0]):
        raise TypeError(MESSAGE.format(batch[0].dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _collate_tensors(batch, *, collate_fn_map=None):
    made = room(batch)
    if made is None:
        return torch.stack(list(batch), 0)
    for row, sample in zip(made.unbind(0), batch):
        row.copy_(sample)
    return made


def _collate_floats(batch, *, collate_fn_map=None):
    return torch.tensor(list(batch), dtype=torch.float64)


def _collate_ints(batch, *, collate_fn_map=None):
    return torch.tensor(list(batch))


def _collate_text(batch, *, collate_fn_map=None):
    return batch


class _Map(dict):
    """Filled at first use: looking a Tensor class up while this module is imported would be too early."""

    def fill(self):
        if not self:
            self.update({torch.Tensor: _collate_tensors, float: _collate_floats, int: _collate_ints,
                         str: _collate_text, bytes: _collate_text})
        return self


default_collate_fn_map = _Map()


def default_collate(batch):
    """Stacks Tensors (also numpy arrays) and numbers along a new first dimension, inside any structure.

    Python floats become float64, ints int64; text stays a list; tuples become lists.

    >>> from fasttensor.utils.data import default_collate
    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map.fill())
