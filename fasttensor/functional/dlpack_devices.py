"""The numbers that DLPack gives kinds of devices; apart, since an import of fasttensor has no use for enum."""
from enum import IntEnum

__all__ = []
METHODS = {}


class DLDeviceType(IntEnum):
    """DLPack's kinds of devices.

    >>> torch.utils.dlpack.DLDeviceType.kDLCPU
    <DLDeviceType.kDLCPU: 1>
    """
    __module__ = "fasttensor.utils.dlpack"

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
