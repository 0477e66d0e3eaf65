"""Matrix products: mm, bmm, matmul, the fused addmm family, linear, and products of vectors.

Operands must have one dtype, as in PyTorch; `addr`, `outer` and `kron` promote.
"""
from fasttensor._core.dtype import promote_types
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.products import try_linear, try_mm
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules.matmul import Addmm, Baddbmm, Bmm, Dot, Mm, Mv
from fasttensor.functional.common import give_out

__all__ = ["mm", "bmm", "mv", "dot", "vdot", "inner", "matmul", "addmm", "addmv", "addr", "addbmm", "baddbmm",
           "chain_matmul", "outer", "ger", "matrix_power", "_addmm_activation"]

NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
         "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
         "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


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
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, but found {', '.join(sorted(map(str, devices)))}")


def check_dtypes(name, *tensors):
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise RuntimeError(f"{name}: expected all arguments to have the same dtype, but got {show(*tensors)}; convert one with .to()")


def check_matrix_sizes(name, a, b):
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"{name}: mat1 and mat2 shapes cannot be multiplied ({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})")


def check_factors(name, x, **factors):
    for key, value in factors.items():
        if isinstance(value, bool) or isinstance(value, int):
            continue
        if isinstance(value, complex):
            if not x.is_complex():
                raise RuntimeError(f"{name}: argument {key} must not be a complex number for {show(x)}")
        elif isinstance(value, Tensor):
            raise TypeError(f"{name}(): argument '{key}' must be Number, not Tensor")
        elif not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(f"{name}: For integral input tensors, argument {key} must not be a floating point number, got {value} for {show(x)}")


def expanded(name, c, shape):
    try:
        return c.expand(shape)
    except RuntimeError:
        raise RuntimeError(f"{name}: the addend {show(c)} does not broadcast to the product's shape {tuple(shape)}") from None


def mm(input, mat2, *, out=None):
    """Matrix product of two 2-d tensors.

    input: (n, m); mat2: (m, p), of the same dtype. Returns (n, p). No broadcasting: see `matmul`.
    Raises RuntimeError when the sizes do not fit, the dtypes differ, or an argument is not 2-d.

    >>> import fasttensor
    >>> fasttensor.mm(fasttensor.ones(2, 3), fasttensor.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    check_tensors("mm", input, mat2)
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"mm: both arguments must be matrices (2-d), got {show(input, mat2)}; see matmul or bmm")
    check_dtypes("mm", input, mat2)
    check_matrix_sizes("mm", input, mat2)
    result = try_mm(input, mat2)
    return give_out(apply(Mm, input, mat2) if result is None else result, out, "mm")


def bmm(input, mat2, *, out=None):
    """Products of two batches of matrices.

    input: (b, n, m); mat2: (b, m, p), of the same dtype. Returns (b, n, p). The batch does not broadcast.
    Raises RuntimeError when the sizes do not fit, the dtypes differ, or an argument is not 3-d.

    >>> import fasttensor
    >>> fasttensor.bmm(fasttensor.ones(5, 2, 3), fasttensor.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    check_tensors("bmm", input, mat2)
    check_batches("bmm", input, mat2)
    check_dtypes("bmm", input, mat2)
    return give_out(apply(Bmm, input, mat2), out, "bmm")


def check_batches(name, a, b):
    if a.ndim != 3 or b.ndim != 3:
        raise RuntimeError(f"{name}: batch1 and batch2 must be 3D tensors, got {show(a, b)}")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"{name}: Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}]"
                           f" but got: [{b.shape[0]}, {b.shape[1]}]")


def mv(input, vec, *, out=None):
    """Matrix by vector: (n, m) by (m,) gives (n,).

    >>> import fasttensor
    >>> fasttensor.mv(fasttensor.ones(2, 3), fasttensor.ones(3))
    tensor([3., 3.])
    """
    check_tensors("mv", input, vec)
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: vector + matrix @ vector expected, got {show(input, vec)}")
    check_dtypes("mv", input, vec)
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"mv: size mismatch, got input ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})")
    return give_out(apply(Mv, input, vec), out, "mv")


