"""Data of the programs here: the digits that fasttensor ships, read without it, and text."""
import contextlib
import gzip
import io
from pathlib import Path

import torch

with contextlib.redirect_stdout(io.StringIO()):     # it prints itself, also in processes that are spawned
    import this as zen

FILE = Path(__file__).resolve().parents[2] / "fasttensor" / "data" / "digits.u8.gz"


def digits(count=1797):
    """Images of shape (count, 1, 8, 8) from 0 to 1, and labels."""
    table = torch.frombuffer(bytearray(gzip.open(FILE).read()), dtype=torch.uint8).view(1797, 65)[:count]
    return table[:, :64].float().div(16).view(-1, 1, 8, 8), table[:, 64].long()


def text():
    """A page of English."""
    return "".join(zen.d.get(c, c) for c in zen.s)
