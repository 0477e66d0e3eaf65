"""The two old switches of losses, turned into `reduction`."""
import warnings


def legacy_get_string(size_average, reduce, emit_warning=True):
    """'mean', 'sum' or 'none' for `size_average` and `reduce`."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                      stacklevel=3)
    return reduction
