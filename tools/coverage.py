#!/usr/bin/env python3
"""Writes docs/coverage.md: which public names of PyTorch are here, and why the others are not.

    python tools/coverage.py            # writes the page; needs PyTorch
    python tools/coverage.py --check    # exit status 1 where the page is out of date, or a name is missing without a reason

Reasons are given by the table REASONS: the first pattern that matches a name, "torch.nn.Linear" without the "torch.",
decides. A name that no pattern matches is a fault.
"""

import argparse
import importlib
import inspect
import re
import sys
import textwrap
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"
SPACES = (
    "", "Tensor", "__config__", "__future__", "accelerator", "amp", "autograd", "autograd.forward_ad", "autograd.functional", "autograd.grad_mode",
    "autograd.graph", "autograd.profiler", "backends", "backends.cpu", "backends.cuda", "backends.cudnn", "backends.mha", "backends.mkl",
    "backends.mkldnn", "backends.mps", "backends.nnpack", "backends.openmp", "backends.opt_einsum", "compiler", "cpu", "cpu.amp", "distributions",
    "distributions.constraints", "distributions.kl", "distributions.transforms", "fft", "func", "futures", "hub", "jit", "library", "linalg",
    "masked", "mps", "multiprocessing", "nn", "nn.attention", "nn.functional", "nn.grad", "nn.init", "nn.modules", "nn.parallel", "nn.parameter",
    "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn", "nn.utils.stateless", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "overrides", "profiler", "random", "return_types", "serialization", "signal", "signal.windows",
    "special", "storage", "testing", "types", "utils", "utils.checkpoint", "utils.data", "utils.dlpack", "utils.hooks", "version", "xpu",
)

