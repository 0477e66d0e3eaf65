"""Modules whose sizes the first input decides."""
import warnings

import fasttensor as ft

from ..parameter import is_lazy


class LazyModuleMixin:
    """Put before a Module class: its first call sets the shapes, then turns it into `cls_to_become`.

    A subclass makes UninitializedParameters in `__init__` and defines
    `initialize_parameters(*inputs)`, which materializes them.
    """
    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self, state_dict, prefix, *rest):
        for name, mine in (*self._parameters.items(), *self._buffers.items()):
            key = prefix + name
            if key in state_dict and mine is not None and is_lazy(mine) and not is_lazy(state_dict[key]):
                with ft.no_grad():
                    self._give_shape(name, state_dict[key].shape)

    def _give_shape(self, name, shape, **options):
        """Materialize the parameter or buffer called `name`."""
        if name in self._parameters:
            self._parameters[name].materialize(shape, **options)
        else:
            old = self._buffers[name]
            self._buffers[name] = ft.empty(shape, device=options.get("device") or old.device,
                                           dtype=options.get("dtype") or old.dtype)

    def has_uninitialized_params(self):
        """Whether a parameter or buffer still has no shape."""
        return any(v is not None and is_lazy(v) for v in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *args, **kwargs):
        """Materialize the parameters from the inputs of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DataParallel`. "
                           "Run a dummy forward pass to correctly initialize the modules")


def warn_lazy():
    """PyTorch's notice that lazy modules may change."""
    warnings.warn("Lazy modules are a new feature under heavy development so changes to the API or functionality "
                  "can happen at any moment.", stacklevel=3)
