"""Learning-rate schedules: `fasttensor.optim.lr_scheduler`, with PyTorch's names."""
from ._schedule import LRScheduler
from ._schedules_compose import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from ._schedules_cyclic import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from ._schedules_simple import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = ["LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR",
           "SequentialLR", "CosineAnnealingLR", "ChainedScheduler", "ReduceLROnPlateau", "CyclicLR",
           "CosineAnnealingWarmRestarts", "OneCycleLR", "PolynomialLR", "LRScheduler"]

_LRScheduler = LRScheduler
