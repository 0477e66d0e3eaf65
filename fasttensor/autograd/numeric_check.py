"""Gradients compared with central differences, for users' functions and our own tests."""

import itertools

from fasttensor._core.tensor import Tensor
from fasttensor.autograd.api import grad
from fasttensor.autograd.grad_mode import no_grad

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """A gradient differs from central differences."""


def _tensors(value):
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    return []


def _outputs(function, inputs):
    got = function(*inputs)
    outs = got if isinstance(got, (list, tuple)) else (got,)
    return [o for o in outs if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


def _numerical(function, inputs, x, eps):
    """d outputs / d x by central differences: a list over outputs of matrices [elements of x (times 2 if complex)][elements of output]."""
    columns = []
    if x.numel() and any(step == 0 and size > 1 for size, step in zip(x.shape, x.stride())):
        raise RuntimeError("gradcheck: an input has a dimension with stride 0, so that its elements cannot be changed one by one: pass a .contiguous() copy")
    data = x.detach()
    units = (1.0, 1j) if x.is_complex() else (1.0,)
    for unit, place in itertools.product(units, itertools.product(*map(range, x.shape))):
        kept = data[place].item()
        with no_grad():
            data[place] = kept + eps * unit
            high = [o.clone() for o in _outputs(function, inputs)]
            data[place] = kept - eps * unit
            low = [o.clone() for o in _outputs(function, inputs)]
            data[place] = kept
        columns.append([((h - low_) / (2 * eps)).reshape(-1).tolist() for h, low_ in zip(high, low)])
    return columns


def _analytical(function, inputs, x, output):
    """The same by backward, one output element at a time: rows[j] = gradient of Re (and Im) of output element j."""
    import fasttensor as torch
    outs = _outputs(function, inputs)
    out = outs[output]
    rows = []
    units = (1.0, 1j) if out.is_complex() else (1.0,)
    for unit, j in itertools.product(units, range(out.numel())):
        seed = torch.zeros_like(out.detach()).contiguous()
        seed.view(-1)[j] = unit
        if not out.requires_grad:
            rows.append([0.0] * x.numel())
            continue
        g, = grad([out], [x], [seed], retain_graph=True, allow_unused=True)
        rows.append([0.0] * x.numel() if g is None else g.detach().reshape(-1).tolist())
    return rows


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):
    """Whether `func`'s gradients agree with central differences; float64 inputs that require grad are checked.

    check_forward_ad compares tangents of dual numbers too (`autograd.forward_ad`), check_backward_ad=False only those.
    Complex values follow PyTorch's convention (the gradient of a real loss is dL/dRe + i dL/dIm).
    Raises GradcheckError that names output, input and element, unless raise_exception is False.

    >>> import fasttensor as torch
    >>> torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    checked = [t for t in _tensors(inputs) if t.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    try:
        for k, x in enumerate(checked):
            numeric = _numerical(func, inputs, x, eps)
            outs = _outputs(func, inputs)
            for o, out in enumerate(outs):
                if check_backward_ad:
                    _compare(k, o, out, x, numeric, _analytical(func, inputs, x, o), atol, rtol)
            if check_forward_ad:
                _compare_tangents(k, x, numeric, _tangents(func, inputs, x), atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _replaced(value, old, new):
    """The arguments with one tensor in place of another."""
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(v, old, new) for v in value)
    return new if value is old else value


def _tangents(function, inputs, x):
    """d outputs / d x by dual numbers, one element of x at a time: as `_numerical`."""
    import fasttensor as torch
    from fasttensor.autograd import forward_ad
    columns = []
    for unit, i in itertools.product((1.0, 1j) if x.is_complex() else (1.0,), range(x.numel())):
        direction = torch.zeros(x.numel(), dtype=x.dtype)
        direction[i] = unit
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, direction.reshape(x.shape))
            pairs = [forward_ad.unpack_dual(o) for o in _outputs(function, _replaced(inputs, x, dual))]
            columns.append([[0.0] * p.numel() if t is None else t.detach().reshape(-1).tolist() for p, t in pairs])
    return columns


def _compare_tangents(k, x, numeric, columns, atol, rtol):
    for i, (want, got) in enumerate(zip(numeric, columns)):
        for o, (w, g) in enumerate(zip(want, got)):
            for j, (a, b) in enumerate(zip(w, g)):
                if not abs(a - b) <= atol + rtol * abs(a):
                    raise GradcheckError(f"Jacobian computed with forward mode mismatch for output {o} with respect to input {k}: element {j} by"
                                         f" element {i % x.numel()}: numerical {a}, tangent {b}")


def _compare(k, o, out, x, numeric, rows, atol, rtol):
    n, m = x.numel(), out.numel()
    for r, row in enumerate(rows):
        j, seed = r % m if m else 0, 1j if r >= m else 1
        for i in range(n):
            # d(Re(conj(seed) out_j)) along the real, and the imaginary, direction of x_i
            want = (seed.conjugate() * numeric[i][o][j]).real
            if x.is_complex():
                want = complex(want, (seed.conjugate() * numeric[n + i][o][j]).real)
            got = row[i]
            if not abs(got - want) <= atol + rtol * abs(want):
                raise GradcheckError(f"Jacobian mismatch for output {o} with respect to input {k}: element {j} by element {i}:"
                                     f" numerical {want}, analytical {got}")


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
                  check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):
    """Whether second derivatives agree with central differences of the first ones, within `atol` and `rtol`; returns True.

    Args: `func` of the tensors `inputs`, float64 that requires grad; `grad_outputs`, by default numbers from 0.5 to 1.5.
    Raises RuntimeError where they do not agree, unless ``raise_exception=False``, which returns False.

    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x ** 3, (x,))
    True
    """
    import fasttensor as torch
    inputs = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    outs = [o for o in _outputs(func, inputs) if o.requires_grad]
    if grad_outputs is None:
        seeds = tuple(torch.linspace(0.5, 1.5, max(o.numel(), 1), dtype=torch.float64)[: o.numel()].reshape(o.shape).to(o.dtype).requires_grad_()
                      for o in outs)
    else:
        seeds = tuple(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else (grad_outputs,)
    count = len(inputs)

    def first(*args):
        ins, gs = args[:count], args[count:]
        wanted = [t for t in _tensors(ins) if t.requires_grad]
        with torch.enable_grad():
            made = [o for o in _outputs(func, ins) if o.requires_grad]
            found = grad(made, wanted, list(gs), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(first, inputs + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, check_forward_ad=check_fwd_over_rev,
                     check_backward_ad=check_rev_over_rev)
