"""Schedules that follow one formula."""
import math
from bisect import bisect_right
from collections import Counter

from ._schedule import LRScheduler, function_state


class _FunctionLR(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * count
        if len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        for function in lr_lambda:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """As in `LRScheduler`; of the functions it holds only the attributes of callable objects."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [function_state(f) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        saved = state_dict["lr_lambdas"]
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, saved):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_FunctionLR):
    """The initial rate times lr_lambda(epoch); one function, or a list with one a group.

    Raises ValueError for numbers of functions and groups that differ.

    >>> import fasttensor as torch
    >>> opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5 ** epoch).get_last_lr()
    [1.0]
    """

    def get_lr(self):
        self._check_called_by_step()
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_FunctionLR):
    """The present rate times lr_lambda(epoch), from epoch 1 on.

    `lr_lambda` is one function, or a list with one a group (ValueError for another number, TypeError for no function).

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.MultiplicativeLR(opt, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self):
        self._check_called_by_step()
        if self._is_initial:
            return self._unchanged()
        return [group["lr"] * function(self.last_epoch)
                for function, group in zip(self.lr_lambdas, self.optimizer.param_groups)]


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs.

    Raises TypeError for what is no optimizer.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._unchanged()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each of the epochs in `milestones`.

    An epoch that is listed twice counts twice.

    Raises TypeError for what is no optimizer.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.MultiStepLR(opt, [1, 3])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.1, 0.1, 0.01, 0.01]
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma ** passed for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor`, in [0, 1], for the first `total_iters` epochs, then the full rate.

    ValueError for a factor outside.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._unchanged()
        if self.factor == 0:
            # Dividing the factor out again cannot bring the rate back from 0.
            return list(self.base_lrs)
        return self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self):
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that runs from `start_factor` to `end_factor` over `total_iters` epochs.

    ValueError unless 0 < start_factor <= 1 and 0 <= end_factor <= 1.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        slope = self.end_factor - self.start_factor
        return self._scaled(1.0 + slope / (self.total_iters * self.start_factor + (self.last_epoch - 1) * slope))

    def _get_closed_form_lr(self):
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (self.start_factor + (self.end_factor - self.start_factor) * part) for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch.

    Raises TypeError for what is no optimizer.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        return self._unchanged() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times (1 - epoch / total_iters)^power, 0 from `total_iters` on.

    Raises TypeError for what is no optimizer.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self):
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * (1.0 - part) ** self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """eta_min + (lr - eta_min) (1 + cos(pi epoch / T_max)) / 2 (Loshchilov and Hutter, arXiv:1608.03983).

    Each step scales the distance of the present rate from eta_min, so that the schedule can be
    chained with others; past T_max the rate rises again.

    Raises TypeError for what is no optimizer.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.0, 0.5]
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        if self._is_initial:
            return self._unchanged()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The rate before was eta_min: the quotient below would be 0 / 0.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [group["lr"] + (lr - self.eta_min) * rise for lr, group in zip(self.base_lrs, groups)]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [self.eta_min + (group["lr"] - self.eta_min) * (now / before) for group in groups]

    def _get_closed_form_lr(self):
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * part for lr in self.base_lrs]
