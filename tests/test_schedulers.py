"""Learning-rate schedules and weight averages."""

import copy
import math
import warnings

import pytest
from helpers import oracle

import fasttensor as torch
from fasttensor.optim import lr_scheduler, swa_utils

# Rates of twelve epochs from 0.1, as PyTorch 2.13 computes them.
KEPT = [
    (
        "StepLR",
        dict(step_size=3, gamma=0.5),
        [0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125, 0.00625],
    ),
    (
        "MultiStepLR",
        dict(milestones=[4, 4, 9], gamma=0.3),
        [0.1, 0.1, 0.1, 0.009, 0.009, 0.009, 0.009, 0.009, 0.0027, 0.0027, 0.0027, 0.0027],
    ),
    ("ConstantLR", dict(factor=0.5, total_iters=4), [0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]),
    (
        "LinearLR",
        dict(start_factor=0.3, total_iters=6),
        [0.0416666667, 0.0533333333, 0.065, 0.0766666667, 0.0883333333, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
    ),
    (
        "ExponentialLR",
        dict(gamma=0.9),
        [
            0.09,
            0.081,
            0.0729,
            0.06561,
            0.059049,
            0.0531441,
            0.04782969,
            0.043046721,
            0.0387420489,
            0.034867844,
            0.0313810596,
            0.0282429536,
        ],
    ),
    (
        "CosineAnnealingLR",
        dict(T_max=5, eta_min=0.01),
        [
            0.0914057647,
            0.0689057647,
            0.0410942353,
            0.0185942353,
            0.01,
            0.0185942353,
            0.0410942353,
            0.0689057647,
            0.0914057647,
            0.1,
            0.0914057647,
            0.0689057647,
        ],
    ),
    (
        "PolynomialLR",
        dict(total_iters=9, power=2.0),
        [
            0.0790123457,
            0.0604938272,
            0.0444444444,
            0.0308641975,
            0.0197530864,
            0.0111111111,
            0.0049382716,
            0.0012345679,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
    ),
    (
        "CosineAnnealingWarmRestarts",
        dict(T_0=3, T_mult=2),
        [
            0.075,
            0.025,
            0.1,
            0.0933012702,
            0.075,
            0.05,
            0.025,
            0.0066987298,
            0.1,
            0.0982962913,
            0.0933012702,
            0.0853553391,
        ],
    ),
    (
        "CyclicLR",
        dict(base_lr=0.01, max_lr=0.1, step_size_up=4, cycle_momentum=False),
        [0.0325, 0.055, 0.0775, 0.1, 0.0775, 0.055, 0.0325, 0.01, 0.0325, 0.055, 0.0775, 0.1],
    ),
    (
        "CyclicLR",
        dict(base_lr=0.01, max_lr=0.1, step_size_up=2, step_size_down=3, mode="exp_range", gamma=0.9),
        [
            0.0505,
            0.0829,
            0.05374,
            0.029683,
            0.01,
            0.033914845,
            0.053046721,
            0.0358280326,
            0.0216226147,
            0.01,
            0.0241214768,
            0.0354186583,
        ],
    ),
    (
        "OneCycleLR",
        dict(max_lr=0.2, total_steps=20),
        [
            0.0263343685,
            0.0743343685,
            0.1336656315,
            0.1816656315,
            0.2,
            0.1974928012,
            0.1900969264,
            0.1781832355,
            0.1623491308,
            0.1433886004,
            0.1222524044,
            0.1000004,
        ],
    ),
]


def optimizer_of(lr=0.1, groups=1, t=torch, cls="SGD", **options):
    if cls == "SGD":
        options.setdefault("momentum", 0.9)
    return getattr(t.optim, cls)([{"params": [t.nn.Parameter(t.zeros(2))]} for _ in range(groups)], lr=lr, **options)


def rates_of(optimizer, schedule, epochs, metric=None):
    rates = []
    for epoch in range(epochs):
        optimizer.step()
        schedule.step() if metric is None else schedule.step(metric(epoch))
        rates.append(float(optimizer.param_groups[0]["lr"]))
    return rates


@pytest.mark.parametrize("name, options, expected", KEPT, ids=[f"{row[0]}-{i}" for i, row in enumerate(KEPT)])
def test_kept_rates(name, options, expected):
    optimizer = optimizer_of()
    rates = rates_of(optimizer, getattr(lr_scheduler, name)(optimizer, **options), 12)
    assert rates == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "name, options", [row[:2] for row in KEPT], ids=[f"{row[0]}-{i}" for i, row in enumerate(KEPT)]
)
def test_state_dict_resumes(name, options):
    optimizer = optimizer_of()
    schedule = getattr(lr_scheduler, name)(optimizer, **options)
    rates_of(optimizer, schedule, 5)
    saved = copy.deepcopy((optimizer.state_dict(), schedule.state_dict()))
    expected = rates_of(optimizer, schedule, 6)
    other = optimizer_of()
    resumed = getattr(lr_scheduler, name)(other, **options)
    other.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    assert rates_of(other, resumed, 6) == pytest.approx(expected, abs=1e-12)


def compositions(t):
    """Schedules made of others, in either library."""
    s = t.optim.lr_scheduler
    return {
        "sequential": lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)], [4]),
        "warmup": lambda o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 10)], [4]),
        "three": lambda o: s.SequentialLR(o, [s.StepLR(o, 2), s.LinearLR(o, 0.5), s.PolynomialLR(o, 9)], [3, 7]),
        "chained": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
        "chained_cosine": lambda o: s.ChainedScheduler([s.CosineAnnealingLR(o, 5, 0.01), s.StepLR(o, 4, 0.5)]),
        "nested": lambda o: s.SequentialLR(
            o, [s.ChainedScheduler([s.ConstantLR(o, 0.2, 2), s.StepLR(o, 3)]), s.ExponentialLR(o, 0.5)], [5]
        ),
        "swa": lambda o: t.optim.swa_utils.SWALR(o, 0.05, anneal_epochs=5),
        "swa_linear": lambda o: t.optim.swa_utils.SWALR(o, 0.3, anneal_epochs=4, anneal_strategy="linear"),
        "cyclic_momentum": lambda o: s.CyclicLR(o, 0.01, 0.1, 3, 5, mode="triangular2"),
        "one_cycle_three": lambda o: s.OneCycleLR(o, 0.2, 40, three_phase=True, anneal_strategy="linear"),
    }