def dot(input, tensor, *, out=None):
    """Sum of the products of the elements of two vectors of one length and dtype; a 0-d tensor.

    >>> import fasttensor
    >>> fasttensor.dot(fasttensor.tensor([2, 3]), fasttensor.tensor([2, 1]))
    tensor(7)
    """
    check_vectors("dot", input, tensor)
    return give_out(apply(Dot, input, tensor), out, "dot")


def check_vectors(name, x, y):
    check_tensors(name, x, y)
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"{name}: 1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors ({show(x, y)})")
    if x.dtype != y.dtype:
        raise RuntimeError(f"{name}: expected both vectors to have same dtype, but found {dtype_name(x)} and {dtype_name(y)}")
    if x.shape != y.shape:
        raise RuntimeError(f"{name}: inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have the same number of elements")


def vdot(input, other, *, out=None):
    """`dot` with the first vector conjugated.

    >>> import fasttensor
    >>> fasttensor.vdot(fasttensor.tensor([1j]), fasttensor.tensor([1j]))
    tensor(1.+0.j)
    """
    check_vectors("vdot", input, other)
    return give_out(apply(Dot, input.conj() if input.is_complex() else input, other), out, "vdot")


def inner(input, other, *, out=None):
    """Products of vectors along the last dimensions: (..., k) and (***, k) give (..., ***).

    >>> import fasttensor
    >>> fasttensor.inner(fasttensor.ones(2, 3), fasttensor.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    check_tensors("inner", input, other)
    if input.ndim == 0 or other.ndim == 0:
        return give_out(input * other, out, "inner")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}")
    check_dtypes("inner", input, other)
    k = input.shape[-1]
    rows, columns = input.reshape(input.numel() // k if k else numel(input.shape[:-1]), k), other.reshape(other.numel() // k if k else numel(other.shape[:-1]), k)
    return give_out(mm(rows, columns.t()).reshape(tuple(input.shape[:-1]) + tuple(other.shape[:-1])), out, "inner")


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

    >>> import fasttensor
    >>> fasttensor.matmul(fasttensor.ones(2, 1, 3, 4), fasttensor.ones(5, 4, 6)).shape
    torch.Size([2, 5, 3, 6])
    """
    result = try_mm(input, other)
    if result is None:
        check_tensors("matmul", input, other)
        result = general_matmul(input, other)
    return result if out is None else give_out(result, out, "matmul")


def general_matmul(a, b):
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(f"matmul: both arguments need to be at least 1D, but they are {a.ndim}D and {b.ndim}D ({show(a, b)})")
    if a.dtype != b.dtype:
        raise RuntimeError(f"matmul: expected m1 and m2 to have the same dtype, but got {show(a, b)}; convert one with .to()")
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
            raise RuntimeError(f"matmul: the batch dimensions of {show(a, b)} do not broadcast: they must be equal or 1")
    return tuple(q if p == 1 else p for p, q in zip(left, right))


