"""The named tuples that functions return (``torch.return_types``)."""
from operator import itemgetter

__all__ = []
METHODS = {}


class Result(tuple):
    """A tuple whose parts have names: made from the parts, or from one sequence of them as in PyTorch."""

    __slots__ = ()
    _parts = ()

    def __new__(cls, *parts):
        if len(parts) == 2 and isinstance(parts[1], dict) and isinstance(parts[0], (tuple, list)):
            parts = tuple(parts[0])         # as PyTorch pickles them
        if len(parts) != len(cls._parts):
            parts = tuple(parts[0]) if len(parts) == 1 else parts
            if len(parts) != len(cls._parts):
                raise TypeError(f"torch.return_types.{cls.__name__}() takes a {len(cls._parts)}-sequence ({len(parts)}-sequence given)")
        return tuple.__new__(cls, parts)

    def __repr__(self):
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(f"{name}={part!r}" for name, part in zip(self._parts, self)) + ")"

    def __reduce__(self):
        return type(self), (tuple(self),)


_VALUES = ("values", "indices")
FIELDS = {
    **dict.fromkeys(("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk"), _VALUES),
    "aminmax": ("min", "max"), "frexp": ("mantissa", "exponent"), "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"), "histogramdd": ("hist", "bin_edges"),
    "_lu_with_info": ("LU", "pivots", "info"),
    "linalg_cholesky_ex": ("L", "info"), "linalg_eig": ("eigenvalues", "eigenvectors"), "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_inv_ex": ("inverse", "info"), "linalg_ldl_factor": ("LD", "pivots"), "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"), "linalg_lu": ("P", "L", "U"), "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"), "linalg_qr": ("Q", "R"), "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_solve_ex": ("result", "info"), "linalg_svd": ("U", "S", "Vh"), "lu_unpack": ("P", "L", "U"), "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"), "svd": ("U", "S", "V"), "triangular_solve": ("solution", "cloned_coefficient"),
}


def _named(name, fields):
    return type(name, (Result,), {"__slots__": (), "_parts": fields, "__module__": "fasttensor.return_types", "__match_args__": fields,
                                  "n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0,
                                  **{field: property(itemgetter(i)) for i, field in enumerate(fields)}})


RESULTS = {name: _named(name, fields) for name, fields in FIELDS.items()}
# results that were written into `out=` have types of their own, as in PyTorch
OUT_RESULTS = {name + "_out": _named(name + "_out", fields) for name, fields in FIELDS.items() if name not in ("histogramdd", "_lu_with_info")}


def written(value, parts):
    """The parts as a tuple of value's kind, after they were written into `out=`."""
    kind = type(value)
    return OUT_RESULTS.get(kind.__name__ + "_out", kind)(*parts) if isinstance(value, Result) else kind(parts)
