"""Tensors as text, in PyTorch's format.

    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]], dtype=torch.float64)

The values are taken out as Python numbers once; all elements of a tensor share one width and one
notation, which a `Style` finds from them.
"""
import contextlib
import math
import sys

from fasttensor._core.dtype import DTYPES, get_default_dtype
from fasttensor._core.export import to_edges, to_list
from fasttensor._core.tensor import Tensor

_PROFILES = {"default": dict(precision=4, threshold=1000, edgeitems=3, linewidth=80),
             "short": dict(precision=2, threshold=1000, edgeitems=2, linewidth=80),
             "full": dict(precision=4, threshold=math.inf, edgeitems=3, linewidth=80)}
_options = dict(_PROFILES["default"], sci_mode=None)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Options of printing.

    Args: ``precision`` digits after the point (4); ``threshold`` elements from which on a summary
    is printed (1000), of ``edgeitems`` at each end of a dimension (3); ``linewidth`` (80);
    ``profile`` one of "default", "short", "full"; ``sci_mode`` True or False, None to choose by the values.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions: profile must be one of 'default', 'short', 'full', got {profile!r}")
        _options.update(_PROFILES[profile])
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            _options[name] = value
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """What set_printoptions was told: a dict of precision, threshold, edgeitems, linewidth and sci_mode.

    >>> torch.get_printoptions()["precision"]
    4
    """
    return dict(_options)


@contextlib.contextmanager
def printoptions(**options):
    """Changes the options of printing for a block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class Style:
    """How the numbers of one tensor are written: width, notation, digits."""

    def __init__(self, values, floating):
        self.floating, self.integers, self.scientific, self.width = floating, True, False, 1
        if not floating:
            self.width = max([len(str(v)) for v in values], default=1)
            self.width = max(self.width, 1)
            return
        finite = [v for v in values if v != 0 and math.isfinite(v)]
        if not finite:
            return
        low, high = min(map(abs, finite)), max(map(abs, finite))
        self.integers = all(v == math.ceil(v) for v in finite)
        self.scientific = _options["sci_mode"]
        if self.scientific is None:
            self.scientific = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if self.scientific:
            form = f"{{:.{_options['precision']}e}}"
        elif self.integers:
            form = "{:.0f}."
        else:
            form = f"{{:.{_options['precision']}f}}"
        self.width = max(len(form.format(v)) for v in finite)

    def text(self, value):
        """One number, padded to the common width."""
        if not self.floating:
            got = str(value)
        elif self.scientific:
            got = f"{value:{self.width}.{_options['precision']}e}"
        elif self.integers:
            got = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            got = f"{value:.{_options['precision']}f}"
        return got.rjust(self.width)


class ComplexStyle:
    """Real and imaginary parts have a style each."""

    def __init__(self, values):
        self.real, self.imag = Style([v.real for v in values], True), Style([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value):
        """One number as real+imagj."""
        imag = (self.imag.text(value.imag) + "j").lstrip()
        return self.real.text(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _flat(values, out):
    for v in values:
        if type(v) is list:
            _flat(v, out)
        elif v is not ...:
            out.append(v)
    return out


def _vector(values, style, indent):
    """A row, broken into lines of the line width."""
    a_line = max(1, (_options["linewidth"] - indent) // (style.width + 2))
    cells = [" ..." if v is ... else style.text(v) for v in values]
    lines = [", ".join(cells[i:i + a_line]) for i in range(0, len(cells), a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _rows(values, style, indent, depth):
    if depth == 1:
        return _vector(values, style, indent)
    parts = ["..." if v is ... else _rows(v, style, indent + 1, depth - 1) for v in values]
    return "[" + ("," + "\n" * (depth - 1) + " " * (indent + 1)).join(parts) + "]"


def contents(x, indent):
    """The values of a CPU tensor as text, without prefix and suffixes."""
    if x.numel() == 0:
        return "[]"
    edge = _options["edgeitems"]
    summary = x.numel() > _options["threshold"] and x.ndim > 0
    if summary and not edge:
        return "[...]"
    values = to_edges(x, edge) if summary else to_list(x)
    flat = [values] if x.ndim == 0 else _flat(values, [])
    style = ComplexStyle(flat) if x.is_complex() else Style(flat, x.is_floating_point())
    return style.text(values) if x.ndim == 0 else _rows(values, style, indent, x.ndim)


def _suffixes(x, shown):
    """What follows the values: device, size, dtype, history."""
    found = []
    default = get_default_dtype()
    if shown.device.type != "cpu":
        found.append(f"device='{shown.device}'")
    if shown.is_meta or shown.numel() == 0:
        if shown.is_meta or shown.ndim != 1:
            found.append(f"size={tuple(shown.shape)}")
        if shown.dtype is not default:
            found.append(f"dtype={shown.dtype}")
    else:
        if not _options["edgeitems"]:
            found.append(f"size={tuple(shown.shape)}")
        usual = (default, DTYPES["complex128" if default.name == "float64" else "complex64"], DTYPES["int64"], DTYPES["bool"])
        if shown.dtype not in usual:
            found.append(f"dtype={shown.dtype}")
    node = x.grad_fn
    if node is not None:
        found.append(f"grad_fn=<{type(node).__name__}>")
    elif x.requires_grad:
        found.append("requires_grad=True")
    duals = sys.modules.get("fasttensor.autograd.forward_ad")
    tangent = None if duals is None else duals.unpack_dual(x).tangent
    if tangent is not None:
        found.append(f"tangent={tangent!r}")
    return found


def text_of(x, *, tensor_contents=None):
    """The text of a tensor: what ``repr`` and ``print`` show."""
    plain = type(x) is Tensor or type(x).__name__ == "Parameter" and type(x).__module__.startswith("fasttensor.")
    start = "tensor(" if plain else type(x).__name__ + "("
    shown = x.detach()
    if tensor_contents is not None:
        body = tensor_contents
    elif shown.is_meta:
        body = "..."
    else:
        body = contents(shown if shown.is_cpu else shown.cpu(), len(start))
    parts = [start + body]
    length = len(parts[0]) - parts[0].rfind("\n") + 1
    for suffix in _suffixes(x, shown):
        if length + len(suffix) + 2 > _options["linewidth"]:
            parts.append(",\n" + " " * len(start) + suffix)
            length = len(start) + len(suffix)
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"


def _format(self, spec):
    """A number's format for a 0-d tensor, the text of any other."""
    if self.ndim == 0 and type(self) is Tensor and not self.is_meta:
        return format(self.item(), spec)
    return object.__format__(self, spec)


HOOKS = {"repr": text_of}

__all__ = ["set_printoptions", "get_printoptions"]
METHODS = {"__format__": _format}
