"""Parameters as one vector, and back."""
import fasttensor as ft


def _same_device(parameters):
    devices = {p.device for p in parameters}
    if len(devices) > 1:
        raise TypeError(f"Found parameters on different devices, this is currently not supported: {devices}")


def parameters_to_vector(parameters):
    """All parameters in one 1-d tensor.

    >>> nn.utils.parameters_to_vector(nn.Linear(2, 3).parameters()).shape
    torch.Size([9])
    """
    parameters = list(parameters)
    _same_device(parameters)
    return ft.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Fill parameters, in order, from one 1-d tensor; TypeError when it is no Tensor.

    The parameters take their shapes' worth of elements each, as views of `vec`.

    >>> layer = nn.Linear(2, 1)
    >>> nn.utils.vector_to_parameters(torch.tensor([1., 2., 3.]), layer.parameters())
    >>> layer.weight.data, layer.bias.data
    (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, ft.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _same_device(parameters)
    start = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[start:start + n].view_as(p).data
        start += n
