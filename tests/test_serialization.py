"""Files: weights to and from PyTorch, shared memory, damaged and hostile files, atomic replacement."""
import datetime
import io
import os
import pathlib
import pickle
import random
import types
import zipfile
from collections import OrderedDict, defaultdict
from functools import partial

import pytest
from helpers import oracle

import fasttensor as torch

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def example(t):
    """Values of every kind that a checkpoint holds, made with either library."""
    made = OrderedDict()
    for name in NAMES:
        made[name] = t.arange(12.0).reshape(3, 4).to(getattr(t, name))
        made[name + " transposed"] = made[name].t()
        made[name + " part"] = made[name][1:, ::2]
    made.update(empty=t.zeros(0, 3), scalar=t.tensor(3.5), leaf=t.ones(2, requires_grad=True), plain=[1, 2.5, "x", None, True, (1, 2), {3}, b"ab", 2**70],
                types=[t.float32, t.Size([1, 2]), t.device("cpu")])
    return made


def same(a, b):
    if hasattr(a, "tolist"):
        assert a.tolist() == b.tolist() and str(a.dtype) == str(b.dtype) and tuple(a.stride()) == tuple(b.stride())
        assert a.requires_grad == b.requires_grad and a.storage_offset() == b.storage_offset()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert str(a) == str(b)


@pytest.mark.parametrize("mmap", [False, True])
def test_round_trip(tmp_path, mmap):
    path = tmp_path / "x.pt"
    torch.save(example(torch), path)
    got = torch.load(path, mmap=mmap)
    same(example(torch), got)
    got["float32"][0, 1] = 99
    assert got["float32 transposed"][1, 0].item() == 99
    same(example(torch), torch.load(path))


def test_round_trip_in_memory():
    file = io.BytesIO()
    torch.save(example(torch), file)
    file.seek(0)
    same(example(torch), torch.load(file))


