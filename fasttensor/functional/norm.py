"""Normalisations: batch, layer, group, instance, RMS and local response norm, and normalize."""
from fasttensor._core.tensor import description
from fasttensor.autograd.checks import check_channels, flag, int_of, need_tensor, optional_tensor, real_number
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import norm as rules
from fasttensor.functional import stand_for_function
from fasttensor.functional.common import refuse_shared
from fasttensor.functional.dims import deliver, tensor_argument

__all__ = ["layer_norm", "group_norm", "rms_norm"]
stand_for_function(__name__)

EPSILON = {6: 2.0 ** -10, 7: 2.0 ** -7, 8: 2.0 ** -23, 9: 2.0 ** -52}


def require_real(name, x):
    if not x.dtype.is_floating_point:
        raise NotImplementedError(f"{name}(): not implemented for {description(x)}; a floating-point dtype is needed")


def check_batch(input, training):
    if training:
        n = input.numel() // input.size(1) if input.size(1) else 0
        if n == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """(input - mean) / sqrt(var + eps) weight + bias for each channel of [batch, channels, ...].

    Training takes the statistics of this batch, and moves the running ones (unbiased variance) towards them
    by `momentum`; else the running ones are used.

    Statistics, `weight` and `bias` have one element a channel. dtypes: floating point; the result has the input's shape. Raises ValueError where
    training has one value a channel, RuntimeError for sizes that do not fit. Source: Ioffe and Szegedy, 2015.

    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if tensor_argument("batch_norm", input).ndim >= 2:
        check_batch(input, training)
    if eps <= 0 and (training or eps):
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
    return normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)


def normalized(input, weight, bias, running_mean, running_var, training, momentum, eps, rule=rules.BatchNorm):
    require_real("batch_norm", input)
    if input.numel() == 0:
        y = input.clone()
        y = y if weight is None else y * need_tensor(weight, "batch_norm", "weight", 4)[0]
        return y if bias is None else y + need_tensor(bias, "batch_norm", "bias", 5)[0]
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm(): expected [batch, channels, ...], got {description(input)}")
    check_channels("batch_norm", input.size(1), running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("batch_norm(): Expected running_mean and running_var to be defined when training=False")
    return apply(rule, input, weight, bias, running_mean, running_var, training,
                 0.0 if momentum is None else momentum if type(momentum) is float else real_number(momentum, "batch_norm", "momentum"),
                 eps if type(eps) is float else real_number(eps, "batch_norm", "eps"))


def row_shape(name, input, shape, weight, bias):
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"{name}(): argument 'normalized_shape' must be tuple of ints, not {type(shape).__name__}")
    shape = tuple(shape)
    if shape and isinstance(shape[0], bool):
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, but found element of type bool at pos 0")
    if not shape:
        raise RuntimeError(f"{name}(): Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element,"
                           f" but got normalized_shape = {shape} for {description(input)}")
    for place, (key, t) in enumerate((("weight", weight), ("bias", bias)), 3):
        if t is not None and tuple(need_tensor(t, name, key, place).shape) != shape:
            raise RuntimeError(f"{name}(): Expected {key} to be of same shape as normalized_shape, but got {key} of shape"
                               f" {tuple(t.shape)} and normalized_shape = {shape}")
    if input.ndim < len(shape) or tuple(input.shape[input.ndim - len(shape):]) != shape:
        raise RuntimeError(f"{name}(): Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}],"
                           f" but got input of size{list(input.shape)}")
    n = 1
    for size in shape:
        n *= size
    return len(shape), n


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """(input - mean) / sqrt(var + eps) weight + bias over the last dimensions, which have `normalized_shape`.

    `weight` and `bias` have `normalized_shape`, the result the input's shape. dtypes: floating point. Raises RuntimeError where the last
    dimensions differ from it. Source: Ba et al., 2016.

    >>> torch.nn.functional.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    tensor_argument("layer_norm", input)
    require_real("layer_norm", input)
    if len(normalized_shape) == 1 if type(normalized_shape) is tuple else False:
        n = normalized_shape[0]
        try:
            fits = input.ndim and input.shape[-1] == n and (weight is None or weight.shape == normalized_shape) and \
                (bias is None or bias.shape == normalized_shape)
        except AttributeError:                       # no tensor, as row_shape says
            fits = False
        if fits:
            return apply(rules.LayerNorm, input, weight, bias, 1, n, real_number(eps, "layer_norm", "eps"))
    dims, n = row_shape("layer_norm", input, normalized_shape, weight, bias)
    return apply(rules.LayerNorm, input, weight, bias, dims, n, real_number(eps, "layer_norm", "eps"))


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """input / sqrt(mean(input^2) + eps) weight over the last dimensions; eps defaults to the dtype's epsilon.

    `weight` has `normalized_shape`, the result the input's shape. dtypes: floating point or complex. Raises RuntimeError where the last
    dimensions differ from it. Source: Zhang and Sennrich, 2019.

    >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 3.0]), (2,))
    tensor([1., 1.])
    """
    tensor_argument("rms_norm", input)
    dims, n = row_shape("rms_norm", input, normalized_shape, weight, None)
    if input.dtype.is_complex:
        eps = EPSILON[input.dtype.code - 2] if eps is None else eps
        last = list(range(input.ndim - dims, input.ndim))
        y = input * ((input * input).mean(last, True) + eps).rsqrt()
        return y if weight is None else y * weight
    require_real("rms_norm", input)
    # half types are computed in float, whose epsilon counts
    eps = EPSILON[max(input.dtype.code, 8)] if eps is None else eps
    return apply(rules.RmsNorm, input, weight, dims, n, eps if type(eps) is float else real_number(eps, "rms_norm", "eps"))


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Normalises each sample's channels in `num_groups` groups: [batch, channels, ...].

    `weight` and `bias` have one element a channel, the result the input's shape. dtypes: floating point. Raises RuntimeError where
    `num_groups` does not divide the channels. Source: Wu and He, 2018.

    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    num_groups = int_of(num_groups, "group_norm", "num_groups", 2)
    tensor_argument("group_norm", input)
    require_real("group_norm", input)
    if input.ndim < 2:
        raise RuntimeError(f"group_norm(): Expected at least 2 dimensions for input tensor but received {input.ndim} ({description(input)})")
    channels = input.size(1)
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(f"group_norm(): Expected number of channels in input to be divisible by num_groups, but got input of shape"
                           f" {list(input.shape)} and num_groups={num_groups}")
    check_channels("group_norm", channels, weight=weight, bias=bias)
    return apply(rules.GroupNorm, input, weight, bias, num_groups, eps if type(eps) is float else real_number(eps, "group_norm", "eps"))


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-05, cudnn_enabled=True):
    """Normalises every channel of every sample by itself: [batch, channels, ...].

    Statistics, `weight` and `bias` have one element a channel, the result the input's shape. dtypes: floating point. Raises ValueError where
    a channel has one value. Source: Ulyanov et al., 2016.

    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    optional_tensor(running_mean, "instance_norm", "running_mean", 2)
    optional_tensor(running_var, "instance_norm", "running_var", 3)
    optional_tensor(weight, "instance_norm", "weight", 4)
    optional_tensor(bias, "instance_norm", "bias", 5)
    flag("instance_norm", "use_input_stats", use_input_stats)
    real_number(eps, "instance_norm", "eps")
    tensor_argument("instance_norm", input)
    if input.ndim < 2:
        raise RuntimeError(f"instance_norm(): expected [batch, channels, ...], got {description(input)}")
    batch, channels = input.shape[:2]
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("instance_norm(): Expected running_mean and running_var to be defined when use_input_stats is false")
    if use_input_stats:
        spatial = input.numel() // (batch * channels) if batch * channels else 0
        if spatial == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    check_channels("instance_norm", channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)

    def repeated(t):
        return None if t is None else t.unsqueeze(0).expand(batch, channels).reshape(-1)
    mean, var = (None if t is None else repeated(t.detach()).clone() for t in (running_mean, running_var))
    y = normalized(input.reshape([1, batch * channels, *input.shape[2:]]), repeated(weight), repeated(bias), mean, var,
                   use_input_stats, momentum, eps)
    if use_input_stats:
        for running, now in ((running_mean, mean), (running_var, var)):
            if running is not None:
                running.detach().copy_(now.reshape(batch, channels).mean(0))
    return y.reshape(input.shape)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input / (k + alpha mean of squares over `size` neighbouring channels)^beta.

    Shape: (N, C, ...), at least 3-d, which the result has: ValueError else. dtypes: floating point. Source: Krizhevsky et al., 2012.

    >>> torch.nn.functional.local_response_norm(torch.zeros(1, 2, 3), 2).shape
    torch.Size([1, 2, 3])
    """
    need_tensor(input, "local_response_norm", "input", 1)
    size = int_of(size, "local_response_norm", "size")
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    from fasttensor.functional.creation_like import zeros_like
    from fasttensor.functional.joining import cat
    squares = input * input
    empty = zeros_like(squares.narrow(1, 0, 1).detach())
    channels = input.size(1)
    before, after = (min(n, channels - 1) for n in (size // 2, (size - 1) // 2))        # channels further off are none
    padded = cat([empty] * before + [squares] + [empty] * after, 1)
    total = padded.narrow(1, 0, channels)
    for i in range(1, before + after + 1):
        total = total + padded.narrow(1, i, channels)
    return input / (total * (alpha / size) + k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input / max(p-norm, eps) along `dim`.

    Any shape, which the result has; floating point or complex. IndexError for a dimension out of range.

    >>> torch.nn.functional.normalize(torch.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    from fasttensor.functional.distance import norm
    if out is not None:
        refuse_shared("normalize", out, (input,), True)
    size = norm(input, p, dim, keepdim=True).clamp(min=eps)
    return deliver("normalize", out, input / size)


METHODS = {}
NN_FUNCTIONAL = ["batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "local_response_norm", "normalize"]
