"""Memory formats of convolution weights."""


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay out the 4-d weights of convolutions below `module` in a memory format; returns the module.

    Values and shapes stay; `memory_format` is torch.channels_last, for one.

    >>> layer = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(8, 4, 3), torch.channels_last)
    >>> layer.weight.stride()
    (72, 1, 24, 8)
    """
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"), 4)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay out the 5-d weights of convolutions below `module` in a memory format; returns the module.

    Values and shapes stay; `memory_format` is torch.channels_last_3d, for one.

    >>> layer = nn.utils.convert_conv3d_weight_memory_format(nn.Conv3d(8, 4, 3), torch.channels_last_3d)
    >>> layer.weight.stride()
    (216, 1, 72, 24, 8)
    """
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"), 5)


def _convert(module, memory_format, names, dims):
    for m in module.modules():
        if type(m).__name__ in names and m.weight.dim() == dims:
            m.weight.data = m.weight.detach().clone().contiguous(memory_format=memory_format)
    return module
