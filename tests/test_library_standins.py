"""What public libraries do to PyTorch when they are imported works: patches of Tensor, subclasses, names of dtypes, marks for compilers."""
import pickle

import pytest

import fasttensor as torch
from fasttensor import fx, jit, onnx
from fasttensor.ao import quantization
from fasttensor.standin import dynamo


class Tagged(torch.Tensor):
    def __new__(cls, x, tag, *, scale=1):
        made = x.as_subclass(cls)
        made.tag = (tag, scale)
        return made


class Extra(torch.nn.Parameter):
    def __new__(cls, data, requires_grad=True, extra=3):
        made = super().__new__(cls, data, requires_grad)
        made.extra = extra
        return made


def test_subclasses_that_make_themselves():
    x = torch.ones(2, dtype=torch.int32)
    made = Tagged(x, "t", scale=3)
    assert type(made) is Tagged and made.tag == ("t", 3) and made.dtype == torch.int32 and made.data_ptr() == x.data_ptr()
    assert Extra(torch.ones(2), extra=5).extra == 5
    assert torch.Tensor(x).dtype == torch.int32
    with pytest.raises(TypeError, match="float32"):
        torch.FloatTensor(x)


def test_attributes_of_tensor_can_be_set():
    before = torch.Tensor.__repr__, torch.Tensor.cumsum
    try:
        torch.Tensor.shape_text = lambda self: str(tuple(self.shape))
        torch.Tensor.__repr__ = lambda self: "<" + self.shape_text() + ">"
        torch.Tensor.cumsum = lambda self, *args: "patched"
        assert torch.nn.Parameter(torch.ones(2)).shape_text() == "(2,)" and repr(torch.ones(3)) == "<(3,)>"
        assert torch.ones(2).logcumsumexp(0) is not None and torch.ones(2).cumsum(0) == "patched"        # of the same family
    finally:
        torch.Tensor.__repr__, torch.Tensor.cumsum = before
        del torch.Tensor.shape_text
    assert not hasattr(torch.ones(1), "shape_text") and torch.ones(2).cumsum(0).tolist() == [1, 2]


def test_dtypes_that_no_tensor_has():
    assert repr(torch.uint16) == "torch.uint16" and pickle.loads(pickle.dumps(torch.float8_e5m2)) is torch.float8_e5m2
    assert torch.float8_e4m3fn.is_floating_point and torch.finfo(torch.float8_e4m3fn).max == 448 and torch.iinfo(torch.uint16).max == 65535
    assert {torch.uint16: 1}.get(torch.int16) is None and not torch.uint32.is_signed and torch.complex32.is_complex
    x = torch.ones(2)
    for call in (lambda: torch.zeros(2, dtype=torch.uint16), lambda: x.to(torch.uint32), lambda: torch.arange(3, dtype=torch.float8_e5m2),
                 lambda: torch.tensor([1], dtype=torch.uint64), lambda: x.sum(dtype=torch.uint16), lambda: x.view(torch.uint32),
                 lambda: torch.eye(2, dtype=torch.uint16), lambda: torch.promote_types(torch.uint16, torch.uint8), lambda: torch.randn(2, dtype=torch.chalf),
                 lambda: torch.full((2,), 1, dtype=torch.uint16), lambda: torch.set_default_dtype(torch.float8_e5m2)):
        with pytest.raises(NotImplementedError, match="no tensors of this dtype"):
            call()


def test_marks_for_compilers_and_exporters():
    assert not isinstance(torch.ones(1), fx.Proxy)
    assert dynamo.disable(len) is len and dynamo.disable()(len) is len and not dynamo.is_compiling()
    with dynamo.config.patch(suppress_errors=True):
        assert dynamo.config.suppress_errors
    with dynamo.config.patch({"made_up": 1}):
        assert dynamo.config.made_up == 1
    assert not hasattr(dynamo.config, "made_up") and not dynamo.config.suppress_errors
    assert jit.annotations.BroadcastingList2[int] is int and jit._overload(len) is len
    assert onnx.symbolic_helper.parse_args("v")(len) is len and onnx.register_custom_op_symbolic("a::b", len, 11) is None
    assert quantization.QuantStub()(3) == 3
    with pytest.raises(AttributeError, match="no quantized dtypes"):
        quantization.prepare
    with pytest.raises(OSError, match="compiled for PyTorch"):
        torch.ops.load_library("x.so")
    assert torch._C.DispatchKeySet(torch._C.DispatchKey.CPU) | torch._C.DispatchKeySet("CUDA") == {"CPU", "CUDA"}


def test_checks():
    torch._check(True)
    torch._assert(torch.tensor(True), "x")
    for kind, name in ((RuntimeError, "_check"), (IndexError, "_check_index"), (ValueError, "_check_value"), (TypeError, "_check_type")):
        with pytest.raises(kind, match="because"):
            getattr(torch, name)(False, lambda: "because")
    with pytest.raises(TypeError):
        torch._check(1)
    with pytest.raises(AssertionError, match="x"):
        torch._assert(False, "x")
