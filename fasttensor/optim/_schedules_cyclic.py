"""Schedules that go up and down: CyclicLR, OneCycleLR, CosineAnnealingWarmRestarts."""
import math
from functools import partial

from ._schedule import LRScheduler, check_optimizer, function_state, per_group, set_group_value


def _start_momentum(optimizer, base, largest, resumed):
    """Checks and spreads the momentum bounds; returns (use_beta1, bases, maxima)."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    use_beta1 = "betas" in optimizer.defaults
    bases = per_group("base_momentum", optimizer, base)
    maxima = per_group("max_momentum", optimizer, largest)
    if not resumed:
        for low, high, group in zip(bases, maxima, optimizer.param_groups):
            _set_momentum(group, high, use_beta1)
            group["max_momentum"] = high
            group["base_momentum"] = low
    return use_beta1, bases, maxima


def _set_momentum(group, value, use_beta1):
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """A triangle wave between base_lr and max_lr (Smith 2017, arXiv:1506.01186); step once a batch.

    Args:
        optimizer: needs "momentum" or "betas" when `cycle_momentum` is on, else ValueError.
        base_lr, max_lr: floats, or lists with one a group.
        step_size_up, step_size_down: batches up and down (down defaults to up).
        mode: "triangular"; "triangular2" halves the height each cycle; "exp_range" scales it by gamma^batch.
        gamma, scale_fn, scale_mode: `scale_fn` of the "cycle" or the "iterations" replaces the mode's.
        cycle_momentum, base_momentum, max_momentum: momentum moves the other way.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.1, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.1, 0.55, 1.0, 0.55, 0.1]
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular",
                 gamma=1.0, scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8,
                 max_momentum=0.9, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_group_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, self.base_momentums, self.max_momentums = _start_momentum(
                optimizer, base_momentum, max_momentum, last_epoch != -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """The height of the triangle at cycle or iteration x, as a part of the full one."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return self._scale_fn_ref(x)

    def _init_scale_fn(self):
        if self._scale_fn_custom is not None:
            return
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"
        # Kept as PyTorch keeps it, whose schedulers read from files look there.
        self._scale_fn_ref = {"triangular": self._triangular_scale_fn, "triangular2": self._triangular2_scale_fn,
                              "exp_range": partial(self._exp_range_scale_fn, self.gamma)}[self.mode]

    @staticmethod
    def _triangular_scale_fn(x):
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x):
        return 1 / 2.0 ** (x - 1)

    @staticmethod
    def _exp_range_scale_fn(gamma, x):
        return gamma ** x

    def get_lr(self):
        self._check_called_by_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                _set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """As in `LRScheduler`; of a `scale_fn` it holds only the attributes of a callable object."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state["_scale_fn_custom"]
        state["_scale_fn_custom"] = None if custom is None else function_state(custom)
        return state

    def load_state_dict(self, state_dict):
        attributes = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._init_scale_fn()


class OneCycleLR(LRScheduler):
    """Up to max_lr and down to almost nothing, once (Smith and Topin 2018, arXiv:1708.07120); step once a batch.

    Args:
        optimizer: needs "momentum" or "betas" when `cycle_momentum` is on, else ValueError.
        max_lr: a float, or a list with one a group.
        total_steps: or `epochs` and `steps_per_epoch`; ValueError if neither is a positive integer.
        pct_start: the part of the steps that goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: momentum moves the other way.
        div_factor, final_div_factor: first rate max_lr / div_factor, last one that / final_div_factor.
        three_phase: comes down to the first rate as it went up, then to the last.

    `step` raises ValueError past total_steps.

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.04, 0.9505, 0.6113, 0.1883, 0.0]
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95,
                 div_factor=25.0, final_div_factor=1e4, three_phase=False, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or pct_start < 0 or pct_start > 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(pct_start * self.total_steps, self.total_steps, three_phase)
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(max_lrs, optimizer.param_groups):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, _, _ = _start_momentum(optimizer, base_momentum, max_momentum, last_epoch != -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start, end, part):
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))
        return (end - start) * part + start

    def get_lr(self):
        self._check_called_by_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. "
                             f"The specified number of total steps is {self.total_steps}")
        begin = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        length = phase["end_step"] - begin
        part = (step - begin) / length if length else 1.0
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                _set_momentum(group, momentum, self.use_beta1)
        return rates


def _positive(name, value):
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(rise, total, three_phase):
    def phase(end, start_lr, end_lr, start_momentum, end_momentum):
        return {"end_step": end, "start_lr": start_lr, "end_lr": end_lr,
                "start_momentum": start_momentum, "end_momentum": end_momentum}

    up = phase(float(rise) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three_phase:
        return [up, phase(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [up, phase(float(2 * rise) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            phase(total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]


class CosineAnnealingWarmRestarts(LRScheduler):
    """SGDR (Loshchilov and Hutter 2017, arXiv:1608.03983): cosine from lr to eta_min, then again.

    Args:
        T_0: epochs until the first restart, a positive integer.
        T_mult: factor of the length after each restart, an integer of at least 1.
        eta_min: the least rate.

    `step(epoch)` takes fractions of an epoch: step(epoch + batch / batches).

    >>> opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(round(schedule.get_last_lr()[0], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._check_called_by_step()
        part = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * part for lr in self.base_lrs]

    def step(self, epoch=None):
        """Advances by one epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self._call_get_lr(self.get_lr))

    def _jump(self, epoch):
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        # Walking the cycles is exact where a logarithm is not.
        begin, length = 0, self.T_0
        while epoch >= begin + length:
            begin += length
            length *= self.T_mult
        self.T_cur = epoch - begin
        self.T_i = length