# (reason, pattern of "space.name"); the first that matches counts.
REASONS = (
    ("dtypes beyond the twelve of this library: bool, uint8, int8 to int64, float16, bfloat16, float32, float64, complex64, complex128",
     r"(uint|int)(1|2|3|4|5|6|7|16|32|64)|bits.*|bit|float(4|8)_.*|complex32|(Tensor\.)?chalf|(Tensor\.)?hash_tensor|Tensor\.grad_dtype"
     r"|nn\.functional\.(scaled_mm|scaled_grouped_mm|ScalingType|SwizzleType|grouped_mm)"),
    ("quantized dtypes",
     r".*(quantize|quantized|quint|qint|QInt|QUInt|qscheme|fake_quant|qparams|q_scale|q_zero_point|q_per_channel).*|(Tensor\.)?int_repr"
     r"|per_(tensor|channel)_.*|ao|quantization|nn\.(intrinsic|qat|quantizable)|(Tensor\.)?dequantize"),
    ("sparse and ragged layouts: every tensor is strided here",
     r"(.*\.)?(to_)?sparse(_(?!support).*)?|(.*\.)?(ccol|crow|col|row)_indices(_copy)?|Tensor\.(coalesce|indices|values|dense_dim|sparse_.*)"
     r"|(Tensor\.)?(sspaddmm|smm|resize_as_sparse_)|indices_copy|values_copy|saddmm|spmm|dsmm|hsmm|hspmm|nested|Tensor\.to_padded_tensor"
     r"|masked\.(MaskedTensor|as_masked_tensor|masked_tensor|is_masked_tensor|maskedtensor)"),
    ("kernels of other libraries and devices under their own names",
     r"(cudnn|miopen|mkldnn|fbgemm)_.*|Tensor\.(to_mkldnn|ipu|xpu|mtia)|mtia|batch_norm_(stats|elemt|backward_.*|gather_.*|update_stats)"
     r"|profiler_allow_.*|native_norm|backends\.(m|python_native|.*\.m|cuda\.(SDPAParams|cu.*|blas_.*|is_ck_.*|preferred_rocm_.*|m))|windows"
     r"|(get|set|is)_autocast_(ipu|xla|gpu)_.*|nn\.attention\..*flash.*"),
    ("streams, graphs, several devices and memory pools of GPUs",
     r"Stream|Event|(accelerator|mps|xpu)\..*|nn\.parallel\..*|amp\.custom_.*|utils\.checkpoint\.(get|set)_device_states|get_device_module"),
    ("distributed training: comes later", r"distributed(\..*)?|(Tensor\.)?is_distributed|RRefType"),
    ("capture of programs by the compiler, and symbolic shapes",
     r"sym_.*|Sym.*|export|fx|compiler\..*|package|library\..*|ops|classes|Tag|vmap_.*|slice_inverse|Tensor\.slice_inverse|overrides\..*|DispatchKey.*"
     r"|ExcludeDispatchKeyGuard|PRIVATE_OPS|nn\.attention\..*|autograd\.graph\.(region_.*|set_.*)|return_types\.pytree_.*|func\.(functionalize|debug_.*)"),
    ("TorchScript: its compiler, files and C++ objects",
     r"jit\..*|.*Script.*|import_ir_.*|parse_.*|unify_type_list|merge_type_.*|.*Type|(testing\.)?FileCheck|cpp|monitor|Benchmark.*|PyTorchFile.*"
     r"|(AliasDb|Argument|ArgumentSpec|Block|CallStack|Code|Capsule|Graph|Gradient|Node|Use|Value|Future|CompleteArgumentSpec|ErrorReport"
     r"|ConcreteModuleTypeBuilder|ExecutionPlan|FunctionSchema|GraphExecutorState|IODescriptor|OperatorInfo|TracingState|StaticModule|JITException"
     r"|AVG|SUM|ThroughputBenchmark|LoggerBase|NoopLogger|LockingLogger|CompilationUnit|.*SerializationStorageContext|.*StorageContext)"),
    ("data pipes, which PyTorch gave up",
     r"utils\.data\.(DFIterDataPipe|DataChunk|IterDataPipe|MapDataPipe|argument_validation|datapipes|functional_datapipe|graph.*|guaranteed_.*"
     r"|non_deterministic|runtime_validation.*|backward_compatibility)"),
    ("options of PyTorch's reader of its own files; files here are described in docs/",
     r"serialization\..*"),
    ("files of PyTorch's source that are named by accident, types for its annotations, and its build, tests and C++ bindings",
     r"DisableTorchFunction.*|FatalError|DeepCopyMemoTable|USE_.*|get_file_path|prepare_multiprocessing_environment|classproperty|functional"
     r"|StorageBase|Tensor\.(module_load|reinforce|volatile|index)|BufferDict|ModuleDict|ParameterDict|utils\.(backcompat|backend_.*|.*cpp_.*"
     r"|cmake_.*|collect_env|deterministic|generate_.*|rename_.*|set_module|throughput.*|ThroughputBenchmark|copyreg|weak|swap_tensors)"
     r"|fft\.Tensor|nn\.common_types|nn\.functional\.assert_int_or_pair|nn\.modules\..*|nn\.utils\.rnn\.(bind|PackedSequence_)|signal\.windows\.windows"
     r"|cpu\.amp\.(autocast_mode|grad_scaler)|autograd\.(NestedIOFunction|variable|anomaly_mode|profiler_legacy|.*enforce_grad_layout_policy)"
     r"|optim\.swap_in_.*|multiprocessing\.reductions|utils\.hooks\.(BackwardHook|unserializable_hook|warn_if_has_hooks)|autograd\.profiler\..*"
     r"|utils\.checkpoint\.(GraphExecGroup|.*backward_validity|detach_variable|SAC_IGNORED_OPS|noop_context_fn)|profiler\.(itt|ExecutionTraceObserver)|TYPE_CHECKING|distributions\.transforms\.softplus"
     r"|(autograd|nn\.functional)\.has_torch_function.*|autograd\.(is_multithreading_enabled|is_view_replay_enabled|kineto_available)"
     r"|utils\.data\._DatasetKind"),
    ("finer control of saved tensors", r"autograd\.graph\.(allow_mutation_.*|increment_version)|utils\.checkpoint\..*[sS]elective.*"),
    ("low-discrepancy sequences: their table of 21,201 dimensions is not part of this library", r"quasirandom"),
)


def public(module):
    """The names that people may use: those of ``__all__``, and those without an underscore."""
    return sorted({n for n in getattr(module, "__all__", ()) if n != "__version__"} | {n for n in dir(module) if not n.startswith("_")})


