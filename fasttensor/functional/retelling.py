"""Docstrings of methods and other forms of a function, made of the function's own: its example, called the other way."""

__all__ = []
METHODS = {}


def example_of(function):
    """The lines of a function's example, from its first prompt on."""
    lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
    start = next((k for k, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    return [line for line in lines[start:] if line not in (">>> import fasttensor as torch", ">>> import fasttensor")]


def _end(text, start, stops):
    """Where the first of `stops` outside of brackets and quotes is."""
    depth, quote = 0, ""
    for k in range(start, len(text)):
        c = text[k]
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif not depth and c in stops:
            return k
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
    return len(text)


def _as_method(line, call, method):
    """`torch.NAME(first, rest)` as `first.METHOD(rest)`, wherever it stands in a line."""
    at = line.find(call)
    while at >= 0:
        start = at + len(call)
        comma, close = _end(line, start, ",)"), _end(line, start, ")")
        line = f"{line[:at]}{line[start:comma]}.{method}({line[comma + 1:close].strip()}{line[close:]}"
        at = line.find(call, at + 1)
    return line.replace(f").{call[6:]}", f").{method}(")        # an example that calls a method already


def as_method(function, words, method=None, name=None):
    """A docstring: the words, and the example of `function` with its calls ``torch.NAME(x, ...)`` as ``x.METHOD(...)``."""
    name = name or function.__name__
    return _joined(words, [_as_method(line, f"torch.{name}(", method or name) for line in example_of(function)])


def renamed(function, words, new, name=None):
    """A docstring: the words, and the example of `function` with its calls under another name."""
    name = name or function.__name__
    return _joined(words, [line.replace(f"torch.{name}(", f"torch.{new}(") for line in example_of(function)])


def _joined(words, example):
    return "\n".join([words, "", *example, ""])


def in_place_words(name):
    """What every in-place form says of itself."""
    return (f"In-place form of :func:`{name}`: the result is written into this tensor, which is returned.\n\nRaises RuntimeError where the result has"
            " another shape, where its dtype cannot be cast\nto this tensor's, and for a leaf that requires grad.")


def tell_in_place(namespace, *names):
    """Give the in-place forms NAME_ of a family their docstrings."""
    for name in names:
        namespace[name + "_"].__doc__ = as_method(namespace[name], in_place_words(name), name + "_")
