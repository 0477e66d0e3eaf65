"""The handwritten digits that come with the package (fasttensor/data/README.md: source and licence)."""
import gzip
from pathlib import Path

import fasttensor as torch

from .dataset import TensorDataset

__all__ = ["digits"]

FILE = Path(__file__).parents[2] / "data" / "digits.u8.gz"
ROWS, PIXELS = 1797, 64


def digits():
    """The 1,797 handwritten digits of the UCI repository as a TensorDataset of (image, label).

    Images are float32 of shape (1797, 1, 8, 8) from 0 (white) to 1 (black), labels int64 of shape
    (1797,). Source: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", CC BY 4.0.

    >>> import fasttensor as torch
    >>> data = torch.utils.data.digits()
    >>> image, label = data[0]
    >>> len(data), tuple(image.shape), int(label)
    (1797, (1, 8, 8), 0)
    """
    with gzip.open(FILE) as file:
        content = bytearray(file.read())
    if len(content) != ROWS * (PIXELS + 1):
        raise RuntimeError(f"digits: {FILE} holds {len(content)} bytes, expected {ROWS * (PIXELS + 1)}; "
                           "install the package again")
    table = torch.frombuffer(content, dtype=torch.uint8).view(ROWS, PIXELS + 1)
    images = table[:, :PIXELS].to(torch.float32).div_(16).view(ROWS, 1, 8, 8)
    return TensorDataset(images, table[:, PIXELS].to(torch.int64))
