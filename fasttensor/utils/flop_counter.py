"""``torch.utils.flop_counter``: the floating-point operations of matrix products, convolutions and attention, by module."""
from collections import defaultdict

import fasttensor
from fasttensor.functional import interpose
from fasttensor.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from fasttensor.profiler.flops import flops_of

__all__ = ["FlopCounterMode"]

CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
RECURRENT = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
ATTENTION = "_scaled_dot_product_flash_attention"


def _count(name, inputs):
    """(operator, count, operator of its backward, [(argument, count for its gradient)]) of a product; None for other operations."""
    kind = name.removeprefix("aten::")
    if kind == "bilinear":          # a single operator without a count in PyTorch
        return None, 0, None, []
    if kind in RECURRENT:
        return _recurrent(kind, inputs)
    if kind.endswith("_cell") and len(inputs) > 3:
        x, h, *weights = inputs[:4]
        h = h[0] if isinstance(h, (tuple, list)) else h
        counts = [2 * (x.numel() // x.shape[-1]) * weight.numel() for weight in weights]
        return "addmm", sum(counts), "mm", [*zip((x, h), counts), *zip(weights, counts)]
    count = flops_of(name, inputs)
    if count is None:
        return None
    if kind in CONVOLUTIONS:
        x, weight = inputs[:2]
        # the formula for the weight's gradient does not see groups
        groups = x.shape[1 - weight.ndim] // weight.shape[1] if "transpose" not in kind else _groups(inputs)
        return "convolution", count, "convolution_backward", [(x, count), (weight, count * groups)]
    if kind == "scaled_dot_product_attention":
        # backward computes the scores again: five products for forward's two
        return ATTENTION, count, ATTENTION + "_backward", [
            (next((t for t in inputs[:3] if t.requires_grad), inputs[0]), count * 5 // 2)]
    if kind in ("addmm", "baddbmm"):
        return kind, count, "mm" if kind == "addmm" else "bmm", [(t, count) for t in inputs[1:3]]
    if kind == "linear":
        bias = len(inputs) > 2 and inputs[2] is not None
        return "addmm" if bias else "mm", count, "mm", [(t, count) for t in inputs[:2]]
    if kind in ("mm", "bmm", "matmul") and min(inputs[0].ndim, inputs[1].ndim) > 1:
        operator = "bmm" if inputs[1].ndim > 2 else "mm"
        return operator, count, operator, [(t, count) for t in inputs[:2]]
    return None                         # a product with a vector


def _recurrent(kind, inputs):
    """The products of all steps of a recurrent network; PyTorch's LSTM in single precision is an operator without a count."""
    packed = isinstance(inputs[1], fasttensor.Tensor) and isinstance(inputs[3], (list, tuple))
    x, sizes = inputs[0], inputs[1].tolist() if packed else None
    hx, weights, biases, layers, _, _, both = inputs[2:9] if packed else inputs[1:8]
    first = hx[0] if isinstance(hx, (tuple, list)) else hx
    directions = 2 if both else 1
    each = len(weights) // (layers * directions)
    projected = each in (3, 5)
    if kind == "lstm" and not projected and x.dtype is fasttensor.float32:
        return None, 0, None, []
    rows = x.numel() // x.shape[-1]                         # steps of all samples
    later = rows - (sizes[0] if packed else 1 if x.dim() == 2 else x.shape[0 if len(inputs) > 8 and inputs[8] else 1])
    total, factors = 0, []
    for k in range(layers * directions):
        w_in, w_hidden, *rest = weights[k * each:(k + 1) * each]
        counts = 2 * rows * w_in.numel(), 2 * rows * w_hidden.numel()
        total += sum(counts)
        # below the first layer the input is a result, whose gradient is always wanted; so is the state's after the first step
        factors += [(w_in, counts[0]), (w_hidden, counts[1]), (x if k < directions else w_in, counts[0]),
                    (w_hidden, 2 * (rows if first.requires_grad else later) * w_hidden.numel())]
        if projected:
            count = 2 * rows * rest[-1].numel()
            total += count
            factors += [(rest[-1], count), (rest[-1], count)]
    return "addmm" if biases else "mm", total, "mm", factors


def _groups(inputs):
    """The groups of a transposed convolution, whose seventh argument they are."""
    return inputs[6] if len(inputs) > 6 and isinstance(inputs[6], int) else 1


class FlopCounterMode:
    """A context that counts the operations of products, forward and backward, as PyTorch does: two for a multiply-add.

    Args: `display` (True): print the table at the end; `depth` (2): levels of modules in it. `mods` is accepted and not needed.

    >>> model = fasttensor.nn.Linear(4, 8)
    >>> with FlopCounterMode(display=False) as counter:
    ...     model(fasttensor.ones(3, 4)).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Linear"][fasttensor.ops.aten.addmm]
    (384, 192)
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display = depth, display
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self._open, self._names, self._counting, self._known = [], {}, False, {}

    def __enter__(self):
        self.flop_counts.clear()
        self._handles = [register_module_forward_pre_hook(self._into), register_module_forward_hook(self._out, always_call=True)]
        interpose.listen(self)
        self._entered = True
        return self

    def __exit__(self, *error):
        interpose.stop_listening(self)
        self._entered = False
        for handle in self._handles:
            handle.remove()
        if self.display:
            print(self.get_table(self.depth))

    def _into(self, module, args):
        name = self._names.get(id(module))
        if name is None:
            name = type(module).__name__
            for path, child in module.named_modules():
                self._names.setdefault(id(child), f"{name}.{path}" if path else name)
                self._known[id(child)] = child       # keeps the number taken
        self._open.append(name)

    def _out(self, module, args, output):
        self._open.pop()

    def before(self, name, inputs):
        """Called before an operation."""
        if self._counting or name.endswith("Backward0"):
            return None
        found = _count(name, inputs)
        self._counting = found is not None
        return found

    def after(self, token, result):
        """Called after it; `result` is None where it raised."""
        if token is None:
            return
        self._counting = False
        forward, count, backward, factors = token
        if result is None or forward is None:
            return
        names = ["Global", *dict.fromkeys(self._open)]
        self._add(names, forward, count)
        while isinstance(result, (tuple, list)):
            result = result[0]
        total = sum(part for factor, part in factors if factor.requires_grad)
        if total and result.grad_fn is not None:
            result.grad_fn.register_prehook(lambda gradients: self._add(names, backward, total) if self._listening() else None)

    def _listening(self):
        return self._entered

    def _add(self, names, operator, count):
        key = getattr(fasttensor.ops.aten, operator, f"aten.{operator}")
        for name in names:
            self.flop_counts[name][key] += count

    def get_total_flops(self):
        """The sum of all counts."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{module: {operator: count}}, with the sums as "Global"."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as text, modules below each other."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = []
        for name, counts in self.flop_counts.items():
            level = 0 if name == "Global" else name.count(".") + 1
            if level <= depth:
                rows.append((" " * level + name, sum(counts.values()), f"{100 * sum(counts.values()) / total:.2f}%"))
                rows += [(" " * level + f" - {key}", count, f"{100 * count / total:.2f}%") for key, count in counts.items()]
        width = max([len(row[0]) for row in rows] + [6])
        return "\n".join([f"{'Module':<{width}}  {'FLOP':>16}  % Total", *(f"{name:<{width}}  {count:>16,}  {part:>7}" for name, count, part in rows)])
