"""Profiles: which operations, what they took and allocated, traces, schedules; and no trace of it afterwards."""
import gzip
import json
import threading

import pytest

import fasttensor as torch
from fasttensor._core.dispatch import is_armed
from fasttensor import nn
from fasttensor.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def model():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def train(net, x):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    with record_function("forward"):
        loss = nn.functional.mse_loss(net(x), torch.zeros(4, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test_operations_backward_and_named_ranges_are_recorded():
    net, x = model(), torch.ones(4, 8)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as prof:
        train(net, x)
        y = x + x
        y.add_(1)
        torch.stack([y[0], y.t()[0][:8].repeat(2)]).softmax(0)
    counts = {event.key: event.count for event in prof.key_averages()}
    assert counts["aten::linear"] == 2 and counts["aten::relu"] == 1 and counts["aten::mse_loss"] == 1
    assert counts["AddmmBackward0"] == counts["autograd::engine::evaluate_function: AddmmBackward0"] == 2
    assert counts["Optimizer.step#Adam.step"] == counts["Optimizer.zero_grad#Adam.zero_grad"] == counts["forward"] == 1
    assert {"aten::add", "aten::add_", "aten::stack", "aten::softmax", "aten::select", "aten::slice", "aten::t"} <= set(counts)
    first = next(event for event in prof.events() if event.name == "aten::linear")
    assert first.input_shapes == [[4, 8], [16, 8], [16]] and first.flops == 2 * 4 * 8 * 16
    assert first.cpu_parent.name == "forward" and first.cpu_parent.is_user_annotation and "test_profiler.py" in first.stack[0]
    assert first.cpu_memory_usage >= 4 * 16 * 4 and 0 < first.self_cpu_time_total <= first.cpu_time_total
    backward = [event for event in prof.events() if event.name == "AddmmBackward0"]
    assert first.sequence_nr == backward[1].sequence_nr >= 0
    total = prof.key_averages().total_average()
    whole = sum(event.cpu_time_total for event in prof.events() if event.cpu_parent is None)
    assert total.self_cpu_time_total == pytest.approx(whole)
    shaped = [event for event in prof.key_averages(group_by_input_shape=True) if event.key == "aten::linear"]
    assert len(shaped) == 2


def test_nothing_is_left_when_it_ends():
    linear, add = nn.functional.linear, torch.Tensor.view
    code = linear.__code__
    with pytest.raises(ValueError, match="stop"), profile():
        assert linear.__code__ is not code or is_armed()        # a gate for __torch_function__ stays where it is
        raise ValueError("stop")
    assert linear.__code__ is code and torch.Tensor.view is add
    with profile() as prof:
        with pytest.raises(RuntimeError):
            torch.ones(2, 3) @ torch.ones(2, 3)
    assert [event.name for event in prof.events() if event.cpu_parent is None] == ["aten::ones", "aten::ones", "aten::matmul"]
    with record_function("unheard"):
        pass


def test_table():
    with profile(profile_memory=True) as prof:
        for _ in range(3):
            torch.ones(1000).exp()
    text = prof.key_averages().table(sort_by="count", row_limit=1, header="here")
    lines = text.splitlines()
    assert "here" in lines[1] and "Self CPU %" in text and "# of Calls" in text and "CPU Mem" in text and "Self CPU time total:" in text
    assert sum("aten::" in line for line in lines) == 1
    averages = prof.key_averages()
    times = [event.self_cpu_time_total for event in sorted(averages, key=lambda event: -event.self_cpu_time_total)]
    table = averages.table(sort_by="self_cpu_time_total", time_unit="us")
    shown = [line.split()[0] for line in table.splitlines() if "aten::" in line]
    assert shown[0] == next(event.key for event in averages if event.self_cpu_time_total == times[0])
    with pytest.raises(AttributeError, match="cpu_time_total"):
        averages.table(sort_by="weight")


def test_trace_files(tmp_path):
    net, x = model(), torch.ones(4, 8)
    with profile(record_shapes=True, profile_memory=True, with_stack=True,
                 on_trace_ready=tensorboard_trace_handler(str(tmp_path / "board"), "me", use_gzip=True)) as prof:
        prof.add_metadata("note", "a")
        prof.add_metadata_json("more", "[1]")
        train(net, x)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    written, = (tmp_path / "board").iterdir()
    assert written.name.startswith("me.") and written.name.endswith(".pt.trace.json.gz")
    assert len(json.loads(gzip.open(written).read())["traceEvents"]) == len(trace["traceEvents"])
    assert trace["note"] == "a" and trace["more"] == [1]
    complete = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert all(isinstance(event["ts"], float) and event["dur"] >= 0 and {"name", "pid", "tid", "cat"} <= set(event) for event in complete)
    by_name = {event["name"]: event for event in complete}
    outer, inner = by_name["forward"], by_name["aten::mse_loss"]
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3
    starts, ends = ({event["id"] for event in trace["traceEvents"] if event["ph"] == kind} for kind in "sf")
    assert starts == ends != set()
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    assert "aten::linear" in (tmp_path / "stacks.txt").read_text()
    prof.export_memory_timeline(str(tmp_path / "memory.json"))
    times, sizes = json.loads((tmp_path / "memory.json").read_text())
    assert len(times) == len(sizes) > 0


def test_schedule_and_steps():
    ready = []
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1),
                 on_trace_ready=lambda prof: ready.append((prof.step_num, [e.name for e in prof.events()]))) as prof:
        for number in range(12):
            torch.ones(number + 1).exp()
            prof.step()
    assert [step for step, _ in ready] == [5, 9]
    assert [name for name in ready[0][1] if name.startswith("Prof")] == ["ProfilerStep#3", "ProfilerStep#4"]
    assert ready[0][1].count("aten::exp") == 2
    plan = schedule(wait=0, warmup=1, active=1, repeat=1)
    assert [plan(step).name for step in range(4)] == ["WARMUP", "RECORD_AND_SAVE", "NONE", "NONE"]
    with pytest.raises(AssertionError, match="active"):
        schedule(wait=0, warmup=0, active=0)
    with pytest.raises(RuntimeError, match="didn't finish"):
        profile().events()


