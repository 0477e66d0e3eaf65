"""What the functions of linear algebra check: matrices, their dtypes, LAPACK's verdicts."""
from fasttensor._core.tensor import description
from fasttensor.autograd.batched import all_samples
from fasttensor.functional.dims import tensor_argument


class LinAlgError(RuntimeError):
    """A matrix does not have what was asked for: no inverse, no Cholesky factor, no convergence. A kind of RuntimeError.

    >>> try:
    ...     torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError:
    ...     print("singular")
    singular
    """


def matrix(name, *tensors):
    """Raise unless all are batches of matrices of one floating-point or complex dtype."""
    for t in tensors:
        tensor_argument(name, t)
        if t.ndim < 2:
            raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions, got {description(t)}")
        numbers(name, t)
    for t in tensors[1:]:
        if t.dtype != tensors[0].dtype:
            raise RuntimeError(f"{name}: Expected A and B to have the same dtype, but found {description(tensors[0])} and {description(t)};"
                               " convert one with .to()")
        if t.device != tensors[0].device:
            raise RuntimeError(f"{name}: Expected A and B to be on the same device, but found {tensors[0].device} and {t.device}")


def numbers(name, t):
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {description(t)}; convert with .float()")
    if t.dtype.name in ("float16", "bfloat16"):
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {description(t)}; convert with .float()")


def square(name, *tensors):
    """`matrix`, and the first must be square."""
    matrix(name, *tensors)
    a = tensors[0]
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices")


def batches(name, *tensors):
    """The tensors with their batch dimensions expanded to one shape."""
    leads = [tuple(t.shape[:-2]) for t in tensors]
    if all(lead == leads[0] for lead in leads):
        return tensors
    rank = max(map(len, leads))
    sizes = [1] * rank
    for lead in leads:
        for d, size in enumerate(lead, rank - len(lead)):
            if size != sizes[d] and 1 not in (size, sizes[d]):
                raise RuntimeError(f"{name}: The batch dimensions do not broadcast: {', '.join(map(description, tensors))}")
            sizes[d] = size if sizes[d] == 1 else sizes[d]
    return tuple(t.expand(*sizes, *t.shape[-2:]) for t in tensors)


def check(name, info, text):
    """Raise LinAlgError for the first matrix whose info is not 0; text(info) says what that means."""
    info = all_samples(info)
    if info.is_meta:
        return
    if info.ndim == 0:
        value = int(info)
        where = ""
    else:
        if info.numel() == 0 or not bool((info != 0).any()):
            return
        place = int((info.reshape(-1) != 0).to(info.dtype).argmax())
        value, where = int(info.reshape(-1)[place]), f"(Batch element {place}): "
    if value:
        raise LinAlgError(f"{name}: {where}{text(value)}" if value > 0 else f"{name}: {where}The algorithm failed because the input matrix contains"
                          " non-finite values.")


def is_vector(a, b):
    """Whether b holds one right-hand side a matrix without a dimension for it."""
    return b.ndim == 1 or a.ndim - 1 == b.ndim and b.shape == a.shape[:-1]
