"""Products with an addend: addmm and its relatives. The addend is read in the same pass as the product is
written; where beta is 0 it is not read at all."""

from fasttensor._core.dtype import promote_types
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.elementwise_numbers import check_alpha
from fasttensor.autograd.products import try_addmm
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.matmul import Addmm, Baddbmm
from fasttensor.functional.common import give, in_place, refuse_shared
from fasttensor.functional.matmul import check_batches, check_dtypes, check_matrix_sizes, check_tensors, show

__all__ = ["_addmm_activation", "addbmm", "addmm", "addmv", "addr", "baddbmm"]


def factors(name, x, beta, alpha, half=False):
    """beta and alpha as Python numbers, from Python's and numpy's numbers and tensors without dimensions or history; RuntimeError where x's dtype
    (float32 for half types, unless `half`) does not hold them. Integers drop their fractions."""
    return check_alpha(name, "beta", beta, x.dtype, True, half), check_alpha(name, "alpha", alpha, x.dtype, True, half)


def expanded(name, c, shape):
    try:
        return c.expand(shape)
    except RuntimeError:
        raise RuntimeError(
            f"{name}: the addend {show(c)} does not broadcast to the product's shape {tuple(shape)}"
        ) from None


def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * (mat1 @ mat2)`` in one pass.

    mat1: (n, m); mat2: (m, p); input broadcasts to (n, p). Where beta is 0 input is not read, NaN included.
    For integers the fractions of beta and alpha are dropped, as PyTorch does.

    >>> torch.addmm(torch.ones(2, 3), torch.ones(2, 4), torch.ones(4, 3), beta=2)[0]
    tensor([6., 6., 6.])
    """
    result = (
        try_addmm(input, mat1, mat2, beta, alpha)
        if out is None and isinstance(mat1, Tensor) and mat1.ndim == 2
        else None
    )
    if result is not None:
        return result
    check_tensors("addmm", input, mat1, mat2)
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"addmm: mat1 and mat2 must be matrices, got {show(mat1, mat2)}")
    check_dtypes("addmm", input, mat1, mat2)
    if out is not None:
        refuse_shared("addmm", out, (input,), True)
    beta, alpha = factors("addmm", input, beta, alpha)
    check_matrix_sizes("addmm", mat1, mat2)
    addend = expanded("addmm", input, (mat1.shape[0], mat2.shape[1]))
    return give(out, apply(Addmm, addend, mat1, mat2, beta, alpha), "addmm", True)


def _addmm_activation(input, mat1, mat2, *, beta=1, alpha=1, use_gelu=False, out=None):
    """`addmm` followed by relu, or by the tanh form of gelu with `use_gelu`."""
    from fasttensor.nn.functional import gelu, relu

    result = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return give(out, gelu(result, approximate="tanh") if use_gelu else relu(result), "_addmm_activation", True)


def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * (mat @ vec)``; mat: (n, m), vec: (m,), input broadcasts to (n,).

    All of one dtype. RuntimeError for unlike dtypes and sizes that do not fit.

    >>> torch.addmv(torch.ones(2), torch.ones(2, 3), torch.ones(3))
    tensor([4., 4.])
    """
    check_tensors("addmv", input, mat, vec)
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"addmv: vector + matrix @ vector expected, got {show(input, mat, vec)}")
    check_dtypes("addmv", input, mat, vec)
    if out is not None:
        refuse_shared("addmv", out, (input,), True)
    beta, alpha = factors("addmv", input, beta, alpha, True)
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(f"addmv: size mismatch, got mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})")
    addend = expanded("addmv", input, (mat.shape[0],)).unsqueeze(1)
    return give(out, apply(Addmm, addend, mat, vec.unsqueeze(1), beta, alpha).squeeze(1), "addmv", True)


def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * outer(vec1, vec2)``, with the dtypes promoted; input broadcasts to (n, m).

    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    check_tensors("addr", input, vec1, vec2)
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec1 and vec2, but got {vec1.ndim}-D and {vec2.ndim}-D")
    if out is not None:
        refuse_shared("addr", out, (input,), True)
    kind = promote_types(input.dtype, promote_types(vec1.dtype, vec2.dtype))
    beta, alpha = check_alpha("addr", "beta", beta, kind), check_alpha("addr", "alpha", alpha, kind)
    if input.dtype == vec1.dtype == vec2.dtype and (input.is_floating_point() or input.is_complex()):
        addend = expanded("addr", input, (vec1.shape[0], vec2.shape[0]))
        if addend.stride(0) < addend.stride(1) and 0 not in addend.stride():        # column by column, as the result then lies too
            return give(out, apply(Addmm, addend.t(), vec2.unsqueeze(1), vec1.unsqueeze(0), beta, alpha).t(), "addr")
        return give(out, apply(Addmm, addend, vec1.unsqueeze(1), vec2.unsqueeze(0), beta, alpha), "addr")
    boolean = all(repr(t.dtype) == "torch.bool" for t in (input, vec1, vec2))
    product = vec1.unsqueeze(1) * vec2.unsqueeze(0)
    addend = expanded("addr", input, product.shape)
    if boolean:
        product = product if alpha else product & False
        return give(out, addend | product if beta else product, "addr")
    if alpha != 1:
        product = alpha * product
    if beta == 0:  # input takes part in the dtype alone, so that NaN in it does not count
        return give(out, product.to(promote_types(product.dtype, input.dtype)), "addr")
    return give(out, (addend if beta == 1 else beta * addend) + product, "addr")


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * bmm(batch1, batch2)``; input broadcasts to (b, n, p). Where beta is 0 input is
    not read, NaN included.

    All of one dtype. RuntimeError for unlike dtypes and sizes that do not fit.

    >>> torch.baddbmm(torch.ones(2, 1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([4., 4.])
    """
    result = (
        try_addmm(input, batch1, batch2, beta, alpha)
        if out is None and isinstance(batch1, Tensor) and batch1.ndim == 3
        else None
    )
    if result is not None:
        return result
    check_tensors("baddbmm", input, batch1, batch2)
    check_batches("baddbmm", batch1, batch2)
    check_dtypes("baddbmm", input, batch1, batch2)
    beta, alpha = factors("baddbmm", input, beta, alpha)
    addend = expanded("baddbmm", input, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    if out is not None:
        refuse_shared("baddbmm", out, (input, batch1, batch2), True)
    return give(out, apply(Baddbmm, addend, batch1, batch2, beta, alpha), "baddbmm", True)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * sum of the products of the batch``; input broadcasts to (n, p).

    All of one dtype. RuntimeError for unlike dtypes and sizes that do not fit.

    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    check_tensors("addbmm", input, batch1, batch2)
    check_batches("addbmm", batch1, batch2)
    check_dtypes("addbmm", input, batch1, batch2)
    beta, alpha = factors("addbmm", input, beta, alpha)
    b, n, m = batch1.shape
    # The sum over the batch is a product over (batch, m) at once.
    return addmm(
        input,
        batch1.transpose(0, 1).reshape(n, b * m),
        batch2.reshape(b * m, batch2.shape[2]),
        beta=beta,
        alpha=alpha,
        out=out,
    )


FUSED = (addmm, addmv, addr, addbmm, baddbmm)
METHODS = {f.__name__: f for f in FUSED}
METHODS.update({f.__name__ + "_": in_place(f) for f in FUSED})