def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * (mat1 @ mat2)`` in one pass.

    mat1: (n, m); mat2: (m, p); input broadcasts to (n, p). Where beta is 0 input is not read, NaN included.
    Integers need integer beta and alpha.

    >>> import fasttensor
    >>> fasttensor.addmm(fasttensor.ones(3), fasttensor.ones(2, 4), fasttensor.ones(4, 3), beta=2)[0]
    tensor([6., 6., 6.])
    """
    check_tensors("addmm", input, mat1, mat2)
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"addmm: mat1 and mat2 must be matrices, got {show(mat1, mat2)}")
    check_dtypes("addmm", input, mat1, mat2)
    check_factors("addmm", input, beta=beta, alpha=alpha)
    check_matrix_sizes("addmm", mat1, mat2)
    addend = expanded("addmm", input, (mat1.shape[0], mat2.shape[1]))
    return give_out(apply(Addmm, addend, mat1, mat2, beta, alpha), out, "addmm")


def _addmm_activation(input, mat1, mat2, *, beta=1, alpha=1, use_gelu=False, out=None):
    """`addmm` followed by relu, or by the tanh form of gelu with `use_gelu`."""
    from fasttensor.nn.functional import gelu, relu
    result = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return give_out(gelu(result, approximate="tanh") if use_gelu else relu(result), out, "_addmm_activation")


def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * (mat @ vec)``; mat: (n, m), vec: (m,), input broadcasts to (n,).

    >>> import fasttensor
    >>> fasttensor.addmv(fasttensor.ones(2), fasttensor.ones(2, 3), fasttensor.ones(3))
    tensor([4., 4.])
    """
    check_tensors("addmv", input, mat, vec)
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"addmv: vector + matrix @ vector expected, got {show(input, mat, vec)}")
    check_dtypes("addmv", input, mat, vec)
    check_factors("addmv", input, beta=beta, alpha=alpha)
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(f"addmv: size mismatch, got mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})")
    addend = expanded("addmv", input, (mat.shape[0],)).unsqueeze(1)
    return give_out(apply(Addmm, addend, mat, vec.unsqueeze(1), beta, alpha).squeeze(1), out, "addmv")


