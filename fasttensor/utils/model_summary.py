"""``fasttensor.summary``: a model's layers with their shapes, parameters and cost, as text."""

import fasttensor as ft
from fasttensor.functional import interpose
from fasttensor.profiler.flops import flops_of

__all__ = ["summary", "ModelSummary", "Layer"]

COLUMNS = {"input_size": "Input Shape", "output_size": "Output Shape", "num_params": "Param #", "params_percent": "Param %",
           "kernel_size": "Kernel Shape", "mult_adds": "Mult-Adds", "trainable": "Trainable"}


class Layer:
    """One call of a module: its name and place in the tree, shapes, parameters, multiply-adds."""

    def __init__(self, module, name, depth, first):
        self.module, self.name, self.depth, self.first = module, name, depth, first
        self.class_name, self.index = type(module).__name__, 0
        self.input_size = self.output_size = None
        self.mult_adds, self.output_bytes, self.called = 0, 0, False

    @property
    def parameters(self):
        """The module's own parameters, without its children's."""
        return [p for p in self.module._parameters.values() if p is not None and not isinstance(p, ft.nn.parameter.UninitializedParameter)]

    @property
    def num_params(self):
        return sum(p.numel() for p in self.parameters)

    @property
    def kernel_size(self):
        size = getattr(self.module, "kernel_size", None)
        return None if size is None else [size] if isinstance(size, int) else list(size)

    @property
    def trainable(self):
        """True, False, "Partial", or None without any parameter, of its children either."""
        flags = {p.requires_grad for p in self.module.parameters()}
        return None if not flags else "Partial" if len(flags) == 2 else flags.pop()


class Counter:
    """Hooks of modules and listener of operations: makes a Layer of each call, and adds up its multiply-adds."""

    def __init__(self, model, name):
        self.layers, self.open, self.seen, self.counting = [], [], set(), []
        self.names = {id(module): path.rpartition(".")[2] for path, module in model.named_modules()}
        self.names[id(model)] = name

    def enter(self, module, args, kwargs):
        layer = Layer(module, self.names.get(id(module), ""), len(self.open), id(module) not in self.seen)
        self.seen.add(id(module))
        layer.called = True
        layer.input_size = shapes(args if len(args) != 1 or kwargs else args[0]) if args else shapes(kwargs)
        self.layers.append(layer)
        self.open.append(layer)

    def leave(self, module, args, output):
        layer = self.open.pop()
        layer.output_size = shapes(output)
        if not any(True for _ in module.children()):
            layer.output_bytes = nbytes(output)

    def before(self, name, inputs):
        count = None if self.counting else flops_of(name, inputs)
        if count is not None and name not in ("add", "mul"):
            self.counting.append(name)
            for layer in self.open:
                layer.mult_adds += count // 2
            return True
        return False

    def after(self, token, result):
        if token:
            self.counting.pop()


def shapes(value):
    """The sizes of the tensors in a value, in its structure; None for what holds none."""
    if isinstance(value, ft.Tensor):
        return list(value.shape)
    if isinstance(value, dict):
        return {key: shapes(item) for key, item in value.items() if shapes(item) is not None} or None
    if isinstance(value, (list, tuple)):
        found = [shapes(item) for item in value]
        found = [item for item in found if item is not None]
        return tuple(found) if found else None
    return None


def nbytes(value):
    """The bytes of the tensors in a value."""
    if isinstance(value, ft.Tensor):
        return value.numel() * value.element_size()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return sum(nbytes(item) for item in items)


