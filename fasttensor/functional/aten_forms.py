"""Public functions as the operators that PyTorch makes them of, for ``__torch_dispatch__``.

A form takes the arguments of the public function; the functions that it calls are taken over in turn.
"""
import functools
import inspect
from importlib import import_module

from fasttensor._core.tensor import Tensor


__all__ = []

REDUCTIONS = ("none", "mean", "sum")

SPELLED = {"__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__invert__": "bitwise_not", "__lshift__": "bitwise_left_shift",
           "__rshift__": "bitwise_right_shift", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__eq__": "eq",
           "__pow__": "pow", "__ipow__": "pow_", "__rsub__": "rsub", "__floordiv__": "floor_divide", "absolute": "abs", "absolute_": "abs_",
           "multiply": "mul", "multiply_": "mul_", "subtract": "sub", "subtract_": "sub_", "divide": "div", "divide_": "div_", "true_divide": "div",
           "true_divide_": "div_", "negative": "neg", "negative_": "neg_", "concat": "cat", "concatenate": "cat", "not_equal": "ne", "greater": "gt",
           "greater_equal": "ge", "less": "lt", "less_equal": "le", "clip": "clamp", "clip_": "clamp_", "swapaxes": "transpose",
           "swapdims": "transpose", "__getitem__": "getitem", "__setitem__": "setitem", "square_": "square_", "arccos": "acos", "arcsin": "asin",
           "arctan": "atan", "gaussian_nll_loss": "gaussian_nll_loss", "relu6": "relu6"}


def _ops():
    return import_module("fasttensor.ops").aten


def _F():
    return import_module("fasttensor.nn.functional")


@functools.cache
def _parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None


def positional(function, args, kwargs):
    """Arguments by name that may stand in their places do so, as operators have them."""
    parameters = _parameters(function)
    args, kwargs = list(args), dict(kwargs)
    for p in (parameters or ())[len(args):]:
        if p.kind is not p.POSITIONAL_OR_KEYWORD or p.name not in kwargs or p.name in ("inplace", "out", "dtype"):
            break
        args.append(kwargs.pop(p.name))
    return tuple(args), kwargs


def _sizes(args):
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)


def linear(input, weight, bias=None):
    """A product with the transposed weight."""
    if input.dim() == 2:
        return _ops().mm(input, weight.t()) if bias is None else _ops().addmm(bias, input, weight.t())
    flat = input.reshape(-1, input.shape[-1])
    return linear(flat, weight, bias).view(*input.shape[:-1], weight.shape[0])


