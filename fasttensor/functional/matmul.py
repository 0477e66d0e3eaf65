"""Matrix products: mm, bmm, matmul, linear, and products of vectors. Operands must have one dtype, as in
PyTorch; only `outer` promotes."""

from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.products import try_linear, try_mm, try_vdot, try_vector
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.matmul import Bmm, Dot, Mm, Mv, Vdot
from fasttensor.functional.common import give

__all__ = ["bmm", "dot", "ger", "inner", "matmul", "mm", "mv", "outer", "vdot"]

NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def dtype_name(x):
    """PyTorch's C++ name of a dtype, which its messages use."""
    return NAMES[repr(x.dtype).removeprefix("torch.")]


def show(*tensors):
    return " and ".join(description(t) for t in tensors)


def check_tensors(name, *tensors):
    for place, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): argument {place + 1} must be Tensor, not {type(t).__name__}")
    devices = {t.device for t in tensors}
    if len(devices) > 1:
        raise RuntimeError(
            f"{name}: expected all tensors to be on the same device, but found {', '.join(sorted(map(str, devices)))}"
        )


def check_dtypes(name, *tensors):
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise RuntimeError(
            f"{name}: expected all arguments to have the same dtype, but got {show(*tensors)}; convert one with .to()"
        )


def check_matrix_sizes(name, a, b):
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied ({a.shape[-2]}x{a.shape[-1]} and "
            f"{b.shape[-2]}x{b.shape[-1]})"
        )


def mm(input, mat2, *, out=None):
    """Matrix product of two 2-d tensors.

    input: (n, m); mat2: (m, p), of the same dtype. Returns (n, p). No broadcasting: see `matmul`.
    Raises RuntimeError when the sizes do not fit, the dtypes differ, or an argument is not 2-d.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    result = try_mm(input, mat2, 2)
    if result is not None:
        return result if out is None else give(out, result, "mm", True)
    check_tensors("mm", input, mat2)
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"mm: both arguments must be matrices (2-d), got {show(input, mat2)}; see matmul or bmm")
    check_dtypes("mm", input, mat2)
    check_matrix_sizes("mm", input, mat2)
    return give(out, apply(Mm, input, mat2), "mm", True)


def bmm(input, mat2, *, out=None):
    """Products of two batches of matrices.

    input: (b, n, m); mat2: (b, m, p), of the same dtype. Returns (b, n, p). The batch does not broadcast.
    Raises RuntimeError when the sizes do not fit, the dtypes differ, or an argument is not 3-d.

    >>> torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    result = try_mm(input, mat2, 3)
    if result is not None:
        return result if out is None else give(out, result, "bmm", True)
    check_tensors("bmm", input, mat2)
    check_batches("bmm", input, mat2)
    check_dtypes("bmm", input, mat2)
    return give(out, apply(Bmm, input, mat2), "bmm", True)


def check_batches(name, a, b):
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError(f"{name}: batch1 and batch2 must be 3D tensors, got {show(a, b)}")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"{name}: Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}]"
            f" but got: [{b.shape[0]}, {b.shape[1]}]"
        )


