"""Clipping gradients."""
import math
import warnings

import fasttensor as ft
from fasttensor.cpu.optim_norm import norm_of, scale_, takes


def _listed(parameters):
    return [parameters] if isinstance(parameters, ft.Tensor) else list(parameters)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector.

    RuntimeError for a norm that is not finite, where `error_if_nonfinite`.

    >>> nn.utils.get_total_norm([torch.tensor([3.]), torch.tensor([4.])])
    tensor(5.)
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return ft.tensor(0.0)
    device = tensors[0].device
    if norm_type > 0 and device.type == "cpu" and not ft.is_grad_enabled() and takes(tensors):
        # All of them in one pass; the result has the dtype that their own norms would have.
        wide = any(t.dtype == ft.float64 for t in tensors)
        total = ft.tensor(norm_of(tensors, norm_type), dtype=ft.float64 if wide else ft.float32)
        return _checked(total, norm_type, error_if_nonfinite)
    norms = [ft.linalg.vector_norm(t, norm_type).to(device) for t in tensors]
    total = ft.linalg.vector_norm(ft.stack(norms), norm_type)
    return _checked(total, norm_type, error_if_nonfinite)


def _checked(total, norm_type, error_if_nonfinite):
    if error_if_nonfinite and not math.isfinite(float(total)):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot "
                           "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale gradients by max_norm / (total_norm + 1e-6) where that is below 1.

    In place; `total_norm` is what `get_total_norm` gave, a tensor without dimensions.

    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., 4.])
    >>> nn.utils.clip_grads_with_norm_([w], 1.0, torch.tensor(5.))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not grads:
        return
    # Always multiplied: asking whether it is needed would wait for the device.
    with ft.no_grad():
        scale = ft.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        if scale.device.type == "cpu" and takes(grads):
            factor = float(scale)
            if factor != 1.0:
                scale_(grads, factor)
            return
        for g in grads:
            g.mul_(scale.to(g.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale all gradients together so that their norm is at most `max_norm`; returns the norm before.

    The norm is a 0-d tensor of the gradients' dtype. RuntimeError where `error_if_nonfinite` and it is NaN or infinite.

    >>> p = nn.Parameter(torch.ones(1)); p.grad = torch.tensor([10.])
    >>> nn.utils.clip_grad_norm_([p], 1.0), p.grad.round()
    (tensor(10.), tensor([1.]))
    """
    if isinstance(parameters, ft.Tensor):
        parameters = [parameters]
    else:
        generator = hasattr(parameters, "__next__")
        parameters = list(parameters)
        if generator and not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    with ft.no_grad():
        total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated name of `clip_grad_norm_`.

    Same arguments, with a FutureWarning.

    >>> import warnings
    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., 4.])
    >>> with warnings.catch_warnings(record=True):
    ...     nn.utils.clip_grad_norm([w], 1.0)
    tensor(5.)
    """
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limit every element of every gradient to [-clip_value, clip_value].

    In place; parameters without a gradient are passed over.

    >>> w = nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3., -0.5])
    >>> nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    clip_value = float(clip_value)
    with ft.no_grad():
        for p in _listed(parameters):
            if p.grad is not None:
                p.grad.clamp_(min=-clip_value, max=clip_value)
