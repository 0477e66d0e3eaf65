"""What programs set about files of tensors, and what they ask of one without loading it."""
import collections
import fractions
import io
import mmap
import zipfile

import pytest

import fasttensor as torch
from fasttensor import serialization
from helpers import oracle


def saved(obj, **options):
    f = io.BytesIO()
    torch.save(obj, f, **options)
    return io.BytesIO(f.getvalue())


class Unknown:
    pass


@pytest.mark.parametrize("protocol", [2, 4])
def test_names_that_are_refused_are_listed(protocol):
    held = {"a": torch.ones(2), "b": collections.OrderedDict(c=[fractions.Fraction(1, 2)] * 2), "d": Unknown(), "e": torch.nn.Linear(1, 1)}
    names = serialization.get_unsafe_globals_in_checkpoint(saved(held, pickle_protocol=protocol))
    assert names == sorted([f"{__name__}.Unknown", "fractions.Fraction", "torch.nn.modules.linear.Linear"])
    with serialization.safe_globals([Unknown, fractions.Fraction, torch.nn.Linear]):
        assert serialization.get_unsafe_globals_in_checkpoint(saved(held)) == []
    assert serialization.get_unsafe_globals_in_checkpoint(saved(torch.ones(1))) == []
    with pytest.raises(ValueError, match="not a checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"something"))


def test_room_without_data(tmp_path):
    with serialization.skip_data():
        torch.save({"a": torch.ones(20)}, tmp_path / "a.pt")
    assert torch.load(tmp_path / "a.pt")["a"].tolist() == [0] * 20
    assert zipfile.ZipFile(tmp_path / "a.pt").testzip() is None
    torch.save(torch.ones(3), tmp_path / "b.pt")
    with serialization.skip_data():
        assert torch.load(tmp_path / "b.pt").shape == (3,)
    assert torch.load(tmp_path / "b.pt").tolist() == [1, 1, 1]


def test_shared_maps_write_into_the_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.ones(3), path)
    torch.load(path, mmap=True).zero_()
    assert torch.load(path).tolist() == [1, 1, 1]
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True).fill_(2)
    assert torch.load(path, mmap=True).tolist() == [2, 2, 2] and serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(RuntimeError, match="CRC"):          # checksums are of what save wrote
        torch.load(path)
    with pytest.raises(ValueError, match="MAP_PRIVATE or mmap.MAP_SHARED"):
        serialization.set_default_mmap_options(77)


def test_byte_order_of_files_that_do_not_say():
    kept = saved(torch.tensor([1, 256], dtype=torch.int16))
    bare = io.BytesIO()
    with zipfile.ZipFile(kept) as old, zipfile.ZipFile(bare, "w") as new:
        for info in old.infolist():
            if not info.filename.endswith("byteorder"):
                new.writestr(info.filename, old.read(info))
    bare = io.BytesIO(bare.getvalue())
    assert torch.load(bare).tolist() == [1, 256]
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert torch.load(io.BytesIO(bare.getvalue())).tolist() == [256, 1] and torch.load(io.BytesIO(kept.getvalue())).tolist() == [1, 256]
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="LoadEndianness"):
        serialization.set_default_load_endianness("big")


def test_places_of_storages():
    storage = torch.ones(2).untyped_storage()
    assert serialization.location_tag(storage) == "cpu" and serialization.default_restore_location(storage, "cpu") is storage
    assert serialization.default_restore_location(storage, "meta").nbytes() == 8
    with pytest.raises(RuntimeError, match="shelf"):
        serialization.default_restore_location(storage, "shelf:1")
    got = torch.load(saved(torch.ones(2)), map_location=lambda s, place: serialization.default_restore_location(s, "cpu"))
    assert got.tolist() == [1, 1]
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="map_location"):
            serialization.validate_cuda_device("cuda:0")
    seen = []
    serialization.register_package(5, lambda s: "shelf", lambda s, place: seen.append(place) or (s if place == "shelf" else None))
    try:
        assert torch.load(saved(torch.ones(2))).tolist() == [1, 1] and seen == ["shelf"]
    finally:
        serialization.options.packages.clear()


def test_pytorch_reads_what_was_skipped(tmp_path):
    reference = oracle()
    with serialization.skip_data():
        torch.save({"a": torch.ones(3)}, tmp_path / "a.pt")
    assert reference.load(tmp_path / "a.pt")["a"].tolist() == [0, 0, 0]
