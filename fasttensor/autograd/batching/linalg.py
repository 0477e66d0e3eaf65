"""Matrix functions and decompositions, which take batches of matrices anyway."""
from fasttensor.autograd.batched import value_at
from fasttensor.autograd.rule import apply

from .common import full


def of_matrix(level, rule, a, *args):
    return apply(rule, value_at(a, level), *args)


def pair(level, rule, a, b, *args):
    """Two stacks of matrices of one batch shape."""
    if a.dim() != b.dim():
        return NotImplemented
    return apply(rule, full(a, level), full(b, level), *args)


def pinv(level, rule, a, cutoff, hermitian):
    if value_at(a, level) is None:
        return NotImplemented
    return apply(rule, value_at(a, level), cutoff, hermitian)


RULES = {**dict.fromkeys(("Det", "Slogdet", "MatrixExp", "InvEx", "CholeskyEx", "CholeskyInverse", "LuFactorEx", "Qr", "Svd", "Eig",
                          "Eigh"), of_matrix),
         "Solve": pair, "SolveTriangular": pair, "CholeskySolve": pair, "Pinv": pinv}
