"""How the library was built."""
__all__ = ["show", "parallel_info"]


def show():
    """A text about the build: versions, the instruction set, threads."""
    import platform

    from fasttensor.backends.cpu import get_cpu_capability
    from fasttensor.version import __version__, fasttensor
    return (f"fasttensor {fasttensor} (stands for PyTorch {__version__.split('+')[0]}) built with:\n"
            f"  - Python {platform.python_version()}\n  - OpenMP, BLAS and LAPACK of scipy-openblas32\n"
            f"  - CPU capability usage: {get_cpu_capability()}\n")


def parallel_info():
    """A text about threads."""
    import os

    import fasttensor
    return (f"fasttensor parallel info:\n\tfasttensor.get_num_threads() : {fasttensor.get_num_threads()}\n\tOpenMP\n"
            f"os.cpu_count() : {os.cpu_count()}\nEnvironment variables:\n\tOMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}\n")
