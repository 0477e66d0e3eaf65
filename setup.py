"""Build of fasttensor's compiled modules: every .pyx below fasttensor/ and every .py that has a .pxd.

Environment:
    FASTTENSOR_MARCH   architecture for the compiler (default: native), e.g. x86-64-v3
    FASTTENSOR_JOBS    parallel compiler processes (default: the CPUs this process may use)
"""

import functools
import importlib.util
import os
import platform
import re
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
MARCH = os.environ.get("FASTTENSOR_MARCH", "native")
JOBS = int(
    os.environ.get("FASTTENSOR_JOBS") or len(os.sched_getaffinity(0))
    if hasattr(os, "sched_getaffinity")
    else os.cpu_count() or 1
)
X86 = platform.machine() in ("x86_64", "AMD64")

# Never -ffast-math: a shared object linked with it flushes denormals for the whole process.
CFLAGS = [
    "-O3",
    "-g0",
    "-std=gnu11",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fcx-fortran-rules",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-unused-function",
    "-Wno-unused-parameter",
    "-Wno-unused-variable",
    "-Wno-unused-but-set-variable",
    "-Wno-cast-function-type",
    "-Wno-missing-field-initializers",
    "-Wno-psabi",
    "-Wno-maybe-uninitialized",
]
ARCH = [f"-march={MARCH}"] if X86 else [f"-mcpu={MARCH}"]
if X86:
    ARCH.append("-mprefer-vector-width=512")
DIRECTIVES = dict(
    language_level=3,
    boundscheck=False,
    wraparound=False,
    cdivision=True,
    initializedcheck=False,
    embedsignature=False,
    freethreading_compatible=False,
)

INCLUDE = ["fasttensor/_core", "fasttensor/cpu", "fasttensor/cpu/generated"]

# Modules that need more than the common flags.
OPENMP = {"fasttensor._core.parallel"}
BASELINE = {"fasttensor._core.cpucheck"}  # must run on any CPU of the platform
EXTRA_SOURCES = {"fasttensor.cpu.elementwise": "fasttensor/cpu/generated/*.c"}
# gcc's jump threading turns min(max(x, 0), 6) into control flow, of which a loop keeps a dozen mask operations.
EXTRA_FLAGS = {"fasttensor.cpu.elementwise": ["-fno-thread-jumps"]}
LIBRARIES = {"fasttensor.cpu." + name: ["mvec", "m"] for name in ("elementwise", "gemm.blocks", "distance", "softmax", "loss")}  # vector math of scalar.h


def load_codegen():
    """The generator, imported by path: the package cannot be imported before it is built."""
    folder = ROOT / "fasttensor" / "_optable"
    spec = importlib.util.spec_from_file_location(
        "_optable", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules["_optable"] = package
    spec.loader.exec_module(package)
    return importlib.import_module("_optable.codegen")


def target_features():
    """The instruction sets that the compiler may use under these flags, as __builtin_cpu_supports names them."""
    if not X86:
        return ""
    names = {
        "__AVX__": "avx",
        "__AVX2__": "avx2",
        "__FMA__": "fma",
        "__AVX512F__": "avx512f",
        "__AVX512BW__": "avx512bw",
        "__AVX512DQ__": "avx512dq",
        "__AVX512VL__": "avx512vl",
        "__BMI2__": "bmi2",
        "__AVX512VNNI__": "avx512vnni",
        "__AVX512BF16__": "avx512bf16",
    }
    compiler = os.environ.get("CC", "cc").split()
    try:
        text = subprocess.run(
            [*compiler, *ARCH, "-dM", "-E", "-x", "c", os.devnull], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"a C compiler is needed to build fasttensor: {error}") from None
    defined = {line.split()[1] for line in text.splitlines() if line.startswith("#define")}
    return ",".join(name for macro, name in names.items() if macro in defined)


@functools.cache
def headers_of(source):
    """The project's headers that a C file includes, directly or through others."""
    found = set()
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', Path(source).read_text(), re.MULTILINE):
        for folder in (Path(source).parent, *INCLUDE):
            path = Path(os.path.normpath(Path(folder) / name))
            if path.exists():
                found |= {str(path), *headers_of(str(path))}
                break
    return frozenset(found)


def extensions():
    found = []
    paths = sorted(ROOT.glob("fasttensor/**/*.pyx")) + [
        p for p in sorted(ROOT.glob("fasttensor/**/*.py")) if p.with_suffix(".pxd").exists() and p.name != "__init__.py"
    ]
    for path in paths:
        relative = path.relative_to(ROOT)
        name = ".".join(relative.with_suffix("").parts)
        sources = [str(relative)]
        if name in EXTRA_SOURCES:
            sources += sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(EXTRA_SOURCES[name]))
        flags, link = list(CFLAGS), ["-s"] if sys.platform == "linux" else []
        flags += EXTRA_FLAGS.get(name, [])
        if name not in BASELINE:
            flags += ARCH
        if name in OPENMP:
            flags.append("-fopenmp")
            link.append("-fopenmp")
        libraries = LIBRARIES.get(name, ["m"])
        if not (X86 and sys.platform == "linux"):
            libraries = [lib for lib in libraries if lib != "mvec"]
        found.append(
            Extension(
                name,
                sources,
                extra_compile_args=flags,
                extra_link_args=link,
                libraries=libraries,
                include_dirs=INCLUDE,
            )
        )
    return found


