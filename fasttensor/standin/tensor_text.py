"""``torch._tensor_str``: the parts of a tensor's text, for classes over tensors that put them together themselves."""
from types import SimpleNamespace

from fasttensor.functional import printing
from fasttensor.functional.printing import get_printoptions, printoptions, set_printoptions

__all__ = ["PRINT_OPTS", "set_printoptions", "get_printoptions", "printoptions"]


class _Options(SimpleNamespace):
    """The options of printing as attributes."""

    def __getattribute__(self, name):
        return printing._options[name] if name in printing._options else super().__getattribute__(name)

    def __setattr__(self, name, value):
        printing._options[name] = value


PRINT_OPTS = _Options()


def _tensor_str(self, indent):
    """The values of a tensor; `indent` is how far lines after the first are moved."""
    shown = self.detach()
    return "..." if shown.is_meta else printing.contents(shown.cpu(), indent)


def _str_intern(inp, *, tensor_contents=None):
    return printing.text_of(inp, tensor_contents=tensor_contents)


_str = _str_intern


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """The text of the values with what follows them in parentheses, broken at the line's width."""
    parts, length = [tensor_str], len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or length + len(suffix) + 2 > printing._options["linewidth"]:
            parts.append(",\n" + " " * indent + suffix)
            length, force_newline = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"
