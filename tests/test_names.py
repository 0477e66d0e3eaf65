"""Names around the operators: versions, named results, storages, shared memory, test tools, decorators of compilers."""
import os
import pickle

import pytest

import fasttensor as torch


def test_version_compares_as_a_version():
    assert torch.__version__ > "2.9" and torch.__version__ >= (2, 13) and torch.__version__ < "3" and "1.10.0" < torch.__version__
    assert torch.__version__.split(".")[:2] == ["2", "13"]
    kind = type(torch.__version__)
    assert kind("2.13.0a0") < "2.13.0rc1" < kind("2.13.0") == "2.13" and kind("2.13.0.post1") > "2.13.0"
    assert kind("1.0.dev3") < "1.0a1"
    assert torch.version.fasttensor in torch.__version__


def test_named_results():
    got = torch.max(torch.tensor([[1.0, 2.0]]), 1)
    assert repr(got) == "torch.return_types.max(\nvalues=tensor([2.]),\nindices=tensor([1]))"
    assert isinstance(got, torch.return_types.max) and got == (got.values, got.indices)
    again = pickle.loads(pickle.dumps(got))
    assert type(again) is type(got) and again.indices.item() == 1
    with pytest.raises(TypeError, match="2-sequence"):
        torch.return_types.max((1, 2, 3))
    kept = torch.return_types.max((torch.tensor([3.]), torch.tensor([0])), {})    # the form of PyTorch's files
    assert kept.values.item() == 3 and kept.indices.item() == 0


def test_in_place_functions_and_switches():
    x = torch.tensor([3.0, -1.0])
    assert torch.clamp_(x, max=1) is x and x.tolist() == [1.0, -1.0]
    assert torch.nan_to_num_(torch.tensor([torch.nan]), nan=2.0).item() == 2.0
    assert not torch.set_flush_denormal(True) and torch.set_flush_denormal(False)
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode("default")
    assert torch.get_deterministic_debug_mode() == 0 and not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="debug_mode"):
        torch.set_deterministic_debug_mode("loud")


def test_python_functions_over_elements():
    x = torch.arange(4.0).reshape(2, 2)
    assert x.t().apply_(lambda v: 10 * v) is not None and x.tolist() == [[0.0, 10.0], [20.0, 30.0]]
    assert x.map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).tolist() == [[1.0, 12.0], [21.0, 32.0]]
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).apply_(abs)


def test_control_flow():
    x = torch.tensor(2.0, requires_grad=True)
    torch.cond(x > 1, lambda x: x * x, lambda x: x, (x,)).backward()
    assert x.grad.item() == 4.0
    i, total = torch.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t + i), (torch.tensor(0), torch.tensor(0)))
    assert (i.item(), total.item()) == (4, 6)


def test_order_of_dimensions():
    assert torch.empty(2, 3, 5, 7).to(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    assert torch.empty(2, 3).t().dim_order() == (1, 0)
    with pytest.raises(RuntimeError, match="unique dim order"):
        torch.empty(1, 1).dim_order(ambiguity_check=True)


def test_storages():
    x = torch.tensor([1.0, 2.0])
    store = x.storage()
    assert isinstance(store, torch.TypedStorage) and isinstance(store, torch.FloatStorage) and store.dtype is torch.float32
    store[1] = 5
    assert x.tolist() == [1.0, 5.0] and store.tolist() == [1.0, 5.0] and len(store) == 2
    assert torch.FloatStorage([1, 2]).double().dtype is torch.float64
    untyped = torch.UntypedStorage(b"abc")
    assert list(untyped) == [97, 98, 99] and untyped[-1] == 99
    with pytest.raises(IndexError):
        untyped[3]


def test_file_as_memory(tmp_path):
    path = tmp_path / "numbers"
    x = torch.from_file(str(path), shared=True, size=3)
    x[:] = torch.tensor([1.0, 2.0, 3.0])
    assert torch.from_file(str(path), size=3).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="has 12 bytes"):
        torch.from_file(str(path), size=4)
    with pytest.raises(RuntimeError, match="unable to open"):
        torch.from_file(str(tmp_path / "missing"), size=1)


def test_shared_memory_moves_all_views():
    x = torch.arange(6.0)
    view, data = x[2:], x.data
    x.share_memory_()
    x[3] = 100
    assert view[1] == 100 and data[3] == 100 and view.is_shared()
    if os.fork() == 0:
        view.fill_(7)
        os._exit(0)
    os.wait()
    assert x.tolist() == [0.0, 1.0, 7.0, 7.0, 7.0, 7.0]


