"""TensorBoard's files through the packages that write them; these tests run where one is installed."""
import sys

import pytest

import fasttensor as torch
from fasttensor import nn


def test_missing_packages_are_named(monkeypatch):
    import fasttensor.utils.tensorboard as board
    board.__dict__.pop("SummaryWriter", None)
    for name in ("tensorboardX", "tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'fasttensor\[tensorboard\]'"):
        from fasttensor.utils.tensorboard import SummaryWriter  # noqa: F401


def values_in(folder, backend):
    """{tag: [(step, value)]} of the event files below a folder."""
    import struct
    from importlib import import_module
    event = import_module({"tensorboardX": "tensorboardX.proto", "tensorboard": "tensorboard.compat.proto"}[backend] + ".event_pb2").Event
    found, graphs = {}, 0
    for path in sorted(folder.rglob("events*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            length, = struct.unpack("<Q", data[at:at + 8])
            record = event.FromString(data[at + 12:at + 12 + length])
            at += 16 + length
            graphs += bool(record.graph_def)
            for value in record.summary.value:
                found.setdefault(value.tag, []).append((record.step, value))
    return found, graphs


@pytest.mark.parametrize("backend", ["tensorboardX", "tensorboard"])
def test_what_is_written_can_be_read(backend, tmp_path, monkeypatch):
    pytest.importorskip(backend)
    if backend == "tensorboard":
        monkeypatch.setitem(sys.modules, "tensorboardX", None)
    from fasttensor.utils.tensorboard import SummaryWriter
    with SummaryWriter(str(tmp_path / "run")) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.5 + step, requires_grad=True), step)
        writer.add_scalars("both", {"a": 1, "b": torch.tensor(2.0)}, 0)
        writer.add_histogram("weights", torch.linspace(-1, 1, 100).bfloat16(), 1)
        writer.add_image("picture", torch.rand(3, 4, 5), 1)
        writer.add_images("pictures", torch.rand(3, 1, 4, 5), 1)
        writer.add_text("note", "hello", 2)
        writer.add_graph(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), torch.ones(1, 2))
        with pytest.raises(ValueError, match=r"\[2\]"):
            writer.add_scalar("loss", torch.ones(2))
        if backend == "tensorboardX":
            writer.add_pr_curve("curve", torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.8, 0.6]), 0)
            writer.add_hparams({"lr": 0.1}, {"accuracy": torch.tensor(0.5)})
            writer.add_embedding(torch.rand(3, 4), metadata=["a", "b", "c"])
        else:
            with pytest.raises(NotImplementedError, match="pip install tensorboardX"):
                writer.add_embedding(torch.rand(3, 4))
    found, graphs = values_in(tmp_path, backend)
    assert [(step, value.simple_value) for step, value in found["loss"]] == [(0, 1.5), (1, 2.5), (2, 3.5)]
    histogram = found["weights"][0][1].histo
    assert histogram.num == 100 and sum(histogram.bucket) == 100 and histogram.min == -1
    image = found["picture"][0][1].image
    assert (image.height, image.width) == (4, 5) and image.encoded_image_string[1:4] == b"PNG" and "pictures" in found
    assert graphs == 1 and any(tag.startswith("note") for tag in found)
    assert {value.simple_value for tag, values in found.items() for _, value in values if tag.startswith("both")} == {1.0, 2.0}