def imported(module, name, value):
    """Whether a name is there only because PyTorch's file imports it."""
    if not inspect.ismodule(module) or name in getattr(module, "__all__", ()):
        return False
    if (module.__name__, name) == ("torch.hub", "tqdm"):       # a class of torch.hub's own where tqdm is not installed
        return True
    if inspect.ismodule(value):
        return not value.__name__.startswith("torch.") or not value.__name__.startswith(module.__name__ + ".")
    home = getattr(value, "__module__", None)
    if inspect.isbuiltin(value):            # a binding to C++ may have no module
        return home is not None and not home.startswith("torch")
    home = home or type(value).__module__
    if module.__name__ == "torch":
        return not home.startswith("torch") and home not in ("builtins", "math", "_operator") or home == "typing"
    return not home.startswith(module.__name__) or isinstance(value, (str, dict, list)) or type(value).__name__ in ("TypeVar", "ParamSpec")


def attribute(root, path):
    """The object under a dotted path, or None."""
    for part in filter(None, path.split(".")):
        try:
            root = getattr(root, part)
        except (AttributeError, ImportError):
            return None
    return root


def spaces_of(package):
    """{space: module or class}, submodules imported first so that names do not depend on order."""
    for space in SPACES:
        try:
            importlib.import_module(".".join(filter(None, (package.__name__, space))))
        except ImportError:
            pass        # a class, or not there
    return {space: attribute(package, space) for space in SPACES}


def survey():
    """{space: (present names, {reason: names}, names without a reason)}."""
    import torch

    import fasttensor
    theirs, ours = spaces_of(torch), spaces_of(fasttensor)
    found = {}
    for space, module in theirs.items():
        if module is None:
            continue
        present, reasons, faults = [], {}, []
        for name in public(module):
            try:
                value = getattr(module, name)
            except (AttributeError, ImportError, RuntimeError):
                continue
            full = f"{space}.{name}" if space else name
            if ours[space] is not None and has(ours[space], name):
                if not imported(module, name, value):
                    present.append(name)
                continue
            if imported(module, name, value):
                continue
            reason = next((reason for reason, pattern in REASONS if re.fullmatch(pattern, full)), None)
            if reason is None:
                faults.append(name)
            else:
                reasons.setdefault(reason, []).append(name)
        found[space] = present, reasons, faults
    return found, torch.__version__.split("+")[0]


def has(module, name):
    """Whether a name can be read."""
    try:
        getattr(module, name)
    except (AttributeError, ImportError):
        return False
    return True


def wrapped(names):
    return textwrap.fill(" ".join(names), 150, break_long_words=False, break_on_hyphens=False)


def page(found, version):
    """The page's text."""
    def title(space):
        return "torch." + space if space else "torch"

    total = sum(len(p) for p, _, _ in found.values())
    lines = [
        "# Names of PyTorch", "",
        f"Written by `tools/coverage.py` against PyTorch {version}: change that, not this page. Of each module's public names {total} are here;",
        "what is not here has a reason below. Names that PyTorch's files merely import are not counted.", "",
        "| module | here | not here |", "|---|---|---|",
        *(f"| `{title(space)}` | {len(present)} | {sum(map(len, reasons.values()))} |"
          for space, (present, reasons, _) in found.items() if present or reasons), "",
        "## Not here", "",
    ]
    for reason, _ in REASONS:
        rows = [(space, reasons[reason]) for space, (_, reasons, _) in found.items() if reason in reasons]
        if rows:
            lines += [f"### {reason[0].upper()}{reason[1:]}", ""]
            for space, names in rows:
                lines += [f"`{title(space)}`:", "", "```", wrapped(names), "```", ""]
    lines += ["## Here", ""]
    for space, (present, _, _) in found.items():
        if present:
            lines += [f"### `{title(space)}`", "", "```", wrapped(present), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def main():
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, version = survey()
    text = page(found, version)
    status = 0
    for space, (_, _, faults) in found.items():
        if faults:
            print(f"{space or 'torch'}: missing without a reason: {' '.join(faults)}")
            status = 1
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print("docs/coverage.md is out of date: run tools/coverage.py")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
