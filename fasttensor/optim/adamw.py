"""Adam with decoupled weight decay."""
from .adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101): p is first scaled by 1 - lr * weight_decay.

    Arguments and errors are those of `Adam`; `weight_decay` is 0.01 by default.

    >>> import fasttensor as torch
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> opt = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> w.sum().backward(); opt.step(); [round(v, 4) for v in w.tolist()]
    [0.85, 0.85]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=True)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
