"""Where PyTorch defines the classes and functions that a saved file names.

Modules here are cut into smaller files than PyTorch's, and a file must say PyTorch's place.
"""
import sys

# Parts of fasttensor whose instances hold what PyTorch's instances hold.
_SHARED = ("nn.", "optim.", "utils.hooks", "distributions.", "amp.grad_scaler", "return_types", "torch_version", "utils.data.dataset",
           "utils.data.sampler", "utils.data.distributed", "utils.data.dataloader", "cpu.generator")
_MOVED = {
    "cpu.generator": "_C",
    "distributions._transform": "distributions.transforms", "distributions._transforms_scalar": "distributions.transforms",
    "distributions._transforms_vector": "distributions.transforms",
    "nn.module": "nn.modules.module", "nn.hooks": "utils.hooks", "nn.parallel": "nn.parallel.data_parallel",
    "nn.modules.adaptive_pooling": "nn.modules.pooling", "nn.modules.attention": "nn.modules.activation",
    "nn.utils.prune_methods": "nn.utils.prune", "nn.modules.activation_smooth": "nn.modules.activation",
    "nn.modules.softmax": "nn.modules.activation", "nn.modules.rnn_cells": "nn.modules.rnn",
    "nn.modules.container_parameters": "nn.modules.container", "nn.modules.loss_margin": "nn.modules.loss",
    "optim._adafactor": "optim", "optim._muon": "optim", "optim._schedule": "optim.lr_scheduler",
    "optim._schedules_compose": "optim.lr_scheduler", "optim._schedules_cyclic": "optim.lr_scheduler",
    "optim._schedules_simple": "optim.lr_scheduler",
}
COLLATING = ("default_collate", "default_convert")
_LAZY = {"LazyBatchNorm": "batchnorm", "LazyConv": "conv", "LazyInstanceNorm": "instancenorm"}


def is_shared(kind):
    """Whether a class is one that files may hold instances of, by where it is defined."""
    return kind.__module__.startswith(tuple("fasttensor." + part for part in _SHARED))


def pytorch_name(obj):
    """(module, name) under which PyTorch knows a class or function of this library, or None: it is the program's own.

    >>> pytorch_name(fasttensor.nn.LSTMCell)
    ('torch.nn.modules.rnn', 'LSTMCell')
    """
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not module.startswith("fasttensor."):
        return None
    if module.startswith("fasttensor.fx.") and name in ("reduce_graph_module", "Tracer", "immutable_list", "immutable_dict", "TensorMetadata"):
        return "torch" + module[len("fasttensor"):], name
    if not isinstance(obj, type):
        return _function_name(obj, name)
    inside = module[len("fasttensor."):]
    if not is_shared(obj):
        return None
    inside = _MOVED.get(inside, inside)
    if name == "_WrappedHook":
        inside = "nn.modules.module"
    if name == "ChannelShuffle":
        inside = "nn.modules.channelshuffle"
    if inside == "nn.modules.lazy_layers":
        inside = "nn.modules." + next((place for start, place in _LAZY.items() if name.startswith(start)), "linear")
    return "torch." + inside, name


def _function_name(function, name):
    """Activations and other functions of tensors, which are attributes of modules, and what a GradScaler makes its state with."""
    if name == "_refresh_per_optimizer_state":
        return "torch.amp.grad_scaler", name
    if name in COLLATING and function.__module__ == "fasttensor.utils.data.collate":
        return "torch.utils.data._utils.collate", name
    for public in ("nn.functional", "nn.init", ""):
        found = sys.modules.get(f"fasttensor.{public}".rstrip("."))
        if found is not None and found.__dict__.get(name) is function:
            return f"torch.{public}".rstrip("."), name
    return None
