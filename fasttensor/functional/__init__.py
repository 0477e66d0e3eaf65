"""Public functions and Tensor methods, one module a family.

Each family lists `__all__` (names of ``fasttensor``), `METHODS` (of Tensor), and, where it has some,
`NN_FUNCTIONAL`, `SPECIAL`, `LINALG` and `FFT` names, and `HOOKS` of the core. Families import earlier ones only.

A family is imported when one of its names is first used: `fasttensor/_names.py` says where each is, and
tools/make_names.py writes that file from these lists.
"""
import sys
from types import ModuleType

FAMILIES = (
    "retelling",
    "common",
    "basics",
    "kinds",
    "view_copies",
    "overriding", "dispatching",
    "numeric_info",
    "elementwise",
    "float_functions",
    "complex_parts",
    "activation",
    "creation",
    "creation_like",
    "new_tensors",
    "ranges",
    "data",
    "random_fills",
    "random",
    "distributions",
    "dropout",
    "convert",
    "printing",
    "reduction",
    "moments",
    "scan",
    "matmul",
    "addmm",
    "chains",
    "einsum",
    "contraction",
    "softmax",
    "norm",
    "native_norm",
    "distance",
    "linalg_norm",
    "indexing",
    "masking",
    "scattering",
    "sorting",
    "searching",
    "embedding",
    "joining",
    "rearranging",
    "part_scatters",
    "statistics",
    "segments",
    "conv",
    "pool",
    "unpool",
    "padding",
    "resize",
    "sampling",
    "incomplete_gamma",
    "decompositions",
    "solving",
    "matrix_functions",
    "fft",
    "stft",
    "windows",
    "class_losses",
    "losses",
    "margin_losses",
    "quantile",
    "attention",
    "rnn",
    "linear_cross_entropy",
    "forms",
    "control",
    "switches",
    "removed",
    "element_calls",
    "memory",
    "checks",
    "symbolic_numbers",
    "streams",
)

# What PyTorch defines in torch/functional.py: libraries name these functions by that module.
_PYTORCHS = frozenset((
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique",
    "unique_consecutive", "unravel_index"))


class _FamilyOfItsFunction(ModuleType):
    """A family with the name of a function that PyTorch has in this place: called, it is the function."""

    def __call__(self, *args, **kwargs):
        import fasttensor
        return getattr(fasttensor, self.__name__.rpartition(".")[2])(*args, **kwargs)


def stand_for_function(name):
    """Let the module of a family be called as the function whose name it has."""
    sys.modules[name].__class__ = _FamilyOfItsFunction


def __getattr__(name):
    if name in _PYTORCHS:
        import fasttensor
        found = getattr(fasttensor, name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