@pytest.mark.parametrize("name", list(compositions(torch)))
def test_compositions_against_pytorch(name):
    theirs = oracle()
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in (theirs, torch):
            optimizer = optimizer_of(t=t)
            schedule = compositions(t)[name](optimizer)
            row = []
            for _ in range(20):
                optimizer.step()
                schedule.step()
                row += [float(optimizer.param_groups[0]["lr"]), float(optimizer.param_groups[0]["momentum"])]
            rows.append(row)
    assert rows[1] == pytest.approx(rows[0], abs=1e-9)


def test_sequential():
    optimizer = optimizer_of(1.0)
    schedule = compositions(torch)["sequential"](optimizer)
    assert rates_of(optimizer, schedule, 6) == pytest.approx([0.1, 0.1, 1.0, 1.0, 0.9, 0.81])
    with pytest.raises(ValueError, match="milestone"):
        lr_scheduler.SequentialLR(optimizer, [schedule], [1])
    with pytest.raises(ValueError, match="same optimizer"):
        lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(optimizer, 2), lr_scheduler.StepLR(optimizer_of(), 2)])


def test_plateau():
    optimizer = optimizer_of(1.0)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, cooldown=1, min_lr=0.2)
    rates = rates_of(optimizer, schedule, 12, lambda epoch: max(1.0, 3.0 - epoch))
    assert rates == pytest.approx([1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2])
    with pytest.raises(ValueError):
        lr_scheduler.ReduceLROnPlateau(optimizer, factor=1.0)
    with pytest.raises(ValueError):
        lr_scheduler.ReduceLROnPlateau(optimizer, mode="least")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max"},
        {"threshold_mode": "abs", "threshold": 0.3},
        {"mode": "max", "threshold_mode": "abs", "cooldown": 2},
    ],
)
def test_plateau_against_pytorch(options):
    theirs = oracle()
    rows = []
    for t in (theirs, torch):
        optimizer = optimizer_of(t=t)
        schedule = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, **options)
        rows.append(rates_of(optimizer, schedule, 25, lambda epoch: math.sin(epoch) - 0.1 * epoch))
    assert rows[1] == pytest.approx(rows[0])