def matmul(input, other):
    """A product of vectors, matrices or batches of matrices."""
    ranks = input.dim(), other.dim()
    if ranks in ((1, 1), (2, 1), (2, 2)):
        return getattr(_ops(), {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm"}[ranks])(input, other)
    if ranks[0] == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if ranks[1] == 1:
        return matmul(input, other.unsqueeze(1)).squeeze(-1)
    if ranks[1] == 2:
        return matmul(input.reshape(-1, input.shape[-1]), other).view(*input.shape[:-1], other.shape[-1])
    lead = import_module("fasttensor").broadcast_shapes(input.shape[:-2], other.shape[:-2])
    a, b = (x.expand(*lead, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (input, other))
    return _ops().bmm(a, b).view(*lead, a.shape[-2], b.shape[-1])


def conv(n, transposed, input, weight, bias=None, stride=1, padding=0, *more):
    """A convolution of any dimension."""
    output_padding, groups, dilation = (0, 1, 1)
    if transposed:
        output_padding, groups, dilation = (*more, *(0, 1, 1)[len(more):])
    else:
        dilation, groups = (*more, *(1, 1)[len(more):])
    each = lambda v: list(v) if isinstance(v, (tuple, list)) else [v] * n       # noqa: E731
    if padding == "valid":
        padding = 0
    elif padding == "same":
        total = [d * (k - 1) for d, k in zip(each(dilation), weight.shape[2:])]
        if any(t % 2 for t in total):
            input = _F().pad(input, [v for t in reversed(total) for v in (0, t % 2)])
        padding = [t // 2 for t in total]
    single = input.dim() == n + 1
    out = _ops().convolution(input.unsqueeze(0) if single else input, weight, bias, each(stride), each(padding), each(dilation), transposed,
                             each(output_padding), groups)
    return out.squeeze(0) if single else out


def _conv(n, transposed):
    function = _parameters_of(("conv_transpose" if transposed else "conv") + f"{n}d")

    def form(*args, **kwargs):
        args, kwargs = positional(function(), args, kwargs)
        return conv(n, transposed, *args, **kwargs) if not kwargs else conv(n, transposed, *_filled(function(), args, kwargs))
    return form


def _parameters_of(name):
    return lambda: getattr(_F(), name)


def _filled(function, args, kwargs):
    """All arguments in their places, left out ones by their defaults."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """A logarithm of softmax and the negative log likelihood, where targets are classes."""
    if target.is_floating_point() or label_smoothing or size_average is not None or reduce is not None:
        return _ops().cross_entropy_loss(input, target, weight, REDUCTIONS.index(reduction), ignore_index, label_smoothing)
    return nll_loss(_ops()._log_softmax(input, min(1, input.dim() - 1), False), target, weight, None, ignore_index, None, reduction)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The operator that gives the weights' sum too."""
    name = "nll_loss_forward" if input.dim() < 3 else "nll_loss2d_forward"
    return getattr(_ops(), name)(input, target, weight, REDUCTIONS.index(reduction), ignore_index)[0]


def _softmax(name):
    def form(input, dim=None, _stacklevel=3, dtype=None, **_):
        if dtype is not None:
            input = input.to(dtype)
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return getattr(_ops(), name)(input, dim, False)
    return form


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """The operator that gives the moments too."""
    return _ops().native_layer_norm(input, list(normalized_shape), weight, bias, eps)[0]


def batch_norm(input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """The operator that gives the moments too."""
    return _ops().native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """The operator that gives the moments too."""
    n, c = input.shape[:2]
    return _ops().native_group_norm(input, weight, bias, n, c, input.numel() // max(n * c, 1), num_groups, eps)[0]


def dropout(input, p=0.5, training=True, inplace=False, train=None):
    """The operator that gives the mask too."""
    training = training if train is None else train
    return _ops().native_dropout(input, p, True)[0] if training and p else input


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The operator, whose table comes first."""
    if isinstance(weight, Tensor) and not input.is_floating_point():
        padding_idx = -1 if padding_idx is None else padding_idx % weight.shape[0]
    else:                   # torch.embedding
        input, weight = weight, input
        padding_idx = -1 if padding_idx is None else padding_idx
    if max_norm is not None:
        _ops().embedding_renorm_(weight, input, max_norm, norm_type)
    return _ops().embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The operator of the CPU."""
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    return _ops()._scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The operator that gives places too."""
    both = _ops().max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


def reshape(input, *shape, **kwargs):
    """A view where memory allows it, else a copy."""
    sizes = _sizes(shape or (kwargs["shape"],))
    if -1 in sizes:
        known = 1
        for n in sizes:
            known *= 1 if n == -1 else n
        sizes[sizes.index(-1)] = input.numel() // max(known, 1)
    if list(input.shape) == sizes and input.is_contiguous():
        return _ops().view(input, sizes)
    return _ops().view(input, sizes) if input.is_contiguous() else _ops()._unsafe_view(input.clone(), sizes)


def view(input, *shape, **kwargs):
    """Of other sizes, or of another dtype."""
    shape = shape or tuple(kwargs.values())
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list)):
        return _ops().view.dtype(input, shape[0])
    return _ops().view(input, _sizes(shape))


def flatten(input, start_dim=0, end_dim=-1):
    """A reshape."""
    if not input.dim():
        return input.reshape(1)
    start, end = start_dim % input.dim(), end_dim % input.dim()
    return input if start == end else input.reshape(*input.shape[:start], -1, *input.shape[end + 1:])


def to(input, *args, **kwargs):
    """The tensor itself, or a copy of another dtype or device."""
    torch = import_module("fasttensor")
    dtype, device, copy = kwargs.get("dtype"), kwargs.get("device"), kwargs.get("copy", False)
    for x in args:
        if isinstance(x, torch.dtype):
            dtype = x
        elif isinstance(x, (str, torch.device)):
            device = torch.device(x)
        elif isinstance(x, Tensor):
            dtype, device = x.dtype, x.device
    device = None if device is None else torch.device(device)
    if not copy and dtype in (None, input.dtype) and device in (None, input.device):
        return input
    wanted = {k: v for k, v in (("dtype", dtype), ("device", device)) if v is not None}
    return _ops()._to_copy(input, **wanted)


def _converted(dtype):
    return lambda input, memory_format=None: to(input, getattr(import_module("fasttensor"), dtype))


def contiguous(input, memory_format=None):
    """The tensor itself, or a copy."""
    return input if input.is_contiguous() else _ops().clone(input)


def getitem(input, index):
    """Selections, slices and new dimensions one after the other, then indices that are tensors."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(i.dim() if isinstance(i, Tensor) and i.dtype == import_module("fasttensor").bool else 1
               for i in items if i is not None and i is not Ellipsis and not isinstance(i, bool))
    if Ellipsis in [i for i in items if not isinstance(i, (Tensor, list))]:
        at = [k for k, i in enumerate(items) if i is Ellipsis][0]
        items[at:at + 1] = [slice(None)] * (input.dim() - used)
    dim, tensors = 0, []
    for i in items:
        if i is None:
            input = input.unsqueeze(dim)
        elif isinstance(i, slice):
            if i != slice(None):
                input = _ops().slice(input, dim, i.start, i.stop, *(() if i.step is None else (i.step,)))
        elif isinstance(i, int) and not isinstance(i, bool):
            input = _ops().select(input, dim, i)
            continue
        else:
            tensors += [None] * (dim - len(tensors)) + [i if isinstance(i, Tensor) else import_module("fasttensor").tensor(i)]
        dim += 1
    return _ops().index(input, tensors) if tensors else input


def setitem(input, index, value):
    """A copy into a view, or index_put_ where an index is a tensor."""
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, (Tensor, list)) for i in items):
        items = tuple(i for i in items)
        if all(isinstance(i, Tensor) for i in items):
            value = value if isinstance(value, Tensor) else import_module("fasttensor").tensor(value, dtype=input.dtype)
            _ops().index_put_(input, list(items), value)
            return
        raise NotImplementedError("x[index] = value: __torch_dispatch__ with slices and tensors together: use index_put_")
    target = getitem(input, index)
    if isinstance(value, Tensor):
        _ops().copy_(target, value)
    else:
        _ops().fill_(target, value)


def chunk(input, chunks, dim=0):
    """Parts of one size."""
    return _ops().split(input, max(1, -(-input.shape[dim] // chunks)), dim)


def split(tensor, split_size, dim=0):
    """Parts of one size, or of given sizes."""
    return _ops().split(tensor, split_size, dim) if isinstance(split_size, int) else _ops().split_with_sizes(tensor, list(split_size), dim)


def copy_of(name):
    """The operator itself."""
    return lambda *args, **kwargs: getattr(_ops(), name)(*args, **kwargs)


def _dims_listed(name):
    return lambda input, *dims, **kwargs: getattr(_ops(), name)(input, _sizes(dims or tuple(kwargs.values())))


FORMS = {
    "linear": linear, "matmul": matmul, "__matmul__": matmul, "__rmatmul__": lambda x, y: matmul(y, x), "cross_entropy": cross_entropy,
    "nll_loss": nll_loss, "softmax": _softmax("_softmax"), "log_softmax": _softmax("_log_softmax"), "layer_norm": layer_norm,
    "batch_norm": batch_norm, "group_norm": group_norm, "dropout": dropout, "embedding": embedding, "scaled_dot_product_attention": attention,
    "max_pool2d": max_pool2d, "reshape": reshape, "view": view, "flatten": flatten, "to": to, "contiguous": contiguous, "getitem": getitem,
    "setitem": setitem, "chunk": chunk, "split": split,
    **{f"conv{n}d": _conv(n, False) for n in (1, 2, 3)}, **{f"conv_transpose{n}d": _conv(n, True) for n in (1, 2, 3)},
    **{name: _converted(dtype) for name, dtype in {
        "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32", "long": "int64", "bool": "bool",
        "short": "int16", "byte": "uint8", "char": "int8"}.items()},
    "type_as": lambda x, other: to(x, other), "view_as": lambda x, other: view(x, list(other.shape)), "reshape_as": lambda x, other: reshape(x, other.shape),
    "expand_as": lambda x, other: x.expand(other.shape), "expand": _dims_listed("expand"), "permute": _dims_listed("permute"),
    "repeat": _dims_listed("repeat"), "sum_to_size": lambda x, *size: _sum_to(x, _sizes(size)),
    "get_T": lambda x: x.t() if x.dim() == 2 else x.permute(*reversed(range(x.dim()))), "get_mT": lambda x: x.transpose(-2, -1),
    "get_mH": lambda x: x.transpose(-2, -1).conj(), "get_H": lambda x: x.transpose(0, 1).conj(), "get_data": lambda x: x.detach(),
    "get_real": copy_of("real"), "get_imag": copy_of("imag"), "__rtruediv__": lambda x, y: x.reciprocal() * y,
    "__rpow__": lambda x, y: _ops().pow(y, x), "__len__": lambda x: x.shape[0], "item": copy_of("_local_scalar_dense"),
    "__bool__": lambda x: bool(_ops()._local_scalar_dense(x)), "__float__": lambda x: float(_ops()._local_scalar_dense(x)),
    "__int__": lambda x: int(_ops()._local_scalar_dense(x)), "adjoint": lambda x: x.transpose(-2, -1).conj(),
}


def _sum_to(x, size):
    lead = x.dim() - len(size)
    dims = [d for d in range(x.dim()) if d < lead or size[d - lead] == 1 and x.shape[d] != 1]
    if not dims:
        return x
    x = _ops().sum(x, dims, True)
    return x.view(*size) if lead else x
