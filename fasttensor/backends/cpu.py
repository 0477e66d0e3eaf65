"""``torch.backends.cpu``: the processor."""
__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """The widest vector instructions: "AVX512", "AVX2" or "DEFAULT".

    >>> get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        flags = []
    return "AVX512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "DEFAULT"
