"""Complex numbers: their parts as views, conjugates, adjoints."""

import warnings

from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import Tensor
from fasttensor.autograd import reinterpret
from fasttensor.autograd.checks import need_tensor
from fasttensor.autograd.generated_functions import FUNCTIONS as F
from fasttensor.autograd.rule import Rule, apply
from fasttensor.functional.common import check_tensor, describe

__all__ = ["real", "imag", "conj", "view_as_real", "view_as_complex", "resolve_conj", "resolve_neg", "is_conj", "is_neg"]


class ViewAsReal(Rule):
    """A complex tensor's parts as a last dimension of 2."""
    view = True

    @staticmethod
    def forward(ctx, x):
        return reinterpret.complex_parts(x)

    @staticmethod
    def backward(ctx, g):
        return view_as_complex(g.contiguous()),


class ViewAsComplex(Rule):
    """A last dimension of 2 as complex numbers."""
    view = True

    @staticmethod
    def forward(ctx, x):
        return reinterpret.parts_as_complex(x)

    @staticmethod
    def backward(ctx, g):
        return view_as_real(g),


def view_as_real(input):
    """A complex tensor's real and imaginary parts as a last dimension of size 2, over the same memory.

    Shape: (...) -> (..., 2). dtypes: complex64 gives float32, complex128 float64; RuntimeError for real dtypes.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    need_tensor(input, "view_as_real", "input", 1)
    if not input.is_complex():
        raise RuntimeError(f"view_as_real is only supported for complex tensors, got {describe(input)}")
    return apply(ViewAsReal, input)


def view_as_complex(input):
    """A tensor whose last dimension is 2 as complex numbers over the same memory.

    Shape: (..., 2) -> (...). dtypes: float32 gives complex64, float64 complex128. Raises RuntimeError for other dtypes and sizes, and for
    strides under which two neighbours are no complex number.

    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    need_tensor(input, "view_as_complex", "input", 1)
    if input.dtype not in (DTYPES["float32"], DTYPES["float64"]):
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {input.dtype}")
    if input.ndim == 0 or input.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, got {describe(input)}")
    if input.stride(-1) != 1 or any(s % 2 for s in input.stride()[:-1]) or input.storage_offset() % 2:
        raise RuntimeError("view_as_complex: Tensor must have a last dimension with stride 1, and others divisible by 2: use .contiguous()")
    return apply(ViewAsComplex, input)


def real(input):
    """The real part: of complex tensors a view over the same memory, real tensors themselves.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    need_tensor(input, "real", "input", 1)
    return view_as_real(input).select(-1, 0) if input.is_complex() else input


def imag(input):
    """The imaginary part as a view over the same memory; RuntimeError for real tensors.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    need_tensor(input, "imag", "input", 1)
    if not input.is_complex():
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes: {describe(input)}")
    return view_as_real(input).select(-1, 1)


def _set_part(part):
    def setter(self, value):
        part(self).copy_(value)
    return setter


def conj(input):
    """The complex conjugate, computed at once (there is no lazy conjugate bit); real tensors come back as they are.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    need_tensor(input, "conj", "input", 1)
    return F["conj_physical"](input) if input.is_complex() else input


def resolve_conj(input):
    """`input` itself: conjugates are never lazy here.

    >>> torch.resolve_conj(torch.tensor([1 + 2j]).conj())
    tensor([1.-2.j])
    """
    check_tensor("resolve_conj", input)
    return input


def resolve_neg(input):
    """`input` itself: negation is never lazy here.

    >>> torch.resolve_neg(torch.tensor([1.0]))
    tensor([1.])
    """
    check_tensor("resolve_neg", input)
    return input


def is_conj(input):
    """False: conjugates are never lazy here (PyTorch says True of the result of ``conj()``).

    >>> torch.is_conj(torch.tensor([1 + 2j]))
    False
    """
    check_tensor("is_conj", input)
    return False


is_neg = is_conj


def _adjoint(self):
    """The conjugate of matrices with rows and columns exchanged, (..., m, n) -> (..., n, m); a 0-d tensor's conjugate.

    Raises RuntimeError for a vector.

    >>> torch.tensor([[1, 2j]]).adjoint()
    tensor([[1.-0.j],
            [0.-2.j]])
    >>> torch.tensor([[1, 2j]]).mH
    tensor([[1.-0.j],
            [0.-2.j]])
    """
    if self.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conj(self.mT) if self.ndim else conj(self)


def _h(self):
    """A matrix's conjugate transpose. Raises RuntimeError for what is no matrix: ``mH`` takes batches of them.

    >>> torch.tensor([[1, 2j]]).H
    tensor([[1.-0.j],
            [0.-2.j]])
    """
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""))
    if self.ndim == 0:
        warnings.warn("Tensor.H is deprecated on 0-D tensors. Consider using x.conj()", stacklevel=2)
    return conj(self.t())


HOOKS = {"derivative.conj": conj, "derivative.real": real, "derivative.is_complex": lambda t: isinstance(t, Tensor) and t.is_complex()}

METHODS = {
    "real": property(real, _set_part(real)), "imag": property(imag, _set_part(imag)), "conj": conj, "adjoint": _adjoint,
    "H": property(_h), "mH": property(_adjoint), "resolve_conj": resolve_conj, "resolve_neg": resolve_neg, "is_conj": is_conj,
    "is_neg": is_neg,
}