class Build(build_ext):
    """Generates, translates and compiles in parallel; an object is compiled again only when its
    source, a header or the flags changed."""

    def run(self):
        load_codegen().generate(ROOT)
        from Cython.Build import cythonize

        features = target_features()
        self.distribution.ext_modules[:] = self.extensions = cythonize(
            extensions(),
            nthreads=JOBS,
            compiler_directives=DIRECTIVES,
            quiet=True,
            cache="CYTHON_CACHE_DIR" in os.environ,
        )
        for extension in self.extensions:
            extension._needs_stub = False
            # setuptools' own Extension renames .pyx to .c unless Cython is imported there
            extension.sources = [s[:-4] + ".c" if s.endswith(".pyx") else s for s in extension.sources]
            if extension.name == "fasttensor._core.cpucheck":
                extension.define_macros.append(("FT_REQUIRES", f'"{features}"'))
                extension.define_macros.append(("FT_MARCH", f'"{MARCH}"'))
        for extension in self.extensions:
            extension._full_name = self.get_ext_fullname(extension.name)
            extension._links_to_dynamic = False
            extension._file_name = self.get_ext_filename(extension._full_name)
        self.remove_stale()
        super().run()
        if self.inplace:  # new rows of the table are public at once; processors that this one is not cannot say
            tool = [sys.executable, str(ROOT / "tools" / "make_names.py")]
            if subprocess.run(tool, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode:
                print("fasttensor/_names.py may be out of date: run tools/make_names.py where the package can be imported")

    def remove_stale(self):
        """Compiled files in the tree whose source is gone or became plain Python, which they would hide."""
        current = {str(ROOT / extension._file_name) for extension in self.extensions}
        for path in ROOT.glob("fasttensor/**/*" + sysconfig.get_config_var("EXT_SUFFIX")):
            if str(path) not in current:
                path.unlink()

    def build_extensions(self):
        compiler = self.compiler
        original = compiler._compile
        stamps = Path(self.build_temp)
        stamps.mkdir(parents=True, exist_ok=True)

        def compile_if_changed(obj, src, ext, cc_args, extra, pp_opts):
            key = " ".join([*compiler.compiler_so, *cc_args, *extra, *map(str, pp_opts)])
            stamp = Path(obj + ".flags")
            if os.path.exists(obj) and stamp.exists() and stamp.read_text() == key:
                newest = max(os.path.getmtime(p) for p in [src, *self._depends[obj]])
                if os.path.getmtime(obj) > newest:
                    return
            original(obj, src, ext, cc_args, extra, pp_opts)
            stamp.write_text(key)

        compiler._compile = compile_if_changed
        self._depends = {}
        jobs = []
        for extension in self.extensions:
            objects = compiler.object_filenames(extension.sources, output_dir=self.build_temp)
            for obj, source in zip(objects, extension.sources):
                self._depends[obj] = headers_of(source)
                extension.depends = sorted({*extension.depends, *headers_of(source)})  # linked again if one changed
                jobs.append((os.path.getsize(source), extension, source))
        jobs.sort(key=lambda job: -job[0])  # the longest first, so that none ends the build alone

        def compile_one(job):
            _, extension, source = job
            compiler.compile(
                [source],
                output_dir=self.build_temp,
                macros=list(extension.define_macros),
                include_dirs=extension.include_dirs,
                extra_postargs=extension.extra_compile_args,
                depends=extension.depends,
            )

        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(compile_one, jobs))
        self.parallel = None
        super().build_extensions()  # finds every object up to date, and links


class Python(build_py):
    """Leaves out C sources and generated files that only the build needs."""

    def find_data_files(self, package, src_dir):
        return [f for f in super().find_data_files(package, src_dir) if not f.endswith((".c", ".o", ".pyx", ".pxi", ".h"))]


class Source(sdist):
    """Generated files are made again by whoever builds the archive."""

    def make_release_tree(self, base_dir, files):
        files = [
            f
            for f in files
            if "/generated/" not in f and not (f.startswith("fasttensor") and f.endswith((".c", ".so")))
        ]
        super().make_release_tree(base_dir, files)


setup(
    ext_modules=[Extension("fasttensor._core.tensor", ["fasttensor/_core/tensor.pyx"])],  # replaced in Build.run
    cmdclass={"build_ext": Build, "build_py": Python, "sdist": Source},
)