def _write(index, x):
    x[index] = index + 10


def _fail(index):
    raise ValueError("no")


def test_processes_share_tensors():
    x = torch.zeros(3)
    torch.multiprocessing.spawn(_write, (x,), nprocs=2)
    assert x.tolist() == [10.0, 11.0, 0.0]
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match="ValueError: no"):
        torch.multiprocessing.spawn(_fail)
    queue = torch.multiprocessing.get_context("fork").Queue()
    with pytest.raises(RuntimeError, match="non-leaf"):
        torch.multiprocessing.reducer.ForkingPickler.dumps(torch.ones(1, requires_grad=True) * 2)
    queue.close()


def test_compilers_return_their_argument():
    def f(x):
        return x
    assert torch.compile(f) is f and torch.compile(fullgraph=True)(f) is f and torch.jit.script(f) is f and torch.jit.ignore(f) is f
    assert torch.jit.trace(f, torch.ones(1)) is f and torch.jit.unused(f) is f and torch.jit.ignore(drop=True)(f) is f
    assert torch.compiler.disable(f) is f and torch.compiler.disable(recursive=False)(f) is f
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(f, mode="fast")


def test_assert_close_says_where():
    close = torch.testing.assert_close
    close({"a": [1.0, torch.ones(2)]}, {"a": [1.0, torch.ones(2) + 1e-7]})
    with pytest.raises(AssertionError) as caught:
        close({"a": torch.tensor([1.0, 2.0])}, {"a": torch.tensor([1.0, 2.1])})
    assert str(caught.value) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 0.09999990463256836 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.04761900380253792 at index (1,) (up to 1.3e-06 allowed)\n\nThe failure occurred for item ['a']")
    with pytest.raises(AssertionError, match="'dtype' do not match: torch.float32 != torch.int64"):
        close(torch.ones(1), torch.ones(1, dtype=torch.int64))
    with pytest.raises(AssertionError, match="^Scalars are not equal!\n\nExpected 3 but got 1.\nAbsolute difference: 2\n"):
        close(1, 3)
    with pytest.raises(AssertionError):
        close(torch.tensor([torch.nan]), torch.tensor([torch.nan]))
    close(torch.tensor([torch.nan]), torch.tensor([torch.nan]), equal_nan=True)


def test_make_tensor():
    x = torch.testing.make_tensor(5, 4, dtype=torch.float32, device="cpu", noncontiguous=True, exclude_zero=True, low=-2, high=2)
    assert x.shape == (5, 4) and not x.is_contiguous() and bool((x.abs() <= 2).all()) and bool((x != 0).all())
    with pytest.raises(ValueError, match="`low` must be less"):
        torch.testing.make_tensor(1, dtype=torch.int64, device="cpu", low=2, high=2)


def test_operators_of_programs():
    @torch.library.custom_op("tests::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return x * factor
    scaled.register_autograd(lambda ctx, g: (g * ctx.factor, None),
                             setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))
    x = torch.ones(2, requires_grad=True)
    scaled(x, factor=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert torch.library.infer_schema(scaled._init_fn, mutates_args=()) == "(Tensor x, float factor=2.0) -> Tensor"


def test_hub_of_a_folder(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['math']\ndef net(n):\n    'A net.'\n    return n + 1\n")
    assert torch.hub.list(str(tmp_path), source="local") == ["net"]
    assert torch.hub.load(str(tmp_path), "net", 2, source="local") == 3 and torch.hub.help(str(tmp_path), "net", source="local") == "A net."
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        torch.hub.load(str(tmp_path), "other", source="local")


def test_futures():
    first, second = torch.futures.Future(), torch.futures.Future()
    both = torch.futures.collect_all([first, second.then(lambda f: f.value() * 2)])
    second.set_result(3)
    assert not both.done()
    first.set_result(1)
    assert torch.futures.wait_all(both.wait()) == [1, 6]
    with pytest.raises(RuntimeError, match="already|complete"):
        first.set_result(2)


def test_questions_about_devices():
    assert not torch.mps.is_available() and not torch.xpu.is_available() and torch.cpu.is_available()
    assert torch.backends.mps.is_available() is False and torch.backends.openmp.is_available()
    assert torch.accelerator.is_available() == torch.cuda.is_available()
    torch.backends.cudnn.benchmark = True
    with torch.backends.cudnn.flags(enabled=False, benchmark=False):
        assert torch.backends.cudnn.benchmark is False
    assert torch.backends.cudnn.benchmark is True
    assert "fasttensor" in torch.__config__.show() and torch.ones(1).layout is torch.strided is not torch.sparse_coo
