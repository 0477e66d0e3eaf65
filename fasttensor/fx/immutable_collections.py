"""Lists and dicts that cannot be changed: what the arguments of nodes are made of."""
from fasttensor.utils import _pytree as pytree

__all__ = ["immutable_list", "immutable_dict"]


def _refuse(self, *args, **kwargs):
    kind = type(self).__name__
    raise TypeError(f"{kind!r} object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
                    "instead create a new copy of it and assign the copy to the node:\n\n    new_args = ...  # copy and mutate args\n"
                    "    node.args = new_args")


class immutable_list(list):
    """A list whose elements stay.

    >>> immutable_list([1, 2]) == [1, 2]
    True
    """
    __slots__ = ()
    append = clear = extend = insert = pop = remove = reverse = sort = __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict whose entries stay.

    >>> immutable_dict(a=1)["a"]
    1
    """
    __slots__ = ()
    clear = pop = popitem = setdefault = update = __setitem__ = __delitem__ = __ior__ = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (dict(self),)


def _list_parts(x):
    return list(x), None


def _dict_parts(x):
    return list(x.values()), list(x)


def _list_of(parts, _):
    return immutable_list(parts)


def _dict_of(parts, keys):
    return immutable_dict(zip(keys, parts))


pytree.register_pytree_node(immutable_list, _list_parts, _list_of)
pytree.register_pytree_node(immutable_dict, _dict_parts, _dict_of)
