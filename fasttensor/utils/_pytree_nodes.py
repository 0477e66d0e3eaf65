"""What counts as a container in a tree, how it is taken apart and put together, and how its parts are addressed."""
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, NamedTuple

from fasttensor import Size, return_types

__all__ = []


@dataclass(frozen=True)
class MappingKey:
    """The place of a dict's value."""
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What stands there."""
        return mapping[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """The place of a sequence's item."""
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What stands there."""
        return sequence[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """The place of a field."""
    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """What stands there."""
        return getattr(obj, self.name)


@dataclass(frozen=True)
class ConstantNode:
    """The context of an object that is part of the structure."""
    value: Any


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and put together."""
    type: type
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any


class _Written(NamedTuple):
    typ: type
    serialized_type_name: str | None
    to_dumpable_context: Any
    from_dumpable_context: Any


SUPPORTED_NODES = {}
SUPPORTED_SERIALIZED_TYPES = {}         # how the structure of a class is written
SERIALIZED_TYPE_TO_PYTHON_TYPE = {}
CONSTANT_NODES = set()
NO_SERIALIZED_TYPE_NAME_FOUND = None
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
                         flatten_with_keys_fn=None, **names):
    """Treat `cls` as a container: flatten_fn(x) gives (children, context), unflatten_fn(children, context) gives x back.

    flatten_with_keys_fn(x) gives ([(key, child), ...], context), for paths. The other arguments say how `treespec_dumps` writes the
    context. ValueError where the class is a container already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _register_name(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)


def _register_name(cls, name, *ways):
    SUPPORTED_SERIALIZED_TYPES[cls] = _Written(cls, name, *ways)
    if name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Treat a dataclass as a container of its fields; those that are None are part of the structure."""
    if field_names is None:
        names = [f.name for f in fields(cls) if f.init and f.name not in (drop_field_names or ())]
    else:
        names = list(field_names)

    def flatten(x):
        there = [n for n in names if getattr(x, n) is not None]
        return [getattr(x, n) for n in there], [there, [n for n in names if getattr(x, n) is None]]

    def flatten_with_keys(x):
        children, context = flatten(x)
        return [(GetAttrKey(n), child) for n, child in zip(context[0], children)], context

    def unflatten(children, context):
        return cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1]))
    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys)


def register_constant(cls):
    """Treat objects of `cls`, which compare and hash by value, as part of the structure, without leaves."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation, got {cls}")
    register_pytree_node(cls, lambda x: ([], ConstantNode(x)), lambda children, context: context.value,
                         flatten_with_keys_fn=lambda x: ([], ConstantNode(x)))
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether `register_constant` was told of a class."""
    return cls in CONSTANT_NODES


# --- questions about classes ---
def is_namedtuple_class(cls):
    """Whether a class is one that ``collections.namedtuple`` or ``typing.NamedTuple`` made, or comes from one."""
    names = getattr(cls, "_fields", None)
    return (isinstance(cls, type) and issubclass(cls, tuple) and not is_structseq_class(cls) and isinstance(names, tuple)
            and all(type(n) is str for n in names) and callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None)))


def is_namedtuple(obj):
    """`is_namedtuple_class` of a class or an object's class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj):
    """`is_namedtuple_class` of an object's class."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls):
    """Whether a class is one of results, such as ``torch.return_types.max`` or ``time.struct_time``."""
    return isinstance(cls, type) and issubclass(cls, tuple) and type(getattr(cls, "n_fields", None)) is int


def is_structseq(obj):
    """`is_structseq_class` of a class or an object's class."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj):
    """`is_structseq_class` of an object's class."""
    return is_structseq_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


# --- the containers of Python and of this library ---
def _tuple_flatten(d):
    return list(d), None


def _tuple_unflatten(values, context):
    return tuple(values)


def _tuple_flatten_with_keys(d):
    return [(SequenceKey(i), x) for i, x in enumerate(d)], None


def _list_flatten(d):
    return d, None


def _list_unflatten(values, context):
    return list(values)


_list_flatten_with_keys = _tuple_flatten_with_keys


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _dict_flatten_with_keys(d):
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d):
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values))


def _defaultdict_flatten_with_keys(d):
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


def _defaultdict_serialize(context):
    factory = context[0]
    return {"default_factory_module": getattr(factory, "__module__", None), "default_factory_name": getattr(factory, "__qualname__", None),
            "dict_context": context[1]}


def _defaultdict_deserialize(written):
    name = written["default_factory_name"]
    return [getattr(import_module(written["default_factory_module"]), name) if name else None, written["dict_context"]]


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _deque_flatten_with_keys(d):
    return _tuple_flatten_with_keys(d)[0], d.maxlen


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_flatten_with_keys(d):
    return [(GetAttrKey(name), x) for name, x in zip(d._fields, d)], type(d)


def _register_namedtuple(cls, *, serialized_type_name):
    """Say by what name the structure of a named tuple is written."""
    _register_name(cls, serialized_type_name, None, None)


def _namedtuple_serialize(context):
    name = SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name if context in SUPPORTED_SERIALIZED_TYPES else None
    if name is None:
        raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a serializated_type_name. "
                                  "Please register using `_register_namedtuple`.")
    return name


def _namedtuple_deserialize(written):
    if written not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {written} because we couldn't find a serializated name.")
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[written]


def _register_builtin(cls, name, flatten, unflatten, with_keys, *ways):
    register_pytree_node(cls, flatten, unflatten, serialized_type_name=name, flatten_with_keys_fn=with_keys,
                         **dict(zip(("to_dumpable_context", "from_dumpable_context"), ways)))


_register_builtin(tuple, "builtins.tuple", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys)
_register_builtin(list, "builtins.list", _list_flatten, _list_unflatten, _list_flatten_with_keys)
_register_builtin(dict, "builtins.dict", _dict_flatten, _dict_unflatten, _dict_flatten_with_keys)
# All named tuples share one entry, by the function that makes them; their class is the context.
_register_builtin(namedtuple, "collections.namedtuple", _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys,
                  _namedtuple_serialize, _namedtuple_deserialize)
_register_builtin(OrderedDict, "collections.OrderedDict", _ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys)
_register_builtin(defaultdict, "collections.defaultdict", _defaultdict_flatten, _defaultdict_unflatten, _defaultdict_flatten_with_keys,
                  _defaultdict_serialize, _defaultdict_deserialize)
_register_builtin(deque, "collections.deque", _deque_flatten, _deque_unflatten, _deque_flatten_with_keys)
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
_register_builtin(Size, "torch.Size", _tuple_flatten, lambda values, context: Size(values), _tuple_flatten_with_keys)


def _register_result(cls):
    _register_builtin(cls, f"torch.return_types.{cls.__name__}", _tuple_flatten, lambda values, context: cls(values), _tuple_flatten_with_keys)


for _kind in return_types.all_return_types:
    _register_result(_kind)
