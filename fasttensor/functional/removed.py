"""Functions that PyTorch removed: they raise its error, which says what to use."""


ADVICE = {
    "eig": "`torch.linalg.eig` returns complex tensors rather than real tensors mimicking complex tensors: L, V = torch.linalg.eig(A).",
    "lstsq": "`torch.linalg.lstsq` has reversed arguments and does not return the QR decomposition: X = torch.linalg.lstsq(B, A).solution.",
    "matrix_rank": "Please use `torch.linalg.matrix_rank`, whose parameter 'hermitian' was named 'symmetric'.",
    "solve": "`torch.linalg.solve` has its arguments reversed and does not return the LU factorization: X = torch.linalg.solve(A, B).",
    "symeig": "`torch.linalg.eigh` uses the lower triangle by default: L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L').",
}

__all__ = list(ADVICE)


def _removed(name):
    def function(input, *args, **kwargs):
        raise RuntimeError(f"{name}: This function was deprecated since version 1.9 and is now removed. {ADVICE[name]}")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"Removed from PyTorch: raises RuntimeError. {ADVICE[name]}\n\n>>> try:\n...     torch.{name}(torch.eye(2), torch.eye(2))\n"
                        "... except RuntimeError:\n...     print(\"removed\")\nremoved\n")
    return function


globals().update((name, _removed(name)) for name in __all__)
METHODS = {name: globals()[name] for name in __all__ if name != "matrix_rank"}
