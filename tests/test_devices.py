"""What programs ask about devices answers on a machine without any, and requests for them are errors of PyTorch's types."""
import pytest

import fasttensor as torch

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")

ANSWERS = {"device_count": 0, "is_initialized": False, "is_bf16_supported": False, "is_tf32_supported": False, "get_arch_list": [],
           "get_gencode_flags": "", "get_rng_state_all": [], "seed": None, "seed_all": None, "empty_cache": None, "memory_allocated": 0,
           "memory_reserved": 0, "memory_cached": 0, "max_memory_allocated": 0, "max_memory_reserved": 0, "memory_stats": {},
           "memory_stats_as_nested_dict": {}, "host_memory_stats": {}, "reset_peak_memory_stats": None, "caching_allocator_enable": None}
REFUSALS = ["current_device", "current_stream", "default_stream", "synchronize", "init", "initial_seed", "get_rng_state", "get_device_name",
            "get_device_capability", "get_device_properties", "mem_get_info", "ipc_collect", "cudart", "Stream", "Event", "CUDAGraph",
            "get_sync_debug_mode", "is_current_stream_capturing", "FloatStorage"]


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_without_a_gpu(name):
    assert getattr(torch.cuda, name)() == ANSWERS[name]


@pytest.mark.parametrize("name", REFUSALS)
def test_requests_are_both_kinds_of_error(name):
    for kind in (AssertionError, RuntimeError):
        with pytest.raises(kind, match="CUDA device requested, but"):
            getattr(torch.cuda, name)()


def test_contexts_and_numbers():
    for context in (torch.cuda.device(None), torch.cuda.device(-1), torch.cuda.device_of(torch.ones(1)), torch.cuda.stream(None),
                    torch.cuda.StreamContext(None), torch.xpu.device(None)):
        with context:
            pass
    torch.cuda.set_device(-1)
    torch.cuda.manual_seed_all(3)
    torch.cuda.set_rng_state_all([])
    for device in (0, "cuda:0", torch.device("cuda", 0)):
        with pytest.raises(AssertionError), torch.cuda.device(device):
            pass
    with pytest.raises(ValueError, match="Expected a cuda device"):
        torch.cuda.device("cpu")
    with pytest.raises(RuntimeError), torch.cuda.nvtx.range("a"):
        pass
    assert not torch.cuda.nccl.is_available([torch.ones(1)]) and torch.cuda.amp.common.amp_definitely_not_available()


def test_tensors_and_modules_on_absent_devices():
    x, model = torch.ones(2), torch.nn.Linear(2, 2)
    for call in (x.cuda, model.cuda, x.xpu, model.xpu, lambda: x.to("cuda:1"), lambda: torch.zeros(2, device="cuda"), lambda: torch.ones(2, device="xpu"),
                 lambda: x.type("torch.cuda.FloatTensor"), lambda: x.type(torch.cuda.HalfTensor), lambda: torch.Event("cuda")):
        with pytest.raises(AssertionError, match="device .*requested"):
            call()
    for call in (x.ipu, lambda: x.to("mps"), lambda: torch.empty(1, device="hpu")):
        with pytest.raises(NotImplementedError, match="use device 'cpu'"):
            call()
    for call in (lambda: torch.cuda.FloatTensor(2), lambda: torch.set_default_tensor_type("torch.cuda.FloatTensor"),
                 lambda: torch.set_default_tensor_type(torch.cuda.FloatTensor)):
        with pytest.raises(TypeError, match="not available"):
            call()
    assert not isinstance(x, torch.cuda.FloatTensor) and torch.get_default_dtype() == torch.float32
    assert torch.device("mps") != x.device and torch.device("xpu:1").index == 1


def test_other_devices():
    assert not torch.mps.is_available() and torch.mps.device_count() == 0 and torch.mps.manual_seed(1) is None
    assert not torch.xpu.is_available() and torch.xpu.memory_stats() == {} and torch.xpu.get_rng_state_all() == []
    for call in (torch.mps.synchronize, torch.mps.empty_cache, torch.mps.get_rng_state, torch.accelerator.memory_allocated,
                 torch.accelerator.empty_cache, torch.accelerator.current_device_index):
        with pytest.raises(RuntimeError):
            call()
    for call in (torch.xpu.synchronize, torch.xpu.current_device, torch.xpu.Stream, lambda: torch.backends.cuda.cufft_plan_cache.size):
        with pytest.raises(AssertionError):
            call()
    with pytest.raises(TypeError, match="set_device"):
        torch.xpu.set_device()


def test_streams_of_the_cpu():
    with torch.Stream("cpu") as stream:
        event = stream.record_event(torch.Event(enable_timing=True))
    later = torch.Event("cpu", enable_timing=True)
    with pytest.raises(RuntimeError, match="recorded"):
        event.elapsed_time(later)
    later.record()
    assert later.query() and stream.query() and event.elapsed_time(later) >= 0
