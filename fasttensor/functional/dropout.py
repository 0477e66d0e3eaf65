"""Dropout in its forms, and the randomised leaky ReLU."""
import warnings

from fasttensor._core.dispatch import backend
from fasttensor._core.tensor import description
from fasttensor.autograd.batched import is_inside, spread_draws
from fasttensor.autograd.checks import flag, real_number
from fasttensor.autograd.generated_functions import FUNCTIONS
from fasttensor.autograd.rule import apply, needs_history
from fasttensor.autograd.rules.dropout import NativeDropout, RreluWithNoise
from fasttensor.functional.creation import empty_like, must_be_tensor

_ALPHA = 1.7580993408473766         # SELU's alpha times its scale: the value that dropped units take


def _check(op, p, error):
    if not 0.0 <= p <= 1.0:
        raise error(f"{op} probability has to be between 0 and 1, but got {p}")


def _drop(input, p, training, inplace):
    must_be_tensor("dropout", input)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0.0) if inplace else input * 0.0
    if inplace:
        return input.mul_(_noise(input, p, False))
    return apply(NativeDropout, input, float(p), None)


def _noise(input, p, feature, lead=2):
    """Zeros, and 1 / (1 - p) with probability 1 - p; where `feature`, one value for each index of the `lead` first dimensions."""
    if feature:
        if input.ndim < lead:
            raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {description(input)}")
        noise = input.new_empty(tuple(input.shape[:lead]) + (1,) * (input.ndim - lead))
    else:
        noise = empty_like(input)
    backend(noise).fill_(noise, 1)
    return backend(noise).dropout(noise, p, None)[0]


def _drop_features(input, p, training, inplace, lead=2):
    must_be_tensor("dropout", input)
    if not training or p == 0 or input.numel() == 0:
        return input
    noise = input.new_zeros(()) if p == 1 else _noise(input, p, True, lead)
    return input.mul_(noise) if inplace else input * noise


def _drop_alpha(input, p, training, inplace, feature):
    """Dropped units take SELU's negative limit; scale and shift restore mean and variance."""
    must_be_tensor("alpha_dropout", input)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0.0) if inplace else input * 0.0
    if feature:
        noise = input.new_empty(tuple(input.shape[:2]) + (1,) * (input.ndim - 2))
    else:
        noise = empty_like(input)
    noise = spread_draws(noise) if is_inside() else noise
    backend(noise).bernoulli_(noise, 1.0 - p, None)
    a = 1.0 / ((_ALPHA * _ALPHA * p + 1) * (1 - p)) ** 0.5
    shift = (noise - 1).mul_(_ALPHA * a).add_(_ALPHA * a * p)
    noise.mul_(a)
    return input.mul_(noise).add_(shift) if inplace else input * noise + shift


# --- the forms of torch, with required arguments ---

