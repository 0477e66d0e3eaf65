"""`out=`: a tensor of the caller's that takes a result."""

import warnings

from fasttensor._core.construct import written_once
from fasttensor._core.dispatch import is_inference_mode_enabled
from fasttensor._core.tensor import description
from fasttensor.autograd import reinterpret
from fasttensor.autograd.index_arguments import check_writable, refuse_read_only


def fit(out, shape, name, warn=True):
    """Give `out` the result's shape before it is written; one that held elements of another shape is warned of."""
    if reinterpret.is_inference(out) and not is_inference_mode_enabled():
        raise RuntimeError(f"{name}: Inplace update to inference tensor {description(out)} outside InferenceMode is not allowed. You can make a clone"
                           " to get a normal tensor before doing inplace update.")
    if out.shape == shape:
        check_writable(out, name)
        return
    refuse_read_only(out, name)
    if warn and out.numel():
        warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the"
                      f" required output shape {list(shape)} of {name}. This behavior is deprecated: give an output of that shape, or one"
                      " without elements, as t.resize_(0) makes it.", UserWarning, stacklevel=4)
    out.resize_(shape)
    written_once(out)


def same_dtype(out, dtype, name):
    """Refuse an output of another dtype, for operations that PyTorch does not let convert."""
    if out.dtype is not dtype:
        raise RuntimeError(f"{name}: Expected out tensor to have dtype {dtype.name}, but got {out.dtype.name} instead")
