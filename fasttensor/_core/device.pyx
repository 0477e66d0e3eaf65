"""Devices: where a tensor's memory is."""

# Programs compare devices with all that PyTorch knows; tensors can be on those of `device_code`.
cdef tuple TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
                    "mps", "meta", "hpu", "mtia", "privateuseone")


cdef class device:
    """A device such as ``device("cpu")`` or ``device("cuda", 0)``; works as a context manager
    for the default device of new tensors.

    >>> import fasttensor
    >>> fasttensor.device("cuda:0").index
    0
    """
    cdef readonly str type
    cdef readonly object index
    cdef list before

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = (<device>type).type, (<device>type).index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, device or int, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if name not in TYPES:
            raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {type}")
        if colon:
            if not number.isdigit() or index is not None:
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if isinstance(index, int) and index < 0:
            raise RuntimeError(f"device(): Device index must not be negative, got {index}")
        self.type, self.index = name, index

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __hash__(self):
        return hash((self.type, self.index))

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type and self.index == (<device>other).index

    def __reduce__(self):
        return device, (self.type, self.index)

    def __enter__(self):
        global _default
        if self.before is None:
            self.before = []
        self.before.append(_default)
        _default = self
        return self

    def __exit__(self, *exc):
        global _default
        _default = self.before.pop()


cdef list DEVICES = [device("cpu"), device("cuda", 0), device("meta")]
DEVICES.append(DEVICES[0])              # of batched tensors, which override the attribute
cdef object _default = DEVICES[0]


cdef object device_of(int dev):
    return DEVICES[dev]


cdef int device_code(object value) except -1:
    """The C code of a device given as None, str, int or device."""
    if value is None:
        value = _default
    if not isinstance(value, device):
        value = device(value)
    cdef str name = (<device>value).type
    if name == "cuda":
        require_device(name, (<device>value).index)
        return 1
    if name == "cpu":
        return 0
    if name != "meta":
        require_device(name, (<device>value).index)
    return 2


cdef object require_device(str kind, index):
    from fasttensor.cuda.availability import require_device as require
    require(kind, index)


def get_default_device():
    """The device of new tensors for which none is given.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _default


def _device_of(value):
    return DEVICES[0] if value is None else device(value)


def set_default_device(device):
    """Set the device of new tensors for which none is given: "cpu", "meta" or a device; None restores the CPU.

    >>> torch.set_default_device("meta")
    >>> torch.empty(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    global _default
    _default = _device_of(device)
