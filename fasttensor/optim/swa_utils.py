"""Averages of a model's weights over training (Izmailov et al. 2018, arXiv:1803.05407)."""
import itertools
import math
from copy import deepcopy

import fasttensor as torch
from fasttensor.nn import Module

from ._schedule import LRScheduler, per_group

__all__ = ["AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn",
           "get_swa_avg_fn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay=0.999):
    """The function (average, current, count) -> decay * average + (1 - decay) * current.

    >>> torch.optim.swa_utils.get_ema_avg_fn()(torch.tensor(1.), torch.tensor(3.), 1)
    tensor(1.0020)
    """
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with torch.no_grad():
            return ema_param * decay + current_param * (1 - decay)
    return ema_update


def get_swa_avg_fn():
    """The function (average, current, count) -> the mean of count + 1 values.

    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.tensor(1.), torch.tensor(3.), torch.tensor(1))
    tensor(2.)
    """
    def swa_update(averaged_param, current_param, num_averaged):
        with torch.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def _in_place(average):
    def update(averages, currents, num_averaged):
        with torch.no_grad():
            for mean, current in zip(averages, currents):
                mean.copy_(average(mean, current, num_averaged))
    return update


def get_ema_multi_avg_fn(decay=0.999):
    """As `get_ema_avg_fn`, but for lists: (averages, currents, count) changes the averages in place.

    >>> averages = [torch.tensor(1.)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn()(averages, [torch.tensor(3.)], 1)
    >>> averages
    [tensor(1.0020)]
    """
    return _in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """As `get_swa_avg_fn`, but for lists: (averages, currents, count) changes the averages in place.

    >>> averages = [torch.tensor(1.)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.tensor(3.)], 1)
    >>> averages
    [tensor(2.)]
    """
    return _in_place(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of `model` whose parameters are averages of those that `update_parameters` was given.

    Args:
        model: the Module to copy.
        device: where to keep the copy.
        avg_fn: (average, current, count) -> new average of one parameter; the plain mean by default.
        multi_avg_fn: instead, (averages, currents, count), in place. ValueError if both are given.
        use_buffers: averages the buffers too, which are otherwise copied.

    >>> import fasttensor as torch
    >>> net = torch.nn.Linear(2, 1)
    >>> mean = torch.optim.swa_utils.AveragedModel(net)
    >>> mean.update_parameters(net)
    >>> int(mean.n_averaged)
    1
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """Calls the averaged copy."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the parameters of `model` into the averages."""
        def tensors(module):
            return itertools.chain(module.parameters(), module.buffers() if self.use_buffers else ())

        averages, currents = [], []
        for mean, current in zip(tensors(self.module), tensors(model)):
            averages.append(mean.detach())
            currents.append(current.detach().to(mean.device))
        with torch.no_grad():
            if self.n_averaged == 0:
                for mean, current in zip(averages, currents):
                    mean.copy_(current)
            else:
                count = self.n_averaged
                update = self.multi_avg_fn or _in_place(self.avg_fn or get_swa_avg_fn())
                update(averages, currents, count)
            if not self.use_buffers:
                for mean, current in zip(self.module.buffers(), model.buffers()):
                    mean.detach().copy_(current.detach().to(mean.device))
            self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Computes the running statistics of the model's batch norms anew, in one pass over `loader`.

    Args:
        loader: yields inputs, or tuples or lists whose first entry is the input.
        model: its mode is the same afterwards.
        device: where inputs are moved to.

    >>> model = nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.], [3.]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and hasattr(m, "reset_running_stats")
             and "BatchNorm" in "".join(c.__name__ for c in type(m).__mro__)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None        # a cumulative mean: every batch counts the same
    try:
        with torch.no_grad():
            for batch in loader:
                if isinstance(batch, (list, tuple)):
                    batch = batch[0]
                model(batch if device is None else batch.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Moves the rate from where it is to the constant `swa_lr` in `anneal_epochs` epochs.

    Args:
        swa_lr: a float, or a list with one a group.
        anneal_epochs: an integer, at least 0.
        anneal_strategy: "cos" or "linear".

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.swa_utils.SWALR(opt, swa_lr=0.5, anneal_epochs=2, anneal_strategy='linear')
    >>> opt.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step):
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        self._check_called_by_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, goal = group["lr"], group["swa_lr"]
            start = goal if before == 1 else (lr - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
