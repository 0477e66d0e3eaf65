"""Names of a graph's values: unique, legal in Python, and those that PyTorch gives."""
import builtins
import keyword
import math
import re
import typing

import fasttensor
from fasttensor.utils import _pytree as pytree

from . import _pytree as fx_pytree

__all__ = []

WHOLE = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")
ILLEGAL = re.compile("[^0-9a-zA-Z_]+")
HUMP = re.compile(r"(?<=[a-z])([A-Z])")


class _CustomBuiltin(typing.NamedTuple):
    """An object that the code of every graph can name, and the line that imports it."""
    import_str: str
    obj: typing.Any


_custom_builtins = {}
_illegal_names = {**{name: object() for name in keyword.kwlist}, **vars(builtins)}


def _register_custom_builtin(name, import_str, obj):
    """Give the code of every graph another name; `import_str` is what `GraphModule.to_folder` writes for it."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _illegal_names[name] = obj


for _name, _line, _obj in (
        ("inf", "from math import inf", math.inf), ("nan", "from math import nan", math.nan),
        ("NoneType", "NoneType = type(None)", type(None)), ("torch", "import torch", fasttensor),
        ("device", "from torch import device", fasttensor.device), ("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree),
        ("pytree", "import torch.utils._pytree as pytree", pytree)):
    _register_custom_builtin(_name, _line, _obj)


def _is_magic(name):
    return name.startswith("__") and name.endswith("__")


def _snake_case(name):
    return HUMP.sub(r"_\1", name).lower()


class _Namespace:
    """Gives every object one name, and every name to one object."""

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}

    def create_name(self, candidate, obj):
        """The name of `obj`, or, made of `candidate`, a new one: with a number at its end where it is taken or not allowed."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        parts = WHOLE.match(candidate)
        if parts is None:
            candidate = ILLEGAL.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = "_" + candidate
            parts = WHOLE.match(candidate)
        base, number = parts.groups()
        if number is not None and candidate not in self._used_names:
            number = int(number)
        else:
            number = self._base_count.get(base, 0)
            if _illegal_names.get(candidate, obj) is not obj:
                number += 1
                candidate = f"{base}_{number}"
        while candidate in self._used_names:
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Give `obj`, which has none, a name that nobody has."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj, name):
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)
