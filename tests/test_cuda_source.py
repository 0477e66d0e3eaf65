"""The generated CUDA unit compiles for the oldest and the newest architecture, without warnings."""
import ctypes
import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from fasttensor._optable import codegen, loops
from fasttensor._optable.dtypes import BY_NAME, DTYPES
from fasttensor._optable.table import INDEX, OPS

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = [ROOT / "fasttensor" / "_core", ROOT / "cuda_kernels"]
# One dtype a kind covers every expression; the others of a kind share its text but for suffixes.
FEW = ("bool", "uint8", "int64", "bfloat16", "complex64")
# Rows with parameters, masks, predicates, special functions and integer functions.
SAMPLE = ("add", "pow", "where", "clamp_min", "_masked_scale", "isfinite", "lgamma", "i0", "igamma", "nextafter", "remainder", "gcd",
          "bitwise_left_shift", "_gelu_tanh", "sgn", "angle", "abs", "atan", "log1p", "polygamma", "hermite_polynomial_h")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("cuda") / "elementwise.cu"
    path.write_text(codegen.cuda_file(), encoding="utf-8")
    return path


def nvrtc_library():
    """The NVRTC of NVIDIA's wheel, or None."""
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in spec.submodule_search_locations or () if spec else ():
            for path in sorted(Path(folder).glob("lib/libnvrtc.so*")):
                return path
    return None


def compile_nvrtc(library, source, arch, defines):
    """Raises AssertionError with NVRTC's log where the source does not compile."""
    for builtins in library.parent.glob("libnvrtc-builtins.so*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()
    assert lib.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), b"elementwise.cu", 0, None, None) == 0
    options = [f"-arch={arch}", "-default-device", *(f"-I{folder}" for folder in INCLUDE), *defines]
    array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = lib.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()


def compile_source(source, arch, defines, tmp_path):
    if shutil.which("nvcc"):
        # without optimisation: whether it compiles does not depend on it, and it takes a third of the time
        command = ["nvcc", *(f"-I{folder}" for folder in INCLUDE), f"-arch={arch}", "-cubin", "-Werror", "all-warnings",
                   "-Xcicc", "-O1", "-Xptxas", "-O0", *defines, "-o", str(tmp_path / "out.cubin"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
    elif nvrtc_library():
        compile_nvrtc(nvrtc_library(), source, arch, defines)
    else:
        pytest.skip("neither nvcc nor the nvidia-cuda-nvrtc wheel is installed")


@pytest.mark.parametrize("name", FEW)
def test_every_row_compiles(source, tmp_path, name):
    compile_source(source, "sm_90", [f"-DFT_DTYPE={BY_NAME[name].code}"], tmp_path)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_row_compiles_by_itself_for_an_old_architecture(source, tmp_path, name):
    compile_source(source, "sm_75", [f"-DFT_OP={INDEX[name]}"], tmp_path)


def test_every_loop_has_its_kernel(source):
    text = source.read_text(encoding="utf-8")
    for op in OPS:
        for dtype in DTYPES:
            for loop in loops.loops_of_row(op, dtype):
                assert f"(ew_{loop.name}, " in text
