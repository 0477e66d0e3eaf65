"""Which operations autocast runs in which dtype, and how their arguments are converted.

The lists are PyTorch's for the CPU. An operation that is in none of them runs in the dtypes that it is given.
"""

import threading
import weakref

import fasttensor as ft
from fasttensor.functional import interpose

# In the lower precision: what matrix units do well.
LOWER = ("conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d bmm mm matmul linear addmm addbmm baddbmm prelu"
         " linalg_vecdot linalg_matmul scaled_dot_product_attention rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell lstm").split()
# In float32: sums of many terms, decompositions, losses.
FULL = ("avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d grid_sample polar prod quantile nanquantile stft cdist"
        " trace view_as_complex max_unpool1d svd_lowrank pca_lowrank cholesky cholesky_inverse cholesky_solve"
        " inverse lu_solve orgqr ormqr pinverse max_unpool2d"
        " max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices fractional_max_pool2d fractional_max_pool3d"
        " fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss"
        " poisson_nll_loss smooth_l1_loss cross_entropy l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss"
        " multi_margin_loss multilabel_margin_loss ctc_loss kl_div binary_cross_entropy_with_logits geqrf qr svd triangular_solve"
        " fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft"
        " linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigvals linalg_eigh linalg_eigvalsh linalg_householder_product"
        " linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv"
        " linalg_tensorsolve").split()
# In the widest dtype of their arguments.
WIDEST = "cat concat concatenate stack index_copy".split()
# In the widest dtype of the input and the state, whatever the weights are.
STATE = "gru lstm_cell gru_cell".split()
# Made of products here, but no product to PyTorch.
AS_GIVEN = "bilinear linalg_lu_solve mv addmv addr dot ger outer kron".split()


class _State(threading.local):
    """What autocast does in this thread."""

    def __init__(self):
        self.enabled = {}
        self.dtype = {"cpu": ft.bfloat16, "cuda": ft.float16}
        self.nesting = 0
        self.cache_enabled = True
        self.cache = {}         # id of a weight -> (weak reference, its version, the converted weight)
        self.installed = False


state = _State()


def update():
    """Watch the operations of the lists exactly while this thread needs them."""
    wanted = bool(state.enabled.get("cpu")) or (state.installed and state.nesting > 0)
    if wanted != state.installed:
        state.installed = wanted
        if wanted:
            _prepare()
            interpose.use_casts()
        else:
            interpose.drop_casts()


def _prepare():
    if not _prepare.done:
        interpose.set_casts({name: cast for names, cast in ((LOWER, lower), (FULL, full), (WIDEST, widest), (STATE, by_state),
                                                            (AS_GIVEN, as_given), (("pad",), pad), (("max_pool3d",), max_pool3d)) for name in names})
        _prepare.done = True


_prepare.done = False


def eligible(value):
    """Whether autocast converts this argument: a floating-point tensor on the CPU, but no float64."""
    return isinstance(value, ft.Tensor) and value.is_floating_point() and value.dtype is not ft.float64 and value.device.type == "cpu"


def converted(value, dtype):
    """`value` with its tensors, also those in lists, as `dtype`."""
    if isinstance(value, ft.Tensor):
        if not eligible(value) or value.dtype is dtype:
            return value
        return cached(value, dtype) if cacheable(value, dtype) else value.to(dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (ft.Tensor, list, tuple)) for item in value):
        made = [converted(item, dtype) for item in value]
        return made if isinstance(value, list) else type(value)(*made) if hasattr(value, "_fields") or hasattr(value, "_parts") else tuple(made)
    return value


def cacheable(value, dtype):
    return (state.cache_enabled and state.nesting > 0 and dtype is state.dtype["cpu"] and value.dtype is ft.float32
            and value.requires_grad and value.is_leaf)


def cached(weight, dtype):
    """A converted weight, made once in an autocast block, unless it was written since or was made without a graph."""
    reference, version, made = state.cache.get(id(weight), (None, 0, None))
    if (reference is None or reference() is not weight or version != weight._version or made.dtype is not dtype
            or (ft.is_grad_enabled() and not made.requires_grad)):
        made = weight.to(dtype)
        state.cache[id(weight)] = (weakref.ref(weight), weight._version, made)
    return made


def _tensors(values):
    for value in values:
        if isinstance(value, ft.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _run(watched, args, kwargs, dtype):
    """The operation with its arguments converted (or as they are, for None); what it calls is left alone."""
    if dtype is not None:
        args = tuple(converted(value, dtype) for value in args)
        kwargs = {name: converted(value, dtype) for name, value in kwargs.items()}
    state.enabled["cpu"] = False
    try:
        return watched.call(args, kwargs)
    finally:
        state.enabled["cpu"] = True


def _off(kwargs):
    # With out= PyTorch runs another operation, which is in no list.
    return not state.enabled.get("cpu") or kwargs.get("out") is not None


def lower(watched, args, kwargs):
    """Run in the lower precision."""
    return watched.call(args, kwargs) if _off(kwargs) else _run(watched, args, kwargs, state.dtype["cpu"])


def full(watched, args, kwargs):
    """Run in float32."""
    return watched.call(args, kwargs) if _off(kwargs) else _run(watched, args, kwargs, ft.float32)


def widest(watched, args, kwargs):
    """Run in float32 if an argument is float32, else in the lower precision."""
    if _off(kwargs):
        return watched.call(args, kwargs)
    return _run(watched, args, kwargs, _widest_of((*args, *kwargs.values())))


def _widest_of(values):
    found = {value.dtype for value in _tensors(values) if eligible(value)}
    return ft.float32 if ft.float32 in found or len(found) > 1 else state.dtype["cpu"]


def by_state(watched, args, kwargs):
    """Run in the widest dtype of the first two arguments, the input and the state."""
    return watched.call(args, kwargs) if _off(kwargs) else _run(watched, args, kwargs, _widest_of((*args, *kwargs.values())[:2]))


def as_given(watched, args, kwargs):
    """Run as outside of autocast."""
    return watched.call(args, kwargs) if _off(kwargs) else _run(watched, args, kwargs, None)


def pad(watched, args, kwargs):
    """Reflection and replication run in float32, constants and circles in what is given; 3-d reflection is in no list."""
    mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
    sizes = kwargs.get("pad", args[1] if len(args) > 1 else ())
    listed = mode == "replicate" or (mode == "reflect" and len(sizes) <= 4)
    return (full if listed else as_given)(watched, args, kwargs)


def max_pool3d(watched, args, kwargs):
    """In float32, but not with indices, which is another operation."""
    indices = kwargs.get("return_indices", args[6] if len(args) > 6 else False)
    return (as_given if indices else full)(watched, args, kwargs)
