"""Ready parametrizations: weight and spectral normalization, orthogonal matrices."""
import fasttensor as ft

from ..functional import normalize
from ..module import Module
from . import parametrize
from .weight_norm import norm_except_dim


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Learn a weight's length (`original0`) and direction (`original1`) apart: Salimans and Kingma, 2016.

    >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
    >>> m.parametrizations.weight.original0.shape
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_first_form(state_dict, prefix, *rest):
        # States of utils.weight_norm store the parts as weight_g and weight_v.
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state_dict and v in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v)

    module._register_load_state_dict_pre_hook(from_first_form)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        n = weight.ndim
        if dim >= n or dim < -n:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim if dim >= 0 else dim + n, eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            h, w = matrix.size()
            u, v = matrix.new_empty(h).normal_(0, 1), matrix.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix, steps):
        with ft.no_grad():
            for _ in range(steps):
                self._u.copy_(normalize(ft.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(ft.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / ft.vdot(u, ft.mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value: Miyato et al., 2018.

    >>> m = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 40)).eval()
    >>> float(torch.linalg.matrix_norm(m.weight, 2)) < 1.2
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, ft.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


def _is_orthogonal(q, eps=None):
    n, k = q.size(-2), q.size(-1)
    identity = ft.eye(k, dtype=q.dtype, device=q.device)
    eps = 10.0 * n * ft.finfo(q.dtype).eps if eps is None else eps
    return bool(ft.allclose(q.mT.conj() @ q, identity, atol=eps))


def _make_orthogonal(a):
    x, tau = ft.geqrf(a)
    q = ft.linalg.householder_product(x, tau)
    # The signs of R's diagonal make Q unique.
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        n, k = x.size(-2), x.size(-1)
        transposed = n < k
        if transposed:
            x, n, k = x.mT, k, n
        if self.orthogonal_map in ("matrix_exp", "cayley"):
            x = x.tril()
            if n != k:
                x = ft.cat([x, x.new_zeros((*x.shape[:-2], n, n - k))], -1)
            a = x - x.mH
            if self.orthogonal_map == "matrix_exp":
                q = ft.matrix_exp(a)
            else:
                identity = ft.eye(n, dtype=a.dtype, device=a.device)
                q = ft.linalg.solve(identity - a / 2, identity + a / 2)
            if n != k:
                q = q[..., :k]
        else:
            a = x.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = ft.linalg.householder_product(a, tau)
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        if getattr(self, "base", None) is not None:
            q = self.base @ q
        return q.mT if transposed else q

    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.")
        start = q
        n, k = q.size(-2), q.size(-1)
        transposed = n < k
        if transposed:
            q, n, k = q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                          "parametrizations when use_trivialization=False.")
            a, tau = ft.geqrf(q)
            a.diagonal(dim1=-2, dim2=-1).sign_()
            # Columns whose reflector is the identity keep a sign of one.
            a.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
            return a.mT if transposed else a
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            extra = ft.randn(*q.size()[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(ft.cat([q, extra], -1))
        self.base = q
        # The identity on the diagonal is where the maps start from.
        neg = ft.zeros_like(start)
        neg.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return neg


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix (or batch of matrices) orthogonal: Lezcano-Casado, 2019.

    `orthogonal_map`: matrix_exp, cayley or householder.

    >>> m = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
    >>> torch.allclose(m.weight @ m.weight.T, torch.eye(4), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, ft.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                         f"Got: {orthogonal_map}")
    orth = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, orth, unsafe=True)
    return module