def test_threads_have_their_own_ranges():
    with profile() as prof:
        with record_function("outside"):
            thread = threading.Thread(target=lambda: torch.ones(3).exp())
            thread.start()
            thread.join()
    events = {event.name: event for event in prof.events()}
    assert events["aten::exp"].thread != events["outside"].thread and events["aten::exp"].cpu_parent is None


def test_autograd_profiler_and_decorator():
    @record_function("twice")
    def twice(x):
        return x * 2
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        twice(torch.ones(3))
    assert [event.name for event in prof.function_events] == ["aten::ones", "twice", "aten::mul"]
    assert "aten::mul" in prof.table() and prof.total_average().count == 3 and prof.self_cpu_time_total > 0
    with torch.autograd.profiler.profile(enabled=False) as off:
        torch.ones(3)
    assert off.function_events is None
    with pytest.warns(UserWarning, match="no effect"), torch.autograd.profiler.emit_nvtx():
        torch.ones(3)


def test_batches_and_functions_of_users():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    from fasttensor.utils.data import DataLoader, TensorDataset
    loader = DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2)
    with profile() as prof:
        for batch, in loader:
            Double.apply(batch.requires_grad_()).sum().backward()
    counts = {event.key: event.count for event in prof.key_averages()}
    assert counts["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"] == 3
    assert counts["Double"] == counts["DoubleBackward"] == 2
    inner = next(event for event in prof.events() if event.name == "aten::mul")
    assert inner.cpu_parent.name == "Double"


def test_names_are_those_of_pytorch():
    theirs = pytest.importorskip("torch")
    names = []
    for lib in (torch, theirs):
        x, weight = lib.ones(2, 4, 4), lib.ones(3, 4)
        with lib.profiler.profile() as prof:
            with lib.no_grad():
                lib.nn.functional.linear(x, weight)
                x.matmul(x), x.softmax(0), x.sum(), x.mean(1), lib.cat([x, x]), x[0], x.reshape(4, 8), x.transpose(0, 1)
                lib.nn.functional.gelu(x), x / 3, x - x, x ** 2, x.exp_(), lib.nn.functional.layer_norm(x, (4,)), x == x, -x, x.clone()
                lib.nn.functional.conv1d(x, lib.ones(4, 4, 1)), x.max(), lib.where(x > 0, x, x), lib.nn.functional.dropout(x, 0.5)
                lib.nn.functional.cross_entropy(x[0], x[1]), x.to(lib.float64), x.argmax(0), x.permute(0, 2, 1), x.view(-1), x.expand(2, 4, 4)
        names.append({event.name for event in prof.events() if event.cpu_parent is None})
    assert names[0] <= names[1], names[0] - names[1]


def test_parts_of_a_function_are_no_operations_of_their_own():
    x = torch.rand(3)
    with profile() as prof:
        nn.functional.gelu(x), nn.functional.mse_loss(x, x, reduction="none"), torch.div(x, x, rounding_mode="floor"), x.clamp(0, 1)
    assert [event.name for event in prof.events()] == ["aten::gelu", "aten::mse_loss", "aten::div", "aten::clamp"]


def test_functions_of_another_form_are_recorded_once():
    x = torch.ones(2, 2)
    with profile() as prof:
        torch.softmax(x, 1), torch.log_softmax(x, 1), torch.dropout(x, 0.5, True), torch.alpha_dropout(x, 0.5, True)
    counts = {event.key: event.count for event in prof.key_averages()}
    assert [counts.get(f"aten::{name}") for name in ("softmax", "log_softmax", "dropout", "alpha_dropout")] == [1, 1, 1, 1]
