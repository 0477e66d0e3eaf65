"""Initial values of parameters; every function writes into its tensor and returns it.

With the same generator state they draw the same numbers as PyTorch's.
"""
import math
import warnings

import fasttensor as ft

_UNIT_GAIN = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
              "sigmoid")


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity should scale the standard deviation of weights before it.

    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _UNIT_GAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# Set by utils.skip_init: nothing is drawn while it is.
_skipping = False


def _fill(method, tensor, *args, **kwargs):
    if _skipping:
        return tensor
    with ft.no_grad():
        return getattr(tensor, method)(*args, **kwargs)


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers spread evenly over [a, b).

    Any shape; floating point. Returns the tensor, as all of these do.

    >>> bool((nn.init.uniform_(torch.empty(100), 2, 3) >= 2).all())
    True
    """
    return _fill("uniform_", tensor, a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Numbers of the normal distribution.

    In place, any shape, a floating-point or complex dtype; RuntimeError where std < 0.

    >>> nn.init.normal_(torch.empty(10000), 3, 0.1).mean().round()
    tensor(3.)
    """
    return _fill("normal_", tensor, mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Numbers of the normal distribution cut off outside [a, b]: what falls outside is drawn again.

    Where [a, b] holds less than 0.3 of the distribution, uniform numbers are accepted with the
    density's probability instead.

    Any shape; floating point. Numbers outside of [a, b] are drawn again, as it were: by the inverse of the distribution function.

    >>> float(nn.init.trunc_normal_(torch.empty(1000)).abs().max()) <= 2
    True
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
                      "The distribution of values may be incorrect.", stacklevel=2)

    def cdf(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    with ft.no_grad():
        if cdf((b - mean) / std) - cdf((a - mean) / std) > 0.3:
            # The bounds as the tensor's dtype can hold them.
            low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
            values = tensor.normal_(mean, std, generator=generator)
            while True:
                outside = (values < low) | (values > high)
                if not outside.any():
                    break
                values = ft.where(outside, ft.empty_like(values).normal_(mean, std, generator=generator), values)
        else:
            peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

            def rejected(candidates):
                density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
                return ft.empty_like(tensor).uniform_(generator=generator).log_() > density

            values = tensor.uniform_(a, b, generator=generator)
            pending = rejected(values)
            while pending.any():
                candidates = ft.empty_like(tensor).uniform_(a, b, generator=generator)
                values = ft.where(pending, candidates, values)
                pending = pending & rejected(candidates)
        return tensor if values is tensor else tensor.copy_(values)


def constant_(tensor, val):
    """Every element `val`.

    In place, any shape and dtype; `val` is a number.

    >>> nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return _fill("fill_", tensor, val)


def ones_(tensor):
    """Every element 1.

    In place, any shape and dtype.

    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return _fill("fill_", tensor, 1.0)


def zeros_(tensor):
    """Every element 0.

    In place, any shape and dtype.

    >>> nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return _fill("zero_", tensor)


def eye_(tensor):
    """The identity matrix in a 2-d tensor; ValueError for others.

    In place, any dtype.

    >>> nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with ft.no_grad():
        ft.eye(*tensor.shape, out=tensor)
    return tensor


def dirac_(tensor, groups=1):
    """A convolution weight of 3 to 5 dimensions that passes its inputs through, group by group.

    In place: 1 at the middle of each kernel that leads channel i to channel i (Zagoruyko and Komodakis, 2017). ValueError for other
    numbers of dimensions, or where `groups` does not divide the first size.

    >>> nn.init.dirac_(torch.empty(2, 2, 3)).flatten()
    tensor([0., 1., 0., 0., 0., 0., 0., 0., 0., 0., 1., 0.])
    """
    dims = tensor.ndimension()
    if dims not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    centre = tuple(s // 2 for s in sizes[2:])
    with ft.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(g * per_group + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform over [-a, a], a = gain * sqrt(6 / (fan_in + fan_out)): Glorot and Bengio, 2010.

    In place; fan_in = size(1) and fan_out = size(0), each times the sizes after. ValueError for fewer than 2 dimensions.

    Shape: at least 2-d, (out, in, ...): ValueError else. Floating point.

    >>> w = nn.init.xavier_uniform_(torch.empty(3, 3))
    >>> bool(w.abs().max() <= 1)
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    a = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return _fill("uniform_", tensor, -a, a, generator=generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with std = gain * sqrt(2 / (fan_in + fan_out)): Glorot and Bengio, 2010.

    In place; fan_in = size(1) and fan_out = size(0), each times the sizes after. ValueError for fewer than 2 dimensions.

    Shape: at least 2-d, (out, in, ...): ValueError else. Floating point.

    >>> nn.init.xavier_normal_(torch.empty(200, 200), gain=2.0).std().mul(100).round()
    tensor(14.)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return _fill("normal_", tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _nothing_to_fill(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform over [-b, b], b = gain * sqrt(3 / fan): He et al., 2015.

    Shape: at least 2-d, (out, in, ...): ValueError else. Floating point.

    >>> w = nn.init.kaiming_uniform_(torch.empty(3, 6), nonlinearity="relu")
    >>> bool(w.abs().max() <= 1)
    True
    """
    if _nothing_to_fill(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return _fill("uniform_", tensor, -bound, bound, generator=generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with std = gain / sqrt(fan): He et al., 2015.

    gain is `calculate_gain(nonlinearity, a)`, fan that of `mode`, 'fan_in' or 'fan_out' (ValueError otherwise, or for fewer than
    2 dimensions). In place.

    >>> nn.init.kaiming_normal_(torch.empty(100, 200), nonlinearity='relu').std().mul(100).round()
    tensor(10.)
    """
    if _nothing_to_fill(tensor):
        return tensor
    return _fill("normal_", tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


def orthogonal_(tensor, gain=1, generator=None):
    """An orthogonal matrix (the dimensions after the first count as one), times `gain`: Saxe et al., 2013.

    >>> q = nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(q @ q.T, torch.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    with ft.no_grad():
        flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
        q, r = ft.linalg.qr(flat.t() if rows < cols else flat)
        # The signs of r's diagonal make the choice of q unique.
        q = q * ft.diagonal(r).sign()
        if rows < cols:
            q = q.t()
        tensor.view_as(q).copy_(q)
        return tensor.mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """A 2-d tensor of normal numbers with the fraction `sparsity` of each column zero: Martens, 2010.

    In place; ValueError for other numbers of dimensions.

    >>> (nn.init.sparse_(torch.empty(4, 3), 0.5) == 0).sum(0)
    tensor([2, 2, 2])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with ft.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            tensor[ft.randperm(rows)[:zeros], col] = 0
    return tensor


def _old_name(new):
    def f(*args, **kwargs):
        warnings.warn(f"`nn.init.{new.__name__[:-1]}` is now deprecated in favor of `nn.init.{new.__name__}`.",
                      FutureWarning, stacklevel=2)
        return new(*args, **kwargs)
    f.__name__ = f.__qualname__ = new.__name__[:-1]
    lines = [line.strip() for line in new.__doc__.splitlines()]
    example = next(k for k, line in enumerate(lines) if line.startswith(">>>"))
    f.__doc__ = "\n".join([f"Deprecated name of `{new.__name__}`, whose arguments and errors it has.", "", *lines[example:]])
    return f


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old_name, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