def native_dropout(input, p, train):
    """Dropout with its mask: ``(output, mask)``, both of the shape of ``input``, floating point and bool.

    The elements that stay are scaled by 1 / (1 - p); without ``train`` all stay as they are.

    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    must_be_tensor("native_dropout", input)
    if train is not None and not train:
        return input.clone(), empty_like(input, dtype=bool).fill_(True)
    if input.numel() == 0:
        return input, empty_like(input)
    y, mask = backend(input).dropout(input, float(p), None) if p < 1 else (input * 0.0, empty_like(input, dtype=bool).fill_(False))
    return y, mask


def _alpha(input, p, train, inplace):
    return _drop_alpha(input, p, train, inplace, False)


def _feature_alpha(input, p, train, inplace):
    return _drop_alpha(input, p, train, inplace, True)


def feature_dropout(input, p, train):
    """Zeroes whole channels, the input's second dimension, with probability p and scales the others by 1 / (1 - p); nothing without ``train``.

    Shape: at least 2-d, (N, C, ...). Raises RuntimeError unless 0 <= p <= 1.

    >>> torch.feature_dropout(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    _check("dropout", p, RuntimeError)
    return _drop_features(input, p, train, False)


def dropout_(input, p, train):
    """In-place ``dropout``: ``input`` is written to and returned. RuntimeError unless 0 <= p <= 1.

    >>> torch.dropout_(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    _check("dropout", p, RuntimeError)
    return _drop(input, p, train, True)


def feature_dropout_(input, p, train):
    """In-place ``feature_dropout``: ``input`` is written to and returned. RuntimeError unless 0 <= p <= 1.

    >>> torch.feature_dropout_(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    _check("dropout", p, RuntimeError)
    return _drop_features(input, p, train, True)


def alpha_dropout_(input, p, train):
    """In-place ``alpha_dropout``: ``input`` is written to and returned. RuntimeError unless 0 <= p <= 1.

    >>> torch.alpha_dropout_(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    _check("dropout", p, RuntimeError)
    return _alpha(input, p, train, True)


def feature_alpha_dropout_(input, p, train):
    """In-place ``feature_alpha_dropout``: ``input`` is written to and returned. RuntimeError unless 0 <= p <= 1.

    >>> torch.feature_alpha_dropout_(torch.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    _check("dropout", p, RuntimeError)
    return _feature_alpha(input, p, train, True)


# --- nn.functional ---

def dropout(input, p=0.5, training=True, inplace=False):
    """During training, zeroes elements with probability p and scales the others by 1 / (1 - p).

    Any shape, floating point. Raises ValueError unless 0 <= p <= 1.

    >>> torch.nn.functional.dropout(torch.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    _check("dropout", p, ValueError)
    return _drop(input, p, training, inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps the mean and variance of SELU's outputs: dropped elements take its negative limit, then all are scaled and shifted.

    Any shape, floating point. Raises ValueError (``torch.alpha_dropout``: RuntimeError) unless 0 <= p <= 1.
    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.

    >>> F.alpha_dropout(torch.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    _check("dropout", p, ValueError)
    return _alpha(input, p, training, inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels of an input of shape (N, C, L) or (C, L) with probability p and scales the others by 1 / (1 - p).

    Raises ValueError unless 0 <= p <= 1, RuntimeError for other numbers of dimensions.

    >>> F.dropout1d(torch.ones(1, 2, 3), 0.5, training=False)
    tensor([[[1., 1., 1.],
             [1., 1., 1.]]])
    """
    _check("dropout", p, ValueError)
    must_be_tensor("dropout1d", input)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to provide "
                           "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
                           "(i.e. 2D or 3D inputs).")
    return _drop_features(input, p, training, inplace, input.ndim - 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels of an input of shape (N, C, H, W) with probability p and scales the others by 1 / (1 - p).

    (N, C, L) is taken too, with a warning, as before PyTorch 1.12. Raises ValueError unless 0 <= p <= 1.

    >>> F.dropout2d(torch.ones(1, 2, 1, 2), 0.5, training=False).flatten()
    tensor([1., 1., 1., 1.])
    """
    _check("dropout", p, ValueError)
    must_be_tensor("dropout2d", input)
    if input.ndim not in (3, 4):
        warnings.warn(f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error in a future "
                      "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to provide "
                      "channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
                      UserWarning, stacklevel=2)
    if input.ndim == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
                      "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the "
                      "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch "
                      "to using dropout1d instead.", UserWarning, stacklevel=2)
    return _drop_features(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Zeroes whole channels of an input of shape (N, C, D, H, W) or (C, D, H, W) with probability p and scales the others by 1 / (1 - p).

    Raises ValueError unless 0 <= p <= 1; warns for other numbers of dimensions.

    >>> F.dropout3d(torch.ones(1, 2, 1, 1, 2), 0.5, training=False).shape
    torch.Size([1, 2, 1, 1, 2])
    """
    _check("dropout", p, ValueError)
    must_be_tensor("dropout3d", input)
    if input.ndim not in (4, 5):
        warnings.warn(f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error in a future "
                      "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to provide "
                      "channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
                      UserWarning, stacklevel=2)
        return _drop_features(input, p, training, inplace)
    return _drop_features(input, p, training, inplace, input.ndim - 3)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Alpha dropout of whole channels, the second dimension of an input of shape (N, C, ...): see :func:`alpha_dropout`.

    Raises ValueError (``torch.feature_alpha_dropout``: RuntimeError) unless 0 <= p <= 1.

    >>> F.feature_alpha_dropout(torch.ones(1, 2), 0.5, training=False)
    tensor([[1., 1.]])
    """
    _check("dropout", p, ValueError)
    return _feature_alpha(input, p, training, inplace)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False, generator=None):
    """x where x > 0, else x times a slope: drawn from [lower, upper) for each element during training, their mean otherwise.

    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 1.0]), 0.5, 0.5)
    tensor([-0.5000,  1.0000])
    """
    real_number(upper, "rrelu", "upper")
    flag("rrelu", "training", training)
    must_be_tensor("rrelu", input)
    if not lower <= upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound: rrelu got lower={lower}, upper={upper}")
    x = input.clone() if inplace and needs_history(input) else input if inplace else input.contiguous()     # the derivative needs the old values
    if not training:
        result = FUNCTIONS["leaky_relu"](x, (lower + upper) / 2)
    else:
        result = apply(RreluWithNoise, x, float(lower), float(upper), generator)
    return input.copy_(result) if inplace else result


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """In-place :func:`rrelu`: ``input`` is written to and returned. RuntimeError where lower > upper.

    >>> F.rrelu_(torch.tensor([-1.0, 1.0]), 0.5, 0.5)
    tensor([-0.5000,  1.0000])
    """
    return rrelu(input, lower, upper, training, True, generator)


def _all_given(function, drop):
    """The function of this name in torch, where p and train are required."""
    def required(input, p, train):
        _check("dropout", p, RuntimeError)
        return drop(input, p, train, False)
    required.__name__ = required.__qualname__ = function.__name__
    required.__module__ = "fasttensor"      # where pickle finds it by name
    required.__doc__ = function.__doc__
    return required


__all__ = {"native_dropout": native_dropout, "dropout": _all_given(dropout, _drop), "alpha_dropout": _all_given(alpha_dropout, _alpha),
           "feature_alpha_dropout": _all_given(feature_alpha_dropout, _feature_alpha), "dropout_": dropout_, "feature_dropout": feature_dropout,
           "feature_dropout_": feature_dropout_, "alpha_dropout_": alpha_dropout_, "feature_alpha_dropout_": feature_alpha_dropout_,
           "rrelu": rrelu, "rrelu_": rrelu_}
METHODS = {}
NN_FUNCTIONAL = ["dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "rrelu", "rrelu_"]
