"""Pruning: masks that keep parameters at zero."""
import fasttensor as ft

from .prune_methods import (  # noqa: F401  PyTorch keeps them in this module
    BasePruningMethod, CustomFromMask, Identity, L1Unstructured, LnStructured, PruningContainer, RandomStructured,
    RandomUnstructured, _structured)


def identity(module, name):
    """Put a parameter under pruning without pruning anything.

    Returns the module, with `name`_orig and `name`_mask.

    >>> sorted(nn.utils.prune.identity(nn.Linear(4, 2), 'weight').state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune elements at random: a number, or a fraction of all.

    >>> m = nn.utils.prune.random_unstructured(nn.Linear(2, 3), "weight", amount=1)
    >>> int((m.weight_mask == 0).sum())
    1
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements of least magnitude (or score).

    Returns the module. `amount` is a number of elements, or a fraction in [0, 1] (ValueError otherwise).
    `importance_scores` has the parameter's shape.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 2), 'weight', 0.5)
    >>> (layer.weight == 0).sum()
    tensor(4)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune whole slices of dimension `dim` at random.

    Returns the module. `amount` is a number of slices, or a fraction in [0, 1] (ValueError otherwise).

    >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 2), 'weight', 1, dim=1)
    >>> (layer.weight == 0).sum()
    tensor(2)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the slices of dimension `dim` of least n-norm.

    Returns the module. `amount` is a number of slices, or a fraction in [0, 1] (ValueError otherwise).

    >>> layer = nn.utils.prune.ln_structured(nn.Linear(4, 2), 'weight', 1, n=2, dim=0)
    >>> (layer.weight == 0).sum(1).max()
    tensor(4)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune by a given mask.

    Returns the module; the mask has the parameter's shape.

    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(2, 1), 'bias', torch.tensor([0]))
    >>> layer.bias.data
    tensor([-0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune (module, name) pairs together, as if they were one tensor.

    `pruning_method` is an unstructured class (TypeError otherwise), given `kwargs`; `importance_scores` maps pairs to scores.

    >>> layers = nn.Linear(4, 2), nn.Linear(2, 2)
    >>> nn.utils.prune.global_unstructured([(l, 'weight') for l in layers], nn.utils.prune.L1Unstructured, amount=5)
    >>> sum(int((l.weight == 0).sum()) for l in layers)
    5
    """
    if not hasattr(parameters, "__iter__"):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    flat_scores = ft.cat([scores.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in parameters])
    masks = ft.cat([getattr(m, n + "_mask", ft.ones_like(getattr(m, n))).reshape(-1) for m, n in parameters])
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    final = container.compute_mask(flat_scores, masks)
    start = 0
    for m, n in parameters:
        p = getattr(m, n)
        custom_from_mask(m, n, mask=final[start:start + p.numel()].view_as(p))
        start += p.numel()


def remove(module, name):
    """Make the pruned tensor a plain parameter; ValueError where there is no pruning.

    Returns the module; the parameter keeps its zeros.

    >>> layer = nn.utils.prune.remove(nn.utils.prune.l1_unstructured(nn.Linear(4, 2), 'weight', 3), 'weight')
    >>> sorted(layer.state_dict()), int((layer.weight == 0).sum())
    (['bias', 'weight'], 3)
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    """Whether a module below this one, or it, is pruned.

    >>> nn.utils.prune.is_pruned(nn.utils.prune.identity(nn.Linear(4, 2), 'weight')), nn.utils.prune.is_pruned(nn.Linear(4, 2))
    (True, False)
    """
    return any(isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values())
