"""Functions of nn.functional that `torch` names too, with its own order of arguments, and in-place functions."""
from fasttensor.autograd.checks import need_tensor
from fasttensor.autograd.generated_functions import INPLACE, NAMESPACES

from . import embedding as _embedding
from .addmm import addmv
from .basics import as_strided, detach
from .conv import conv1d
from .complex_parts import view_as_complex, view_as_real
from .contraction import bilinear
from .elementwise import clamp
from .float_functions import logit, nan_to_num
from .padding import channel_shuffle
from .pool import adaptive_max_pool1d_with_indices
from .retelling import renamed
from .view_copies import copied

# In-place methods that `torch` names as functions too, beside those of the operation table.
OF_METHODS = ("addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_", "as_strided_", "clamp_", "clip_", "detach_", "fix_",
              "logit_", "nan_to_num_", "negative_")

_SOURCES = {"addmv_": addmv, "as_strided_": as_strided, "clamp_": clamp, "clip_": clamp, "detach_": detach, "logit_": logit, "nan_to_num_": nan_to_num}


def _of_method(name):
    def function(input, *args, **kwargs):
        return getattr(need_tensor(input, name), name)(*args, **kwargs)
    function.__name__ = function.__qualname__ = name
    source = _SOURCES.get(name) or NAMESPACES["torch"][name[:-1]]
    function.__doc__ = renamed(source, f"``Tensor.{name}`` as a function of the tensor that is written to, which is returned: see there for errors.", name)
    return function


_in_place = {**{name: _of_method(name) for name in OF_METHODS},
             **{name: function for name, function in INPLACE.items() if name[:-1] in NAMESPACES["torch"]}}
globals().update(_in_place)

__all__ = ["embedding", "embedding_bag", "bilinear", "conv_tbc", "adaptive_max_pool1d", "adjoint", "native_channel_shuffle",
           "view_as_complex_copy", "view_as_real_copy",
           *_in_place]
METHODS = {}
view_as_complex_copy = copied(view_as_complex, "view_as_complex_copy")
view_as_real_copy = copied(view_as_real, "view_as_real_copy")


def adaptive_max_pool1d(input, output_size):
    """`nn.functional.adaptive_max_pool1d` with the positions of the values: (values, indices).

    >>> torch.adaptive_max_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    (tensor([[2., 4.]]), tensor([[1, 3]]))
    """
    return adaptive_max_pool1d_with_indices(input, output_size)


def adjoint(input):
    """The conjugate of matrices with rows and columns exchanged.

    >>> torch.adjoint(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[0., 0.],
            [1., 0.]])
    """
    return need_tensor(input, "adjoint").adjoint()


def native_channel_shuffle(input, groups):
    """`nn.functional.channel_shuffle` under the kernel's name: channels of (N, C, ...) as a (groups, C / groups) matrix, transposed.

    Raises RuntimeError where `groups` does not divide C.

    >>> torch.native_channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return channel_shuffle(input, groups)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table, `nn.functional.embedding` with the table first; padding_idx -1 means none.

    >>> torch.embedding(torch.eye(3), torch.tensor([2]))
    tensor([[0., 0., 1.]])
    """
    return _embedding.embedding(indices, weight, None if padding_idx == -1 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """Sums (mode 0), means (1) or maxima (2) of rows of a table over bags: see `nn.functional.embedding_bag`.

    weight: (rows, columns); indices: int, (n,); offsets: where each bag begins. Returns (result, None, None, None): what PyTorch adds serves
    its own backward. Raises RuntimeError for another mode.

    >>> torch.embedding_bag(torch.eye(3), torch.tensor([0, 2, 1]), torch.tensor([0, 2]))[0]
    tensor([[1., 0., 1.],
            [0., 1., 0.]])
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    result = _embedding.embedding_bag(indices, weight, offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse,
                                      per_sample_weights, include_last_offset, padding_idx)
    return result, None, None, None


def conv_tbc(input, weight, bias, pad=0):
    """conv1d of (time, batch, channels) with a weight (kernel, in, out) and zeros on both ends.

    >>> torch.conv_tbc(torch.ones(4, 1, 2), torch.ones(3, 2, 1), torch.zeros(1)).shape
    torch.Size([2, 1, 1])
    """
    for place, (name, t) in enumerate((("input", input), ("weight", weight)), 1):
        if need_tensor(t, "conv_tbc", name, place).dim() != 3:
            raise RuntimeError(f"conv_tbc: {name} must have 3 dims, got shape {tuple(t.shape)}")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


NN_FUNCTIONAL = {"conv_tbc": conv_tbc, **{name: INPLACE[name] for name in (
    "relu_", "elu_", "selu_", "celu_", "hardtanh_", "leaky_relu_", "threshold_")}}
