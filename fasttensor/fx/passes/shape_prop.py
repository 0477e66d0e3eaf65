"""`ShapeProp`: runs a graph and notes the shape and dtype of every value."""
import typing

import fasttensor

from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["TensorMetadata", "ShapeProp"]


class TensorMetadata(typing.NamedTuple):
    """What is known of a tensor without its values."""
    shape: fasttensor.Size
    dtype: fasttensor.dtype
    requires_grad: bool
    stride: tuple
    memory_format: typing.Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    kind = None
    if include_contiguity:
        for each in (fasttensor.contiguous_format, fasttensor.channels_last, fasttensor.channels_last_3d):
            if result.dim() == {fasttensor.channels_last: 4, fasttensor.channels_last_3d: 5}.get(each, result.dim()):
                if result.is_contiguous(memory_format=each):
                    kind = each
                    break
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), kind, False, {})


class ShapeProp(Interpreter):
    """Runs a `GraphModule` and notes in each node ``meta["tensor_meta"]``, a `TensorMetadata` or nested ones, and ``meta["type"]``.

    With `fake_mode` the values are tensors of that mode.

    >>> import fasttensor as torch
    >>> net = torch.fx.symbolic_trace(lambda x: x.sum(1))
    >>> ShapeProp(net).propagate(torch.ones(2, 3))
    tensor([3., 3.])
    >>> [node.meta["tensor_meta"].shape for node in net.graph.nodes]
    [torch.Size([2, 3]), torch.Size([2]), torch.Size([2])]
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n):
        """The value of a node, of which notes are made."""
        try:
            if self.fake_mode is not None:
                with self.fake_mode:
                    result = super().run_node(n)
            else:
                result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def note(x):
            nonlocal found
            if isinstance(x, fasttensor.Tensor):
                found = True
                return _extract_tensor_metadata(x)
            return x
        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the graph with these arguments; returns what it gives."""
        return super().run(*args)
