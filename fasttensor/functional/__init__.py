"""Public functions and Tensor methods, one module a family.

Each family lists `__all__` (names of ``fasttensor``), `METHODS` (of Tensor), and, where it has some,
`NN_FUNCTIONAL`, `SPECIAL`, `LINALG` and `FFT` names. Families import earlier ones only.
"""

FAMILIES = ("common", "basics", "view_copies", "numeric_info", "elementwise", "activation", "creation", "ranges", "data", "random", "distributions", "dropout", "convert", "printing",
            "reduction", "scan", "matmul", "addmm", "chains", "einsum", "softmax", "norm", "native_norm", "distance", "linalg_norm", "indexing", "masking", "scattering", "sorting", "searching",
            "embedding", "joining", "rearranging", "statistics", "segments", "conv", "pool", "unpool", "padding", "resize", "sampling",
            "decompositions", "solving", "matrix_functions", "fft", "stft", "windows",
            "losses", "margin_losses", "quantile", "attention", "rnn", "linear_cross_entropy", "forms")
