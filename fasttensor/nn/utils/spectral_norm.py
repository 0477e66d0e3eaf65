"""Spectral normalization in its first form, on a module's attributes."""
import fasttensor as ft

from ..functional import normalize
from ..parameter import Parameter, is_lazy


class SpectralNorm:
    """The hook that divides a weight by its largest singular value before each call: Miyato et al., 2018."""

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight):
        """The weight as a matrix with dimension `dim` first."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module, do_power_iteration):
        """The divided weight, after steps of power iteration on the stored vectors."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with ft.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(ft.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(ft.mv(matrix, v), dim=0, eps=self.eps))
                # Copies, so that the next iteration does not change what the backward pass needs.
                u, v = u.clone(), v.clone()
        return weight / ft.dot(u, ft.mv(matrix, v))

    def remove(self, module):
        """Make the divided weight a plain parameter."""
        with ft.no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Put a weight of a module under spectral normalization."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the "
                             "dummy forward before applying spectral normalization")
        with ft.no_grad():
            matrix = fn.reshape_weight_to_matrix(weight)
            h, w = matrix.size()
            u = normalize(weight.new_empty(h).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(w).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A plain attribute: it is computed anew before each call.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(fn))
        return fn


class SpectralNormStateDictHook:
    """Notes in a state_dict's metadata how its spectral norm is stored."""

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata):
        local_metadata.setdefault("spectral_norm", {})[self.fn.name + ".version"] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Gives a state_dict of the first version, which held the divided weight W' = W / sigma in place of v, its v.

    With sigma = u . W v and v along W's pseudoinverse times u.
    """

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        name = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version")
        if (version or 0) >= 1 or name not in state_dict or name + "_v" in state_dict:
            return
        absent = [name + end for end in ("_orig", "_u") if name + end not in state_dict]
        if absent:
            missing_keys += absent if strict else []
            return
        with ft.no_grad():
            weight, u = state_dict[name + "_orig"], state_dict[name + "_u"]
            sigma = (weight / state_dict.pop(name)).mean()
            matrix = self.fn.reshape_weight_to_matrix(weight)
            v = ft.mv(ft.linalg.pinv(matrix), u)
            state_dict[name + "_v"] = v * (sigma / ft.dot(u, ft.mv(matrix, v)))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, kept track of by power iteration.

    >>> m = nn.utils.spectral_norm(nn.Linear(20, 40))
    >>> m.weight_u.size()
    torch.Size([40])
    """
    if dim is None:
        name_of = type(module).__name__
        dim = 1 if name_of.startswith("ConvTranspose") else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Undo `spectral_norm`; ValueError where there is none.

    Returns the module.

    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3)))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
