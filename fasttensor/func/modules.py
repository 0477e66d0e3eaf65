"""Modules as functions of their parameters."""

import fasttensor as torch

__all__ = ["functional_call", "stack_module_state", "replace_all_batch_norm_modules_"]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with parameters and buffers of these names in place of its own, which stay as they are.

    parameter_and_buffer_dicts: a dict, or several that share no name.

    >>> import fasttensor as torch
    >>> m = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(m, {"weight": torch.ones(1, 2)}, (torch.ones(2),))
    tensor([2.])
    """
    from fasttensor.nn.utils.stateless import functional_call as call
    return call(module, parameter_and_buffer_dicts, () if args is None else args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """(parameters, buffers) of several modules of one architecture, stacked along dimension 0, for ``vmap``.

    Raises RuntimeError for no models, models of different classes or of different modes.

    >>> import fasttensor as torch
    >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> params["weight"].shape
    torch.Size([3, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {name: _stacked([dict(m.named_parameters())[name] for m in models]) for name, _ in models[0].named_parameters()}
    buffers = {name: _stacked([dict(m.named_buffers())[name] for m in models]) for name, _ in models[0].named_buffers()}
    return params, buffers


def _stacked(tensors):
    wanted = tensors[0].requires_grad
    if any(t.requires_grad != wanted for t in tensors):
        raise RuntimeError("Expected all parameters to have the same requires_grad setting")
    made = torch.stack([t.detach() for t in tensors])
    return made.requires_grad_(wanted) if wanted else made


def replace_all_batch_norm_modules_(root):
    """Give every batch norm of the module tree no running statistics, which ``vmap`` could not update; returns the module.

    >>> net = torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))
    >>> net[0].running_mean is None
    True
    """
    for m in (root, *root.modules()):
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.track_running_stats:
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root


