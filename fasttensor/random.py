"""The default generator under ``torch.random``'s names, and ``fork_rng``."""
import contextlib

from fasttensor.functional.random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["set_rng_state", "get_rng_state", "manual_seed", "seed", "initial_seed", "fork_rng", "default_generator", "thread_safe_generator"]


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """Restore the generators' states afterwards: what is drawn inside does not change what follows.

    >>> import fasttensor
    >>> g = fasttensor.manual_seed(0)
    >>> with fasttensor.random.fork_rng():
    ...     x = fasttensor.rand(3)
    >>> fasttensor.rand(1)
    tensor([0.4963])
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    others = []
    if devices:
        from fasttensor import cuda
        others = [(device, cuda.get_rng_state(device)) for device in devices]
    try:
        yield
    finally:
        set_rng_state(state)
        for device, saved in others:
            cuda.set_rng_state(saved, device)


def thread_safe_generator():
    """The generator of a thread that loads data, None outside of such threads; loading here uses processes, so None."""
    return None
