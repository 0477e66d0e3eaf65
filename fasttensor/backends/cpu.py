"""``torch.backends.cpu``: the processor."""
from fasttensor._core import cpucheck

__all__ = ["get_cpu_capability"]


def get_cpu_capability():
    """The widest vector instructions that this build uses: "AVX512", "AVX2" or "DEFAULT".

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    used = cpucheck.required()
    return "AVX512" if "avx512f" in used else "AVX2" if "avx2" in used else "DEFAULT"