def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * outer(vec1, vec2)``, with the dtypes promoted; input broadcasts to (n, m).

    >>> import fasttensor
    >>> fasttensor.addr(fasttensor.zeros(2, 2), fasttensor.tensor([1., 2.]), fasttensor.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    check_tensors("addr", input, vec1, vec2)
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec1 and vec2, but got {vec1.ndim}-D and {vec2.ndim}-D")
    boolean = all(repr(t.dtype) == "torch.bool" for t in (input, vec1, vec2))
    product = vec1.unsqueeze(1) * vec2.unsqueeze(0)
    addend = expanded("addr", input, product.shape)
    if boolean:
        if not (isinstance(beta, (bool, int)) and isinstance(alpha, (bool, int))):
            raise RuntimeError(f"addr: For Boolean inputs, arguments beta and alpha must be Booleans, got {beta} and {alpha}")
        product = product if alpha else product & False
        return give_out(addend | product if beta else product, out, "addr")
    for factor, key in ((beta, "beta"), (alpha, "alpha")):
        if isinstance(factor, float) and not any(t.is_floating_point() or t.is_complex() for t in (input, vec1, vec2)):
            raise RuntimeError(f"addr: For integral input tensors, argument {key} must not be a floating point number.")
    if alpha != 1:
        product = alpha * product
    if beta == 0:       # input takes part in the dtype alone, so that NaN in it does not count
        return give_out(product.to(promote_types(product.dtype, input.dtype)), out, "addr")
    return give_out((addend if beta == 1 else beta * addend) + product, out, "addr")


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * bmm(batch1, batch2)``; input broadcasts to (b, n, p). Where beta is 0 input is
    not read, NaN included.

    >>> import fasttensor
    >>> fasttensor.baddbmm(fasttensor.ones(1), fasttensor.ones(2, 1, 3), fasttensor.ones(2, 3, 1)).flatten()
    tensor([4., 4.])
    """
    check_tensors("baddbmm", input, batch1, batch2)
    check_batches("baddbmm", batch1, batch2)
    check_dtypes("baddbmm", input, batch1, batch2)
    check_factors("baddbmm", input, beta=beta, alpha=alpha)
    addend = expanded("baddbmm", input, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    return give_out(apply(Baddbmm, addend, batch1, batch2, beta, alpha), out, "baddbmm")


def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """``beta * input + alpha * sum of the products of the batch``; input broadcasts to (n, p).

    >>> import fasttensor
    >>> fasttensor.addbmm(fasttensor.zeros(1), fasttensor.ones(2, 1, 3), fasttensor.ones(2, 3, 1))
    tensor([[6.]])
    """
    check_tensors("addbmm", input, batch1, batch2)
    check_batches("addbmm", batch1, batch2)
    check_dtypes("addbmm", input, batch1, batch2)
    b, n, m = batch1.shape
    # The sum over the batch is a product over (batch, m) at once.
    return addmm(input, batch1.transpose(0, 1).reshape(n, b * m), batch2.reshape(b * m, batch2.shape[2]), beta=beta, alpha=alpha, out=out)


def outer(input, vec2, *, out=None):
    """Outer product of two vectors: (n,) and (m,) give (n, m), with the dtypes promoted.

    >>> import fasttensor
    >>> fasttensor.outer(fasttensor.tensor([1., 2.]), fasttensor.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    check_tensors("outer", input, vec2)
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self and vec2, but got {input.ndim}-D and {vec2.ndim}-D ({show(input, vec2)})")
    return give_out(input.unsqueeze(1) * vec2.unsqueeze(0), out, "outer")


ger = outer


def linear(input, weight, bias=None):
    """``input @ weight.T + bias``.

    input: (..., in); weight: (out, in), or (in,) for a single output that is dropped; bias: (out,) or None.
    Returns (..., out). The sum and the bias are one pass over the result.
    Raises RuntimeError when sizes or dtypes do not fit.

    >>> import fasttensor
    >>> fasttensor.nn.functional.linear(fasttensor.ones(2, 3), fasttensor.ones(4, 3), fasttensor.ones(4))[0]
    tensor([4., 4., 4., 4.])
    """
    result = try_linear(input, weight, bias)
    if result is not None:
        return result
    check_tensors("linear", input, weight, *(() if bias is None else (bias,)))
    check_dtypes("linear", input, weight, *(() if bias is None else (bias,)))
    if weight.ndim == 2 and input.ndim and input.shape[-1] != weight.shape[1]:
        raise RuntimeError(f"linear: mat1 and mat2 shapes cannot be multiplied ({numel(input.shape[:-1])}x{input.shape[-1]} and"
                           f" {weight.shape[1]}x{weight.shape[0]}): the last size of input {show(input)} must be that of weight {show(weight)}")
    if input.ndim == 1 and weight.ndim == 2 and (bias is None or bias.shape == weight.shape[:1]):
        result = try_linear(input.unsqueeze(0), weight, bias)
        if result is not None:
            return result.squeeze(0)
    if weight.ndim > 2:
        raise RuntimeError(f"linear: weight must have 1 or 2 dimensions, got {show(weight)}")
    product = matmul(input, weight.t() if weight.ndim == 2 else weight)
    return product if bias is None else product + bias


def chain_matmul(*matrices, out=None):
    """Product of 2-d tensors in the cheapest order; see `linalg.multi_dot`.

    >>> import fasttensor
    >>> fasttensor.chain_matmul(fasttensor.ones(2, 3), fasttensor.ones(3, 4), fasttensor.ones(4, 5)).shape
    torch.Size([2, 5])
    """
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for place, m in enumerate(matrices):
        if m.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor {place} must be a matrix, got {show(m)}")
    return give_out(matrices[0] if len(matrices) == 1 else multi_dot(matrices), out, "chain_matmul")


def multi_dot(tensors, *, out=None):
    """Product of two or more matrices, multiplied in the order that takes the fewest operations.

    The first and the last may be vectors: a row and a column, dropped from the result. The order is found by
    dynamic programming (Cormen et al., Introduction to Algorithms, 15.2).

    >>> import fasttensor
    >>> fasttensor.linalg.multi_dot([fasttensor.ones(2, 3), fasttensor.ones(3), ]).shape
    torch.Size([2])
    """
    tensors = list(tensors)
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    check_tensors("multi_dot", *tensors)
    check_dtypes("multi_dot", *tensors)
    for place, t in enumerate(tensors):
        inside = 0 < place < n - 1
        if t.ndim != 2 and (inside or t.ndim != 1):
            raise RuntimeError(f"multi_dot(): {'tensor' if inside else 'the first and last tensors'} {place} must be {'2D' if inside else '1D or 2D'} but got {t.ndim}D ({show(t)})")
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for place in range(n - 1):
        if tensors[place].shape[1] != tensors[place + 1].shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {place} and {place + 1} with shapes {list(tensors[place].shape)} and {list(tensors[place + 1].shape)} cannot be multiplied")
    result = in_order(tensors, cheapest_order([t.shape[0] for t in tensors] + [tensors[-1].shape[1]]), 0, n - 1)
    if row:
        result = result.squeeze(0)
    if column:
        result = result.squeeze(-1)
    return give_out(result, out, "multi_dot")


def cheapest_order(sizes):
    n = len(sizes) - 1
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return cut


def in_order(tensors, cut, i, j):
    if i == j:
        return tensors[i]
    return mm(in_order(tensors, cut, i, cut[i, j]), in_order(tensors, cut, cut[i, j] + 1, j))


def vecdot(x, y, *, dim=-1, out=None):
    """Dot products of vectors along `dim`, the first conjugated; the other dimensions broadcast.

    >>> import fasttensor
    >>> fasttensor.linalg.vecdot(fasttensor.ones(2, 3), fasttensor.ones(3))
    tensor([3., 3.])
    """
    check_tensors("linalg.vecdot", x, y)
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input, got {show(x)}")
    check_dtypes("linalg.vecdot", x, y)
    if x.ndim == 0 or y.ndim == 0 or not -max(x.ndim, y.ndim) <= dim < max(x.ndim, y.ndim):
        raise IndexError(f"linalg.vecdot: dimension {dim} is out of range for {show(x, y)}")
    if x.shape[dim] != y.shape[dim]:
        raise RuntimeError(f"linalg.vecdot: the sizes along dim {dim} must match, got {show(x, y)}")
    return give_out(((x.conj() if x.is_complex() else x) * y).sum(dim), out, "linalg.vecdot")


def matrix_power(input, n, *, out=None):
    """The n-th power of square matrices, by repeated squaring; n < 0 inverts first.

    input: (..., m, m). Raises RuntimeError when it is not square.

    >>> import fasttensor
    >>> fasttensor.matrix_power(fasttensor.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    check_tensors("linalg.matrix_power", input)
    if not (input.is_floating_point() or input.is_complex()) :
        raise RuntimeError(f"linalg.matrix_power: Expected a floating point or complex tensor as input, got {show(input)}")
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: A must be batches of square matrices, but got {show(input)}")
    if n < 0:
        from fasttensor.functional.linalg import inv
        input, n = inv(input), -n
    if n == 0:
        from fasttensor.functional.creation import eye
        unit = eye(input.shape[-1], dtype=input.dtype, device=input.device)
        return give_out(unit.expand(input.shape).clone(), out, "linalg.matrix_power")
    result = None
    while n:
        if n & 1:
            result = input if result is None else matmul(result, input)
        n >>= 1
        if n:
            input = matmul(input, input)
    return give_out(result.clone() if result is input else result, out, "linalg.matrix_power")


def in_place(function, name):
    """The method that leaves the result in its first argument."""
    def method(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(f"{name}: the result's shape {tuple(result.shape)} is not that of {show(self)}, which it is written to")
        return self.copy_(result)
    method.__name__ = name
    method.__doc__ = f"In-place version of `{function.__name__}`."
    return method


METHODS = {f.__name__: f for f in (mm, bmm, mv, dot, vdot, inner, matmul, addmm, addmv, addr, addbmm, baddbmm, outer, matrix_power)}
METHODS["ger"] = outer
METHODS.update({f.__name__ + "_": in_place(f, f.__name__ + "_") for f in (addmm, addmv, addr, addbmm, baddbmm)})
NN_FUNCTIONAL = ["linear"]
LINALG = ["multi_dot", "matmul", "vecdot", "matrix_power"]
