"""``torch.backends.cuda``: switches of GPU libraries, remembered."""
from contextlib import contextmanager

from .switches import remembered

__all__ = ["is_built", "matmul", "enable_flash_sdp", "flash_sdp_enabled", "enable_math_sdp", "math_sdp_enabled", "enable_mem_efficient_sdp",
           "mem_efficient_sdp_enabled", "enable_cudnn_sdp", "cudnn_sdp_enabled", "sdp_kernel", "preferred_linalg_library", "preferred_blas_library",
           "is_flash_attention_available", "can_use_flash_attention", "can_use_efficient_attention", "can_use_cudnn_attention",
           "allow_fp16_bf16_reduction_math_sdp", "fp16_bf16_reduction_math_sdp_allowed", "cufft_plan_cache", "is_ck_sdpa_available",
           "preferred_rocm_fa_library"]


class _Matmul:
    """Switches of matrix products."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


class _PlanCache:
    """Plans of transforms on the GPU; an error without one."""

    def __getattr__(self, name):
        if name not in ("size", "max_size", "clear"):
            raise AttributeError(f"cufft_plan_cache has no attribute {name!r}")
        from fasttensor.cuda.availability import _require
        _require()

    def __getitem__(self, device):
        from fasttensor.cuda.availability import _require
        _require()


matmul, cufft_plan_cache = _Matmul(), _PlanCache()
enable_flash_sdp, flash_sdp_enabled = remembered(True)
enable_math_sdp, math_sdp_enabled = remembered(True)
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = remembered(True)
enable_cudnn_sdp, cudnn_sdp_enabled = remembered(True)
allow_fp16_bf16_reduction_math_sdp, fp16_bf16_reduction_math_sdp_allowed = remembered(False)


def is_built():
    """Whether this build has kernels for GPUs."""
    from fasttensor import cuda
    return bool(cuda.KERNELS)


def is_flash_attention_available():
    """False: the kernel is another one."""
    return False


def can_use_flash_attention(params, debug=False):
    """False: the kernel is another one."""
    return False


is_ck_sdpa_available = is_flash_attention_available
can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


@contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context with other values of the switches of attention."""
    before = flash_sdp_enabled(), math_sdp_enabled(), mem_efficient_sdp_enabled(), cudnn_sdp_enabled()
    setters = enable_flash_sdp, enable_math_sdp, enable_mem_efficient_sdp, enable_cudnn_sdp
    for setter, value in zip(setters, (enable_flash, enable_math, enable_mem_efficient, enable_cudnn)):
        setter(value)
    try:
        yield {}
    finally:
        for setter, value in zip(setters, before):
            setter(value)


def preferred_linalg_library(backend=None):
    """'default'."""
    return "default"


preferred_blas_library = preferred_rocm_fa_library = preferred_linalg_library
