"""Images whose channels lie innermost in memory (torch.channels_last), seen as a matrix with a row for each pixel."""
from fasttensor._core.layout import moved_channels


def pixels(x):
    """[N, C, ...] as [N * ..., C]: a view where x has no gaps, else a copy."""
    return moved_channels(x).reshape(-1, x.shape[1])


def images(rows, like):
    """[N * ..., C] as [N, C, ...], with the extents of `like`."""
    n, _, *extents = like.shape
    return moved_channels(rows.view(n, *extents, rows.shape[1]), True)
