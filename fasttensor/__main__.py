"""Runs a PyTorch program on fasttensor: in it ``import torch`` means fasttensor.

    python -m fasttensor script.py arguments...
    python -m fasttensor -m module arguments...
    python -m fasttensor -c "code" arguments...
    python -m fasttensor - arguments...             (the program is read from standard input)

The program sees what ``python script.py`` shows it: ``sys.argv``, ``__main__``, ``__file__``, tracebacks, exit codes,
and child processes in which ``torch`` is fasttensor too.
"""
import io
import os
import sys
import types

USAGE = "usage: python -m fasttensor [-m module | -c code | script.py | -] arguments..."


def main(arguments):
    """Run the program that the arguments name; returns when it returns."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if arguments[:1] in (["-V"], ["--version"]):
        from fasttensor import version
        print("fasttensor", version.fasttensor)
        return
    kind = arguments[0] if arguments[:1] in (["-m"], ["-c"]) else "script"
    rest = arguments if kind == "script" else arguments[1:]
    if not rest or rest[0].startswith("-") and rest[0] != "-" and kind == "script":
        print(USAGE if not rest else f"unknown option {rest[0]}\n{USAGE}", file=sys.stderr)
        sys.exit(2)
    run = {"-m": _module, "-c": _code, "script": _script}[kind](*rest)
    from fasttensor.standin import PATH, as_torch
    as_torch()
    # Programs that start Python themselves get the same torch.
    os.environ["PYTHONPATH"] = os.pathsep.join([PATH, *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        run()
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = _trimmed(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.excepthook = lambda *_: None        # it is shown: what is left is the exit code
        raise


def _trimmed(traceback):
    """A traceback without this file's frames."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def _fresh(**attributes):
    """A new module `__main__`."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=__builtins__, __annotations__={}, **attributes)
    sys.modules["__main__"] = module
    return module.__dict__


def _first_path(folder):
    """Puts the program's folder where that of `python -m` stands."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _module(name, *arguments):
    sys.argv[:] = ["-m", *arguments]

    def run():
        import runpy
        _fresh()
        runpy._run_module_as_main(name)         # what `python -m` calls
    return run


def _code(code, *arguments):
    sys.argv[:] = ["-c", *arguments]
    _first_path("")

    def run():
        exec(compile(code, "<string>", "exec", dont_inherit=True), _fresh())
    return run


def _script(path, *arguments):
    sys.argv[:] = [path, *arguments]
    if path == "-":
        _first_path("")

        def run():
            exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True), _fresh())
        return run
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        def run():
            import runpy
            _fresh()
            runpy.run_path(path, run_name="__main__")
        return run
    full = os.path.abspath(path)
    try:
        with io.open_code(full) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {full!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    _first_path(os.path.dirname(os.path.realpath(path)))

    def run():
        from importlib.machinery import SourceFileLoader
        names = _fresh(__file__=full, __cached__=None, __loader__=SourceFileLoader("__main__", full))
        exec(compile(source, full, "exec", dont_inherit=True), names)
    return run


if __name__ == "__main__":
    main(sys.argv[1:])
