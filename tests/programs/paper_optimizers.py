"""Optimizers from papers, written on torch.optim.Optimizer: Lion, LAMB, Lookahead, SAM, AdaBound."""
import math
from collections import defaultdict

import torch
import torch.nn as nn
from common import digits
from torch.optim.optimizer import Optimizer, required


class Lion(Optimizer):
    """Chen et al., 2023."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                beta1, beta2 = group["betas"]
                update = exp_avg * beta1 + grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


class Lamb(Optimizer):
    """You et al., 2020."""

    def __init__(self, params, lr=required, betas=(0.9, 0.999), eps=1e-6, weight_decay=0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                if grad.is_sparse:
                    raise RuntimeError("Lamb does not support sparse gradients, consider SparseAdam instead.")
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p.data)
                    state["exp_avg_sq"] = torch.zeros_like(p.data)
                exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
                beta1, beta2 = group["betas"]
                state["step"] += 1
                exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                weight_norm = p.data.pow(2).sum().sqrt().clamp(0, 10)
                adam_step = exp_avg / exp_avg_sq.sqrt().add(group["eps"])
                if group["weight_decay"] != 0:
                    adam_step.add_(p.data, alpha=group["weight_decay"])
                adam_norm = adam_step.pow(2).sum().sqrt()
                trust_ratio = 1 if weight_norm == 0 or adam_norm == 0 else weight_norm / adam_norm
                p.data.add_(adam_step * trust_ratio, alpha=-group["lr"])
        return loss


class Lookahead(Optimizer):
    """Zhang et al., 2019: wraps another optimizer."""

    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups = self.optimizer.param_groups
        self.defaults = optimizer.defaults
        self.state = defaultdict(dict)
        for group in self.param_groups:
            group["counter"] = 0

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        for group in self.param_groups:
            group["counter"] += 1
            if group["counter"] % self.k == 0:
                for fast in group["params"]:
                    param_state = self.state[fast]
                    if "slow_param" not in param_state:
                        param_state["slow_param"] = torch.zeros_like(fast.data)
                        param_state["slow_param"].copy_(fast.data)
                    slow = param_state["slow_param"]
                    slow += (fast.data - slow) * self.alpha
                    fast.data.copy_(slow)
        return loss

    def zero_grad(self, set_to_none=True):
        self.optimizer.zero_grad(set_to_none)

    def state_dict(self):
        return self.optimizer.state_dict()


class SAM(Optimizer):
    """Foret et al., 2021."""

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        defaults = dict(rho=rho, adaptive=adaptive, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                e_w = (torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p)
                p.add_(e_w)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        loss = closure()
        self.first_step(zero_grad=True)
        closure()
        self.second_step()
        return loss

    def _grad_norm(self):
        shared_device = self.param_groups[0]["params"][0].device
        return torch.norm(torch.stack([
            ((torch.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2).to(shared_device)
            for group in self.param_groups for p in group["params"] if p.grad is not None]), p=2)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups


class AdaBound(Optimizer):
    """Luo et al., 2019."""

    def __init__(self, params, lr=1e-3, final_lr=0.1, gamma=1e-3, eps=1e-8):
        super().__init__(params, dict(lr=lr, final_lr=final_lr, gamma=gamma, eps=eps))
        self.base_lrs = list(map(lambda group: group["lr"], self.param_groups))

    def __setstate__(self, state):
        super().__setstate__(state)

    def step(self, closure=None):
        for group, base_lr in zip(self.param_groups, self.base_lrs):
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["step"], state["m"], state["v"] = 0, torch.zeros_like(p.data, memory_format=torch.preserve_format), torch.zeros_like(p.data)
                state["step"] += 1
                state["m"].lerp_(p.grad, 0.1)
                state["v"].mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                denom = state["v"].sqrt().add_(group["eps"])
                final_lr = group["final_lr"] * group["lr"] / base_lr
                lower = final_lr * (1 - 1 / (group["gamma"] * state["step"] + 1))
                upper = final_lr * (1 + 1 / (group["gamma"] * state["step"]))
                step_size = group["lr"] * math.sqrt(1 - 0.999 ** state["step"]) / (1 - 0.9 ** state["step"])
                step_size = torch.full_like(denom, step_size).div_(denom).clamp_(lower, upper).mul_(state["m"])
                p.data.add_(-step_size)


x, y = digits(300)
makers = {
    "lion": lambda p: Lion(p, lr=1e-3, weight_decay=0.01), "lamb": lambda p: Lamb(p, lr=2e-2, weight_decay=0.01),
    "lookahead": lambda p: Lookahead(torch.optim.SGD(p, lr=0.1, momentum=0.9)), "sam": lambda p: SAM(p, torch.optim.SGD, lr=0.1, momentum=0.9),
    "asam": lambda p: SAM(p, torch.optim.SGD, rho=0.5, adaptive=True, lr=0.1), "adabound": lambda p: AdaBound(p),
}
for name, make in makers.items():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = make(model.parameters())
    schedule = None if name == "lookahead" else torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    for _ in range(12):
        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss
        if "sam" in name:
            loss = optimizer.step(closure)
        else:
            loss = closure()
            optimizer.step()
        if schedule:
            schedule.step()
    kept = optimizer.state_dict()
    optimizer.load_state_dict(kept) if name != "lookahead" else None
    print(f"{name} loss {loss.item():.5f} {len(kept['state'])} lr {optimizer.param_groups[0]['lr']:.6f}")
