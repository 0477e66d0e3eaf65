"""Schedules made of schedules, and the one that watches a metric."""
import math
import warnings
from bisect import bisect_right

from ._schedule import EPOCH_WARNING, LRScheduler, check_optimizer, group_values, set_group_value


class _Composed(LRScheduler):
    """Holds `_schedulers`, all of one optimizer."""

    def _check(self, schedulers, optimizer):
        name = type(self).__name__
        for i, part in enumerate(schedulers):
            if not hasattr(part, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(part, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                                 "kwargs to be specified when calling `step`, but got one at index "
                                 f"{i} in the given schedulers sequence.")
            if optimizer is not part.optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(part).__name__} at index {i} has {part.optimizer}, "
                                 f"which is different from {type(optimizer).__name__}.")

    def state_dict(self):
        """As in `LRScheduler`, with a state_dict of each part in "_schedulers"."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [part.state_dict() for part in self._schedulers]
        return state

    def load_state_dict(self, state_dict):
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for part, saved in zip(self._schedulers, state_dict["_schedulers"]):
            part.load_state_dict(saved)


class SequentialLR(_Composed):
    """One schedule after another: `schedulers[i + 1]` starts at epoch `milestones[i]`.

    ValueError where the schedules have different optimizers, or their number is not that of the
    milestones plus one.

    >>> import fasttensor as torch
    >>> opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> part = torch.optim.lr_scheduler
    >>> schedule = part.SequentialLR(opt, [part.ConstantLR(opt, 0.5, 9), part.ExponentialLR(opt, 0.5)], [2])
    >>> rates = []
    >>> for epoch in range(4):
    ...     opt.step(); rates.append(schedule.get_last_lr()[0]); schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the "
                             f"number of milestone points, but got number of schedulers {len(schedulers)} and the "
                             f"number of milestones to be equal to {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Making the parts made each of them set its first rate: undo that, then let the first one begin.
        for group in optimizer.param_groups:
            set_group_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched=None):
        """Takes every part's first step back."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for part in sched._schedulers:
                self.recursive_undo(part)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self):
        """Steps the part whose turn it is; at a milestone the next one starts from its epoch 0."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        part = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            part._update_lr(0)
        else:
            part.step()
        self._last_lr = part.get_last_lr()


class ChainedScheduler(_Composed):
    """Steps several schedules together; each scales what the one before it set.

    The schedulers are of one optimizer (ValueError otherwise, or for none).

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> L = torch.optim.lr_scheduler
    >>> schedule = L.ChainedScheduler([L.ExponentialLR(opt, 0.5), L.StepLR(opt, 1, 0.1)])
    >>> opt.step()
    >>> schedule.step()
    >>> [round(rate, 4) for rate in schedule.get_last_lr()]
    [0.05]
    """

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, "
                             "but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = group_values(optimizer, "lr")

    def step(self):
        """Steps every part in order."""
        for part in self._schedulers:
            part.step()
        self._last_lr = group_values(self.optimizer, "lr")


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a metric has not improved for more than `patience` epochs.

    Args:
        mode: "min" or "max", which is better.
        factor: below 1, else ValueError.
        patience: epochs without improvement that are allowed.
        threshold, threshold_mode: how much better counts, relative ("rel") or absolute ("abs").
        cooldown: epochs to wait after a reduction.
        min_lr: a float, or a list with one a group.
        eps: smaller changes are not made.

    >>> import fasttensor as torch
    >>> opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    >>> for loss in (1.0, 1.0, 1.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel",
                 cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.factor = factor
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * count
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = group_values(optimizer, "lr")
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._reset()

    def _reset(self):
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether the epochs after a reduction are still being waited out."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Looks at this epoch's metric, a number or one-element Tensor."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = group_values(self.optimizer, "lr")

    def _reduce_lr(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_group_value(group, "lr", new)

    def _is_better(self, a, best):
        # As in PyTorch, the relative bound of a negative best lies on the worse side of it.
        margin = self.threshold
        if self.threshold_mode == "rel" and math.isfinite(best):
            margin *= best
        return a < best - margin if self.mode == "min" else a > best + margin
