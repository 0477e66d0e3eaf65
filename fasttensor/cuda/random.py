"""``torch.cuda.random``: the generators of GPUs. Seeding them without one does nothing."""
from .availability import _require

__all__ = ["get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "initial_seed"]


def manual_seed(seed):
    """Seed the GPU's generator; nothing to do without a GPU."""
    int(seed)


def manual_seed_all(seed):
    """Seed every GPU's generator; nothing to do without a GPU."""
    int(seed)


def seed():
    """Seed the GPU's generator by chance; nothing to do without a GPU."""


def seed_all():
    """Seed every GPU's generator by chance; nothing to do without a GPU."""


def initial_seed():
    """The seed of the GPU's generator; an error without one."""
    _require()


def get_rng_state(device="cuda"):
    """The state of the GPU's generator; an error without one."""
    _require()


def get_rng_state_all():
    """The states of all GPUs' generators: a list."""
    return []


def set_rng_state(new_state, device="cuda"):
    """Set the state of the GPU's generator; nothing to do without a GPU."""


def set_rng_state_all(new_states):
    """Set the states of all GPUs' generators; nothing to do without a GPU."""