def test_storages_are_aligned(tmp_path):
    torch.save([torch.ones(3), torch.ones(5)], tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive, open(tmp_path / "x.pt", "rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
            assert (info.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")) % 64 == 0


@pytest.mark.parametrize("legacy", [False, True])
def test_from_pytorch(tmp_path, legacy):
    other = oracle()
    other.save(example(other), tmp_path / "x.pt", _use_new_zipfile_serialization=not legacy)
    same(example(other), torch.load(tmp_path / "x.pt"))


def test_a_parameter_shares_memory_with_its_views_in_a_file():
    weight, file = torch.nn.Parameter(torch.ones(2, 3)), io.BytesIO()
    torch.save([weight, weight.detach().t(), weight.data], file)
    read = torch.load(io.BytesIO(file.getvalue()))
    assert len({x.data_ptr() for x in read}) == 1


@pytest.mark.parametrize("protocol", [2, 4])
def test_the_format_before_to_pytorch(tmp_path, protocol):
    """Pickles and then the storages' bytes, as PyTorch wrote files before 1.6, for values, modules and a file of several parts."""
    other, path = oracle(), tmp_path / "x.pt"
    torch.save(example(torch), path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    assert path.read_bytes()[:1] == b"\x80"
    same(example(torch), torch.load(path))
    same(example(other), other.load(path, weights_only=protocol == 2))
    with pytest.raises(RuntimeError, match="mmap can only be used with files"):
        torch.load(path, mmap=True)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
    file = io.BytesIO()
    for value in (net, [net[0].weight, net[0].weight.detach().t()], torch.ones(3).untyped_storage()):
        torch.save(value, file, _use_new_zipfile_serialization=False)
    for t in (torch, other):
        file.seek(0)
        read, shared, storage = (t.load(file, weights_only=False) for _ in range(3))
        assert type(read) is t.nn.Sequential and repr(read) == repr(net)
        assert read.eval()(t.ones(1, 3))[0].tolist() == pytest.approx(net.eval()(torch.ones(1, 3))[0].tolist(), rel=1e-5)
        assert shared[0].data_ptr() == shared[1].data_ptr() and shared[1].tolist() == net[0].weight.t().tolist()
        assert storage.nbytes() == 12
    with torch.serialization.skip_data():
        torch.save(torch.ones(2), path, _use_new_zipfile_serialization=False)
    assert other.load(path).tolist() == [0, 0]


def test_whole_modules_of_the_format_before_from_pytorch():
    other = oracle()
    file = io.BytesIO()
    net = other.nn.Sequential(other.nn.Linear(3, 2), other.nn.ReLU())
    other.save(net, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Sequential"):
        torch.load(file)
    file.seek(0)
    read = torch.load(file, weights_only=False)
    assert type(read) is torch.nn.Sequential and read[0].weight.tolist() == net[0].weight.tolist()


@pytest.mark.parametrize("mmap", [False, True])
def test_to_pytorch(tmp_path, mmap):
    other = oracle()
    torch.save(example(torch), tmp_path / "x.pt")
    same(example(other), other.load(tmp_path / "x.pt", mmap=mmap))


def test_modules(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    torch.save(net.state_dict(), tmp_path / "x.pt")
    other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    other.load_state_dict(torch.load(tmp_path / "x.pt"))
    same(list(net.state_dict().values()), list(other.state_dict().values()))
    torch.save(net, tmp_path / "whole.pt")
    with pytest.raises(pickle.UnpicklingError, match="not allowed"):
        torch.load(tmp_path / "whole.pt")
    whole = torch.load(tmp_path / "whole.pt", weights_only=False)
    same(list(net.state_dict().values()), list(whole.state_dict().values()))


class Evil:
    def __reduce__(self):
        return os.system, ("exit 1",)


class Settings:
    def __init__(self):
        self.rate = 0.5


@pytest.mark.parametrize("weights_only", [True, False])
def test_code_in_a_file_never_runs(tmp_path, weights_only):
    torch.save(Evil(), tmp_path / "x.pt")
    with pytest.raises(pickle.UnpicklingError, match="not allowed"):
        torch.load(tmp_path / "x.pt", weights_only=weights_only)


def double(x):
    return 2 * x


class Model(torch.nn.Module):
    """Holds what programs keep in models."""

    def __init__(self):
        super().__init__()
        self.act, self.own, self.norm, self.settings = torch.nn.functional.gelu, double, partial(torch.nn.LayerNorm, eps=1e-6), Settings()


class Called:
    def __init__(self, function):
        self.function = function

    def __reduce__(self):
        return self.function, (torch.ones(2),)


def test_functions_and_objects_in_modules(tmp_path):
    torch.save(Model(), tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt", weights_only=False)
    assert loaded.act is torch.nn.functional.gelu and loaded.own is double and loaded.settings.rate == 0.5
    assert loaded.norm(3).eps == 1e-6
    for function in (double, torch.nn.functional.gelu, Settings):
        torch.save(Called(function), tmp_path / "x.pt")
        with pytest.raises(pickle.UnpicklingError, match="calls '(double|gelu|Settings)', which is not allowed"):
            torch.load(tmp_path / "x.pt", weights_only=False)


def test_values_of_checkpoints(tmp_path):
    np = pytest.importorskip("numpy")
    values = {"best": np.float64(0.5), "array": np.arange(6.0).reshape(2, 3), "state": np.random.RandomState(0).get_state(), "when": datetime.date(2020, 1, 2),
              "path": pathlib.PurePosixPath("a/b"), "lists": defaultdict(list, a=[1]), "settings": types.SimpleNamespace(lr=0.1)}
    torch.save(values, tmp_path / "x.pt")
    with pytest.raises(pickle.UnpicklingError, match="not allowed"):
        torch.load(tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt", weights_only=False)
    assert loaded["best"] == 0.5 and (loaded["array"] == values["array"]).all() and (loaded["state"][1] == values["state"][1]).all()
    assert loaded["when"] == values["when"] and loaded["path"] == values["path"] and loaded["lists"]["b"] == [] and loaded["settings"].lr == 0.1
    for function, arguments in ((np.load, ("x.npy",)), (np.fromfile, ("x",)), (pathlib.Path.unlink, (pathlib.Path("x"),))):
        file = io.BytesIO()
        torch.save(Calls(function, arguments), file)
        with pytest.raises(pickle.UnpicklingError, match="not allowed"):
            torch.load(io.BytesIO(file.getvalue()), weights_only=False)


class Calls:
    def __init__(self, function, arguments):
        self.made = function, arguments

    def __reduce__(self):
        return self.made


def test_storages_of_files(tmp_path):
    (tmp_path / "x").write_bytes(bytes(range(8)))
    storage = torch.UntypedStorage.from_file(str(tmp_path / "x"), False, 8)
    part = storage[2:6]
    assert type(part) is torch.UntypedStorage and part.tolist() == [2, 3, 4, 5] and part[-1] == 5
    assert torch.asarray(part, dtype=torch.uint8).view(torch.int16).tolist() == [770, 1284]
    assert storage.untyped() is storage and not hasattr(storage, "nothing")


def test_safe_globals(tmp_path):
    torch.save(Settings(), tmp_path / "x.pt")
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        torch.load(tmp_path / "x.pt")
    with torch.serialization.safe_globals([Settings]):
        assert torch.load(tmp_path / "x.pt").rate == 0.5
    assert torch.serialization.get_safe_globals() == []


@pytest.mark.parametrize("legacy", [False, True])
def test_damaged_files(legacy):
    if legacy:
        file = io.BytesIO()
        oracle().save(example(oracle()), file, _use_new_zipfile_serialization=False)
    else:
        file = io.BytesIO()
        torch.save(example(torch), file)
    whole, rng = file.getvalue(), random.Random(0)
    refused = 0
    for trial in range(200):
        data = bytearray(whole)
        if trial % 3 == 0:
            data = data[:rng.randrange(len(data))]
        else:
            for _ in range(3):
                data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            torch.load(io.BytesIO(bytes(data)))
        except (RuntimeError, pickle.UnpicklingError):
            refused += 1
    assert refused > 100
    for junk in (b"", b"PK", b"hello world", b"PK\x03\x04" + b"0" * 50):
        with pytest.raises(RuntimeError, match="damaged"):
            torch.load(io.BytesIO(junk))


def test_a_file_is_replaced_at_once(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2), path)

    class Fails:
        def __reduce__(self):
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        torch.save([torch.zeros(2), Fails()], path)
    assert torch.load(path).tolist() == [1, 1] and os.listdir(tmp_path) == ["x.pt"]


def test_map_location(tmp_path):
    torch.save(torch.ones(2), tmp_path / "x.pt")
    for where in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert torch.load(tmp_path / "x.pt", map_location=where).tolist() == [1, 1]


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.save(1, tmp_path / "none" / "x.pt")
    with pytest.raises(TypeError, match="path"):
        torch.save(1, 5)
    with pytest.raises(AttributeError, match="BytesIO"):
        torch.load(5)
    with pytest.raises(ValueError, match="path"):
        torch.load(io.BytesIO(), mmap=True)
    x = torch.ones(4)
    with pytest.raises(RuntimeError, match="different types"):
        torch.save([x, x.view(torch.int32)], io.BytesIO())


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_conjugates_negatives_and_storages_from_pytorch(options):
    pt = oracle()
    z = pt.tensor([1 + 2j, 3 - 1j])
    values = [z.conj(), z.clone().conj().imag, z.conj().view(2, 1).requires_grad_(), pt.FloatStorage([1, 2]), z]
    file = io.BytesIO()
    pt.save(values, file, **options)
    file.seek(0)
    conj, negative, grad, storage, plain = torch.load(file)
    assert conj.tolist() == [1 - 2j, 3 + 1j] and negative.tolist() == [-2, 1] and plain.tolist() == [1 + 2j, 3 - 1j]
    assert grad.requires_grad and grad.is_leaf and grad.tolist() == [[1 - 2j], [3 + 1j]]
    assert isinstance(storage, torch.storage.TypedStorage) and storage.dtype is torch.float32 and storage.tolist() == [1, 2]


def test_what_this_library_does_not_have_is_named():
    pt = oracle()
    for value, words in ((pt.eye(2).to_sparse(), "sparse tensor"), (pt.ones(2).to(pt.uint16), "uint16")):
        file = io.BytesIO()
        pt.save(value, file)
        for options in ({}, {"weights_only": False}):
            file.seek(0)
            with pytest.raises(pickle.UnpicklingError, match=words):
                torch.load(file, **options)


def test_parts_of_storages_as_tensors():
    """How the safetensors package reads a file, tensors without elements included."""
    def case(m):
        storage = m.ones(3).untyped_storage()
        whole = m.asarray(storage, dtype=m.float32)
        whole[0] = 5
        return (m.asarray(storage[4:4], dtype=m.uint8).view(m.float32).reshape(0, 2).shape == (0, 2),
                m.asarray(storage[:4], dtype=m.uint8).view(m.float32).tolist(), whole.tolist())

    assert case(torch) == case(oracle()) == (True, [5.0], [5.0, 1.0, 1.0])


@pytest.mark.parametrize("zipped", [True, False])
def test_files_cut_short(zipped):
    file = io.BytesIO()
    torch.save(torch.ones(3), file, _use_new_zipfile_serialization=zipped)
    whole = file.getvalue()
    for n in range(1, len(whole) - 1, 7):
        with pytest.raises(RuntimeError, match="damaged|not a file that save wrote"):
            torch.load(io.BytesIO(whole[:n]))