def mv(input, vec, *, out=None):
    """Matrix by vector: (n, m) by (m,) gives (n,).

    Any numeric dtype, the same of both. RuntimeError for other shapes and unlike dtypes.

    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    result = try_vector(input, vec) if isinstance(input, Tensor) and input.ndim == 2 else None
    if result is not None:
        return result if out is None else give(out, result, "mv", True)
    check_tensors("mv", input, vec)
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: vector + matrix @ vector expected, got {show(input, vec)}")
    check_dtypes("mv", input, vec)
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"mv: size mismatch, got input ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})")
    return give(out, apply(Mv, input, vec), "mv", True)


def dot(input, tensor, *, out=None):
    """Sum of the products of the elements of two vectors of one length and dtype; a 0-d tensor.

    >>> torch.dot(torch.tensor([2, 3]), torch.tensor([2, 1]))
    tensor(7)
    """
    result = try_vector(input, tensor) if isinstance(input, Tensor) and input.ndim == 1 else None
    if result is not None:
        return result if out is None else give(out, result, "dot", True)
    check_vectors("dot", input, tensor)
    return give(out, apply(Dot, input, tensor), "dot", True)


def check_vectors(name, x, y):
    check_tensors(name, x, y)
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"{name}: 1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors ({show(x, y)})")
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{name}: expected both vectors to have same dtype, but found {dtype_name(x)} and {dtype_name(y)} ({show(x, y)})"
        )
    if x.shape != y.shape:
        raise RuntimeError(
            f"{name}: inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have "
            "the same number of elements"
        )


def vdot(input, other, *, out=None):
    """`dot` with the first vector conjugated.

    Any numeric dtype, the same of both; (n,) and (n,) to a number. RuntimeError for other shapes and unlike dtypes.

    >>> torch.vdot(torch.tensor([1j]), torch.tensor([1j]))
    tensor(1.+0.j)
    """
    result = try_vdot(input, other)
    if result is not None:
        return result if out is None else give(out, result, "vdot", True)
    check_vectors("vdot", input, other)
    return give(out, apply(Vdot, input, other), "vdot", True)


def inner(input, other, *, out=None):
    """Products of vectors along the last dimensions: (..., k) and (***, k) give (..., ***).

    Any numeric dtype, the same of both; a number where either is one. RuntimeError where the last dimensions differ.

    >>> torch.inner(torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    if isinstance(input, Tensor) and isinstance(other, Tensor) and input.ndim == other.ndim == 1:
        result = try_vector(input, other)
        if result is not None:
            return result if out is None else give(out, result, "inner", True)
    check_tensors("inner", input, other)
    if input.ndim == 0 or other.ndim == 0:
        return give(out, input * other, "inner")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} "
            f"and {list(other.shape)}"
        )
    check_dtypes("inner", input, other)
    k = input.shape[-1]
    rows, columns = (
        input.reshape(input.numel() // k if k else numel(input.shape[:-1]), k),
        other.reshape(other.numel() // k if k else numel(other.shape[:-1]), k),
    )
    return give(out, mm(rows, columns.t()).reshape(tuple(input.shape[:-1]) + tuple(other.shape[:-1])), "inner", True)


def numel(sizes):
    n = 1
    for size in sizes:
        n *= size
    return n


def matmul(input, other, *, out=None):
    """Matrix product of tensors of any number of dimensions.

    Two vectors give their dot product; a matrix and a vector, a vector. With more dimensions the last two
    are matrices and the others are batches, which broadcast. A vector on the left counts as a row, on the
    right as a column, which is dropped afterwards.
    Raises RuntimeError for sizes that do not fit, different dtypes, and 0-d tensors.

    >>> torch.matmul(torch.ones(2, 1, 3, 4), torch.ones(5, 4, 6)).shape
    torch.Size([2, 5, 3, 6])
    """
    result = try_mm(input, other)
    if result is None:
        check_tensors("matmul", input, other)
        result = general_matmul(input, other)
    return result if out is None else give(out, result, "matmul", True)


def general_matmul(a, b):
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(
            f"matmul: both arguments need to be at least 1D, but they are {a.ndim}D and {b.ndim}D ({show(a, b)})"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"matmul: expected m1 and m2 to have the same dtype, but got {show(a, b)}; convert one with .to()"
        )
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 2 and b.ndim == 1:
        return mv(a, b)
    if a.ndim == 1:
        return general_matmul(a.unsqueeze(0), b).squeeze(-2)
    if b.ndim == 1:
        return general_matmul(a, b.unsqueeze(1)).squeeze(-1)
    check_matrix_sizes("matmul", a, b)
    if b.ndim == 2:
        result = try_mm(a, b)
        return apply(Bmm if a.ndim > 2 else Mm, a, b) if result is None else result
    batch = broadcast_batch(a, b)
    return apply(Bmm, a.expand(batch + tuple(a.shape[-2:])), b.expand(batch + tuple(b.shape[-2:])))


def broadcast_batch(a, b):
    """The common shape of what comes before the matrices."""
    left, right = tuple(a.shape[:-2]), tuple(b.shape[:-2])
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    for p, q in zip(left, right):
        if p != q and p != 1 and q != 1:
            raise RuntimeError(
                f"matmul: the batch dimensions of {show(a, b)} do not broadcast: they must be equal or 1"
            )
    return tuple(q if p == 1 else p for p, q in zip(left, right))


def outer(input, vec2, *, out=None):
    """Outer product of two vectors: (n,) and (m,) give (n, m), with the dtypes promoted.

    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    check_tensors("outer", input, vec2)
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D argument self and vec2, but got {input.ndim}-D and {vec2.ndim}-D "
            f"({show(input, vec2)})"
        )
    return give(out, input.unsqueeze(1) * vec2.unsqueeze(0), "outer")


ger = outer


def linear(input, weight, bias=None, *, out=None):
    """``input @ weight.T + bias``.

    input: (..., in); weight: (out, in), or (in,) for a single output that is dropped; bias: (out,) or None.
    Returns (..., out). The sum and the bias are one pass over the result.
    Raises RuntimeError when sizes or dtypes do not fit.

    >>> torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))[0]
    tensor([4., 4., 4., 4.])
    """
    if out is not None:
        return give(out, linear(input, weight, bias), "linear", True)
    result = try_linear(input, weight, bias)
    if result is not None:
        return result
    check_tensors("linear", input, weight, *(() if bias is None else (bias,)))
    check_dtypes("linear", input, weight, *(() if bias is None else (bias,)))
    if weight.ndim == 2 and input.ndim and input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied ({numel(input.shape[:-1])}x{input.shape[-1]} and"
            f" {weight.shape[1]}x{weight.shape[0]}): the last size of input {show(input)} must be that of "
            f"weight {show(weight)}"
        )
    if input.ndim == 1 and weight.ndim == 2 and (bias is None or bias.shape == weight.shape[:1]):
        result = try_linear(input.unsqueeze(0), weight, bias)
        if result is not None:
            return result.squeeze(0)
    if weight.ndim > 2:
        raise RuntimeError(f"linear: weight must have 1 or 2 dimensions, got {show(weight)}")
    product = matmul(input, weight.t() if weight.ndim == 2 else weight)
    return product if bias is None else product + bias


METHODS = {f.__name__: f for f in (mm, bmm, mv, dot, vdot, inner, matmul, outer)}
METHODS["ger"] = outer
HOOKS = {"matmul": matmul}     # importing this module fills the slot of `@`
NN_FUNCTIONAL = ["linear"]
LINALG = ["matmul"]
