"""Data loading and other tools, each imported when it is first named."""


def __getattr__(name):
    from importlib import import_module
    from importlib.util import find_spec
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
