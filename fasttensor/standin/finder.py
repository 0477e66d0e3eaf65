"""Import hooks: which module of fasttensor answers to a module name of PyTorch, and what a missing name says."""
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

__all__ = ["COVERAGE", "Missing", "Names"]

COVERAGE = "docs/coverage.md lists what of PyTorch is here and what is not"

# Modules of PyTorch whose contents are in another place here.
PLACES = {
    "functorch": "fasttensor.standin.functorch_package",
    "functorch.experimental": "fasttensor.func",
    "torch._C._functorch": "fasttensor.standin.functorch_core",
    "torch._C._nn": "fasttensor.standin.compiled_nn",
    "torch._custom_ops": "fasttensor.library",
    "torch._dynamo": "fasttensor.standin.dynamo",
    "torch._dynamo._trace_wrapped_higher_order_op": "fasttensor.standin.dynamo",
    "torch._dynamo.config": "fasttensor.standin.dynamo",
    "torch._dynamo.eval_frame": "fasttensor.standin.dynamo",
    "torch._dynamo.utils": "fasttensor.standin.dynamo",
    "torch._functorch": "fasttensor.standin.functorch",
    "torch._functorch.make_functional": "fasttensor.standin.functorch_package",
    "torch._functorch.vmap": "fasttensor.func.vmap",
    "torch._lobpcg": "fasttensor.functional.matrix_functions",
    "torch._lowrank": "fasttensor.functional",
    "torch._library.custom_ops": "fasttensor.library",
    "torch._subclasses": "fasttensor.standin.fake_tensor",
    "torch._subclasses.fake_tensor": "fasttensor.standin.fake_tensor",
    "torch._tensor": "fasttensor._core.tensor",
    "torch._tensor_str": "fasttensor.standin.tensor_text",
    "torch._utils": "fasttensor.standin.dense",
    "torch._vmap_internals": "fasttensor.func.vmap",
    "torch.autograd.anomaly_mode": "fasttensor.autograd.anomaly",
    "torch.autograd.gradcheck": "fasttensor.autograd.numeric_check",
    "torch.autograd.variable": "fasttensor.autograd.function",
    "torch.distributed._composable": "fasttensor.distributed.fsdp",
    "torch.distributed._composable.fsdp": "fasttensor.distributed.fsdp",
    "torch.distributed._tensor": "fasttensor.distributed.tensor",
    "torch.distributed._tensor.experimental": "fasttensor.distributed.tensor",
    "torch.distributed.elastic": "fasttensor.standin.elastic_errors",
    "torch.distributed.elastic.multiprocessing": "fasttensor.standin.elastic_errors",
    "torch.distributed.elastic.multiprocessing.errors": "fasttensor.standin.elastic_errors",
    "torch.distributed.fsdp.fully_sharded_data_parallel": "fasttensor.distributed.fsdp",
    "torch.distributed.tensor.experimental": "fasttensor.distributed.tensor",
    "torch.nn.modules._functions": "fasttensor.nn.functional",
    "torch.nn.parallel.data_parallel": "fasttensor.nn.parallel",
    "torch.nn.parallel.distributed": "fasttensor.nn.parallel",
    "torch.nn.parallel.scatter_gather": "fasttensor.nn.parallel",
    "torch.optim._functional": "fasttensor.optim",
    "torch.signal.windows.windows": "fasttensor.signal.windows",
    "torch.utils.data._utils": "fasttensor.utils.data",
    "torch.utils.data._utils.collate": "fasttensor.utils.data.collate",
    "torch.utils.data._utils.pin_memory": "fasttensor.utils.data.pinning",
    "torch.utils.data._utils.worker": "fasttensor.utils.data.workers",
}


def _asked_by(names):
    """Whether the import system's frames above the finder's caller include one of these functions."""
    frame = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        if frame.f_code.co_name in names:
            return True
        frame = frame.f_back
    return False


class Names:
    """Finds ``torch`` and everything below it in fasttensor."""

    def find_spec(self, fullname, path=None, target=None):
        """A spec whose loading puts fasttensor's module under `fullname`; ModuleNotFoundError where there is none."""
        if fullname != "torch" and not fullname.startswith("torch.") and not (fullname.startswith("functorch") and fullname in PLACES):
            return None
        found = _ours(fullname)
        if found is not None:
            return ModuleSpec(fullname, _Given(found), is_package=True)
        if _asked_by(("_handle_fromlist",)):
            raise _no_name(*fullname.rpartition(".")[::2])
        if _asked_by(("_find_and_load_unlocked",)):
            raise ModuleNotFoundError(f"No module named {fullname!r}: fasttensor does not have it ({COVERAGE})", name=fullname)
        return None         # importlib.util.find_spec only asks

    def find_distributions(self, context=None):
        """What importlib.metadata knows of the package "torch": its version."""
        if context is None or context.name in (None, "torch"):
            from .distribution import Distribution
            yield Distribution()


def _no_name(module, name):
    """What a `from` import of a name that nobody has raises."""
    full = f"{module}.{name}"
    return ImportError(f"cannot import name {name!r} from {module!r}: fasttensor does not have {full} ({COVERAGE})", name=full)


def _ours(fullname):
    """The module or object of fasttensor for a module name of PyTorch, or None."""
    place = PLACES.get(fullname, "fasttensor" + fullname[len("torch"):])
    try:
        if find_spec(place) is not None:
            return import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not place.startswith(error.name):
            raise
    except ValueError:
        pass                # in sys.modules without a spec
    # Some modules of PyTorch are objects here: torch.backends.cudnn.
    parent, _, name = place.rpartition(".")
    return getattr(_ours("torch" + parent[len("fasttensor"):]), name, None) if parent else None


class _Given:
    """A loader of what exists."""

    def __init__(self, module):
        self.module = module

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        # A module with a path, even an empty one, is asked for the names that a `from` import misses: see Missing.
        if isinstance(self.module, ModuleType) and not hasattr(self.module, "__path__"):
            self.module.__path__ = []
        # The import system returns what stands in sys.modules afterwards.
        sys.modules[module.__spec__.name] = self.module


class Missing:
    """The last finder: says what ``from torch.nn import ...`` lacks, in PyTorch's terms."""

    def find_spec(self, fullname, path=None, target=None):
        """None, or ImportError while a `from` import of a name that nobody has is under way."""
        if fullname.startswith("fasttensor.") and _asked_by(("_handle_fromlist",)):
            parent, _, name = fullname.rpartition(".")
            raise _no_name("torch" + parent[len("fasttensor"):], name)
        return None
