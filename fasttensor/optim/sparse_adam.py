"""Adam for sparse gradients, which do not exist here."""
import fasttensor as torch

from .optimizer import Optimizer, check_betas

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """PyTorch's Adam for sparse gradients; here it can be made, but its `step` always raises.

    fasttensor has strided Tensors only, so that no gradient is sparse. Use `Adam`: with a dense
    gradient it makes the same steps where the gradient is not zero. Raises ValueError for `lr` or `eps` that are not positive.

    >>> torch.optim.SparseAdam([torch.ones(2, requires_grad=True)], lr=0.01).param_groups[0]["lr"]
    0.01
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [[i, k] for i, group in enumerate(self.param_groups) for k, p in enumerate(group["params"]) if p.is_complex()]
        if places:
            raise ValueError(f"Complex params at indices {places}: SparseAdam does not support complex parameters")

    def step(self, closure=None):
        """Raises RuntimeError as soon as a parameter has a gradient, which is dense."""
        loss = closure() if closure is not None else None
        if any(p.grad is not None for group in self.param_groups for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
