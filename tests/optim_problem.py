"""The problem that the optimizers' tests descend."""
import fasttensor as torch


def start(dtype=torch.float64):
    return torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], dtype=dtype, requires_grad=True)


def descend(optimizer, w, steps=8):
    goal = torch.tensor([1.5, 0.0, -1.0], dtype=torch.float64).to(w.dtype)
    weight = torch.tensor([[0.3], [0.7]], dtype=torch.float64).to(w.dtype)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((w - goal) ** 2 * weight).sum()
        (loss.real if loss.is_complex() else loss).backward()
        optimizer.step()
    return w
