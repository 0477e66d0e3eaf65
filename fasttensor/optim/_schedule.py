"""The base class of learning-rate schedules."""
import types
import warnings

import fasttensor as torch

from .optimizer import Optimizer, to_scalar

EPOCH_WARNING = ("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
                 "Please use `scheduler.step()` to step the scheduler.")


def per_group(name, optimizer, value):
    """One value for each parameter group, from one value or a list of that length."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(f"{name} must have the same length as optimizer.param_groups. "
                             f"{name} has {len(value)} values, param_groups has {count}.")
    else:
        value = [value] * count
    return [_own(v) for v in value]


def _own(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def group_values(optimizer, key):
    return [_own(group[key]) for group in optimizer.param_groups]


def set_group_value(group, key, value):
    """A Tensor learning rate is changed in place: a captured or traced step reads it."""
    if isinstance(group[key], torch.Tensor):
        group[key].fill_(to_scalar(value))
    else:
        group[key] = value


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of learning-rate schedules.

    A subclass writes `get_lr()`, which returns the new rates from `last_epoch`, `base_lrs` and the
    optimizer's present rates. Making a schedule performs its first step, to epoch 0.

    Args:
        optimizer: the Optimizer whose groups' "lr" are set; TypeError for anything else.
        last_epoch: index of the last epoch when training is resumed; KeyError if the groups then
            lack "initial_lr".

    >>> import fasttensor as torch
    >>> opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for epoch in range(4):
    ...     opt.step(); schedule.step(); rates.append(schedule.get_last_lr()[0])
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler "
                               "with last_epoch >= 0. Load the optimizer's state_dict first, or start at -1.")
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer, as a dict."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates set by the last step, one a parameter group."""
        return self._last_lr

    def get_lr(self):
        """The rates of `last_epoch`, to be called by `step` only."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Advances to the next epoch (or to `epoch`, which is deprecated) and sets the rates."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call `optimizer.step()` "
                          "first: otherwise the first value of the learning rate schedule is skipped.",
                          UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        if epoch is None:
            self.last_epoch += 1
            values = self._call_get_lr(self.get_lr)
        else:
            self.last_epoch = epoch
            values = self._call_get_lr(getattr(self, "_get_closed_form_lr", self.get_lr))
        self._set(values)

    def _call_get_lr(self, function):
        self._get_lr_called_within_step = True
        try:
            return function()
        finally:
            self._get_lr_called_within_step = False

    def _set(self, values):
        for group, lr in zip(self.optimizer.param_groups, values):
            set_group_value(group, "lr", lr)
        self._last_lr = group_values(self.optimizer, "lr")

    # ---- what most get_lr need

    def _check_called_by_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)

    def _unchanged(self):
        return group_values(self.optimizer, "lr")

    def _scaled(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def function_state(function):
    """What state_dict keeps of a callable: the attributes of an object, None for a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