def show_shape(value):
    """Sizes as text: [2, 3], ([2, 3], [4]), {y: [2, 3]}."""
    if value is None:
        return "--"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {show_shape(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return show_shape(value[0]) if len(value) == 1 else "(" + ", ".join(show_shape(item) for item in value) + ")"
    return str(value)


class ModelSummary:
    """What `summary` found; prints as a table.

    layers: a `Layer` for each call; total_params, trainable_params, total_mult_adds, input_bytes, output_bytes (of all innermost
    layers), param_bytes, peak_bytes (measured in forward).
    """

    def __init__(self, model, layers, depth, columns, input_bytes, peak_bytes, width):
        self.model, self.layers, self.depth, self.columns, self.width = model, layers, depth, columns, width
        self.input_bytes, self.peak_bytes = input_bytes, peak_bytes
        # a parameter that several modules share is listed by each and counted once
        parameters = list({id(p): p for layer in layers for p in layer.parameters}.values())
        self.total_params = sum(p.numel() for p in parameters)
        self.trainable_params = sum(p.numel() for p in parameters if p.requires_grad)
        self.param_bytes = sum(nbytes(p) for p in parameters) + sum(nbytes(b) for b in model.buffers())
        self.total_mult_adds = sum(layer.mult_adds for layer in layers if layer.depth == 0)
        self.output_bytes = sum(layer.output_bytes for layer in layers)
        places = {}
        for layer in layers:
            places[layer.depth] = layer.index = places.get(layer.depth, 0) + 1

    def _cell(self, layer, column):
        if column in ("input_size", "output_size"):
            return show_shape(getattr(layer, column))
        if column == "num_params":
            return "(recursive)" if not layer.first and layer.num_params else f"{layer.num_params:,}" if layer.num_params else "--"
        if column == "params_percent":
            return f"{100 * layer.num_params / self.total_params:.2f}%" if layer.first and layer.num_params and self.total_params else "--"
        if column == "kernel_size":
            return str(layer.kernel_size) if layer.kernel_size is not None else "--"
        if column == "mult_adds":
            return f"{layer.mult_adds:,}" if layer.mult_adds else "--"
        return "--" if layer.trainable is None else str(layer.trainable)

    def _tree(self, shown):
        """The names with the lines of a tree before them."""
        lines = []
        for place, layer in enumerate(shown):
            prefix = ""
            for depth in range(1, layer.depth + 1):
                following = next((other.depth for other in shown[place + 1:] if other.depth <= depth), 0)
                more = following == depth
                prefix += ("├─" if more else "└─") if depth == layer.depth else ("│    " if more else "     ")
            name = f" ({layer.name})" if layer.name and layer.depth else ""
            lines.append(f"{prefix}{layer.class_name}{name}" + (f": {layer.depth}-{layer.index}" if layer.depth else ""))
        return lines

    def __str__(self):
        shown = [layer for layer in self.layers if layer.depth <= self.depth]
        table = [["Layer (type (name):depth-index)", *(COLUMNS[column] for column in self.columns)]]
        for name, layer in zip(self._tree(shown), shown):
            table.append([name, *(self._cell(layer, column) for column in self.columns)])
        widths = [max(self.width if column else 0, *(len(row[column]) for row in table)) for column in range(len(table[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table]
        rule = "=" * (sum(widths) + 2 * (len(widths) - 1))
        total = self.input_bytes + self.param_bytes + self.output_bytes
        scale, unit = next((s, u) for s, u in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")) if self.total_mult_adds >= s or s == 1)
        end = [f"Total params: {self.total_params:,}", f"Trainable params: {self.trainable_params:,}",
               f"Non-trainable params: {self.total_params - self.trainable_params:,}",
               f"Total mult-adds ({unit}): {self.total_mult_adds / scale:,.2f}" if unit else f"Total mult-adds: {self.total_mult_adds}"]
        size = [f"Input size (MB): {self.input_bytes / 1e6:.2f}", f"Layer outputs (MB): {self.output_bytes / 1e6:.2f}",
                f"Params and buffers size (MB): {self.param_bytes / 1e6:.2f}", f"Estimated Total Size (MB): {total / 1e6:.2f}",
                f"Measured peak of forward (MB): {self.peak_bytes / 1e6:.2f}"]
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, *end, rule, *size, rule])

    __repr__ = __str__


def _inputs(inputs, input_size, input_data, dtypes, device):
    """The positional and keyword arguments of the model, or None where there is no input."""
    if input_data is not None:
        inputs = (input_data,)
    if input_size is not None:
        if inputs:
            raise RuntimeError("summary: pass the input or input_size, not both")
        sizes = [input_size] if all(isinstance(n, int) for n in input_size) else list(input_size)
        dtypes = dtypes or [ft.float32] * len(sizes)
        inputs = tuple(ft.rand(*size).to(dtype).to(device or "cpu") for size, dtype in zip(sizes, dtypes))
        return inputs, {}
    if not inputs:
        return None
    if len(inputs) == 1 and isinstance(inputs[0], dict):
        return (), inputs[0]
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        return tuple(inputs[0]), {}
    return inputs, {}


def summary(model, *inputs, input_size=None, input_data=None, depth=3, col_names=("output_size", "num_params", "mult_adds", "trainable"),
            mode="eval", dtypes=None, device=None, col_width=15, **kwargs):
    """Run a model once and list its layers: output shapes, parameters, multiply-adds, trainable or not, and memory.

    inputs: what the model is called with; one list or tuple is taken for its positional, one dict for its keyword arguments.
    input_size (one shape or several, with dtypes) draws random inputs; without any input only parameters are listed.
    depth: how many levels of the tree to show. col_names: of "input_size", "output_size", "num_params", "params_percent",
    "kernel_size", "mult_adds" and "trainable". mode: "eval", "train" or "same" while it runs; the model's own mode, its gradients
    and the random state stay as they were. Further keywords go to the model.
    Multiply-adds are counted where the products run: matrix products, convolutions, attention, recurrent layers, inside and
    outside of modules. A layer that is called again is marked "(recursive)", and its parameters are counted once.
    Returns a ModelSummary, which prints as the table. Raises RuntimeError that names the layers that ran when forward fails.

    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> found = torch.summary(model, torch.ones(3, 4))
    >>> found.total_params, found.total_mult_adds, found.layers[1].output_size
    (58, 144, [3, 8])
    >>> print(torch.summary(model, torch.ones(3, 4), col_names=["output_size", "num_params"]))
    =================================================================
    Layer (type (name):depth-index)  Output Shape     Param #
    =================================================================
    Sequential                       [3, 2]           --
    ├─Linear (0): 1-1                [3, 8]           40
    ├─ReLU (1): 1-2                  [3, 8]           --
    └─Linear (2): 1-3                [3, 2]           18
    =================================================================
    Total params: 58
    Trainable params: 58
    Non-trainable params: 0
    Total mult-adds: 144
    =================================================================
    Input size (MB): 0.00
    Layer outputs (MB): 0.00
    Params and buffers size (MB): 0.00
    Estimated Total Size (MB): 0.00
    Measured peak of forward (MB): 0.00
    =================================================================
    """
    for column in col_names:
        if column not in COLUMNS:
            raise ValueError(f"summary: unknown column {column!r}; col_names takes {', '.join(map(repr, COLUMNS))}")
    if mode not in ("eval", "train", "same"):
        raise ValueError(f"summary: mode must be 'eval', 'train' or 'same', got {mode!r}")
    given = _inputs(inputs, input_size, input_data, dtypes, device)
    counter = Counter(model, "")
    peak = 0
    if given is not None:
        args, keywords = given
        peak = _run(model, counter, args, {**keywords, **kwargs}, mode)
    layers = _with_uncalled(model, counter)
    return ModelSummary(model, layers, depth, list(col_names), nbytes(list(given[0]) + [given[1]]) if given else 0, peak, col_width)


def _run(model, counter, args, keywords, mode):
    """Call the model with the hooks in place; the bytes that forward had in use at most, beyond what was in use before."""
    modules = list(model.modules())
    modes = [module.training for module in modules]
    handles = []
    for module in modules:
        handles.append(module.register_forward_pre_hook(counter.enter, with_kwargs=True))
        handles.append(module.register_forward_hook(counter.leave))
    rng = ft.get_rng_state()
    interpose.listen(counter)
    try:
        if mode != "same":
            model.train(mode == "train")
        ft.reset_peak_memory_stats()
        before = ft.memory_stats()["current"]
        with ft.no_grad():
            model(*args, **keywords)
        return max(ft.memory_stats()["peak"] - before, 0)
    except Exception as error:
        ran = [f"{layer.class_name} ({layer.name or 'model'})" for layer in counter.layers]
        raise RuntimeError(f"summary: the model's forward failed with {type(error).__name__}: {error}. Layers that had begun: "
                           f"{', '.join(ran) or 'none'}. Inputs: {show_shape(shapes(args))}") from error
    finally:
        interpose.stop_listening(counter)
        ft.set_rng_state(rng)
        for handle in handles:
            handle.remove()
        for module, training in zip(modules, modes):
            module.training = training


def _with_uncalled(model, counter):
    """The calls, and the modules that were not called below their parent."""
    layers = counter.layers or [Layer(model, "", 0, True)]
    seen = {id(layer.module) for layer in layers}

    def below(module, depth):
        for name, child in module.named_children():
            if id(child) not in seen:
                seen.add(id(child))
                if not child._parameters and list(child.children()) and all(id(part) in seen for part in child.children()):
                    continue        # a list of modules that were called one by one
                layer = Layer(child, name, depth, True)
                yield layer
                yield from below(child, depth + 1)
    made, waiting = [], []
    for layer in layers:
        while waiting and waiting[-1].depth >= layer.depth:
            made += below(waiting[-1].module, waiting.pop().depth + 1)
        made.append(layer)
        if layer.first:
            waiting.append(layer)
    while waiting:
        made += below(waiting[-1].module, waiting.pop().depth + 1)
    return made