def test_constant_factor_zero():
    optimizer = optimizer_of(1.0)
    assert rates_of(optimizer, lr_scheduler.ConstantLR(optimizer, 0.0, 2), 3) == [0.0, 1.0, 1.0]


def test_warm_restarts_jump():
    optimizer = optimizer_of(1.0)
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=3)
    for epoch, expected in ((0, 1.0), (3, 1.0), (12, 1.0), (39, 1.0), (1.5, 0.5), (7.5, 0.5)):
        schedule.step(epoch)
        assert schedule.get_last_lr()[0] == pytest.approx(expected)
    with pytest.raises(ValueError, match="non-negative"):
        schedule.step(-1)


def test_one_cycle_limits():
    optimizer = optimizer_of()
    schedule = lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=3)
    rates_of(optimizer, schedule, 3)
    with pytest.raises(ValueError, match="Tried to step"):
        schedule.step()
    for options in (
        {},
        {"total_steps": -1},
        {"total_steps": 5, "pct_start": 2.0},
        {"total_steps": 5, "anneal_strategy": "none"},
    ):
        with pytest.raises(ValueError):
            lr_scheduler.OneCycleLR(optimizer, 0.2, **options)


def test_tensor_rate_changes_in_place():
    rate = torch.tensor(0.1)
    optimizer = optimizer_of(rate)
    schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)


def test_groups_and_functions():
    class Half:
        def __init__(self):
            self.calls = 0

        def __call__(self, epoch):
            self.calls += 1
            return 0.5**epoch

    optimizer = optimizer_of(1.0, groups=2)
    half = Half()
    schedule = lr_scheduler.LambdaLR(optimizer, [half, lambda epoch: 1.0])
    optimizer.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.5, 1.0]
    state = schedule.state_dict()
    assert state["lr_lambdas"] == [{"calls": 2}, None]
    half.calls = 0
    schedule.load_state_dict(state)
    assert half.calls == 2
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas"):
        lr_scheduler.LambdaLR(optimizer, [half])
    with pytest.raises(TypeError):
        lr_scheduler.MultiplicativeLR(optimizer, 0.5)


def test_warnings_and_errors():
    optimizer = optimizer_of()
    schedule = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="deprecated"):
        schedule.step(5)
    with pytest.raises(TypeError, match="not an Optimizer"):
        lr_scheduler.StepLR(3, 2)
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(optimizer_of(), 2, last_epoch=3)
    with pytest.raises(ValueError, match="momentum or beta1"):
        lr_scheduler.CyclicLR(optimizer_of(cls="Adagrad"), 0.1, 0.2)


def test_averaged_model():
    net = torch.nn.Linear(2, 1)
    mean = swa_utils.AveragedModel(net)
    ema = swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5))
    seen = []
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            for p in net.parameters():
                p.fill_(value)
        mean.update_parameters(net)
        ema.update_parameters(net)
        seen.append((mean.module.bias.item(), ema.module.bias.item()))
    assert seen == [(1.0, 1.0), (1.5, 1.5), (3.0, 3.75)]
    assert mean.n_averaged.item() == 3
    assert mean(torch.ones(1, 2)).item() == pytest.approx(9.0)
    with pytest.raises(ValueError):
        swa_utils.get_ema_avg_fn(1.5)


def test_update_bn():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(3)).eval()
    batches = [torch.randn(16, 3) * 2 + 5 for _ in range(4)]
    swa_utils.update_bn([(b, 0) for b in batches], net)
    assert not net.training and net[0].momentum == 0.1
    expected = torch.stack([b.mean(0) for b in batches]).mean(0)
    assert net[0].running_mean.tolist() == pytest.approx(expected.tolist(), rel=1e-4)
