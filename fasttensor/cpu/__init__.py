"""Kernels of the CPU: one structured operation a file, without autograd.

`KERNELS` says in which module each function is; the module is imported when it is first used.
"""

KERNELS = {
    "index_get": "index", "index_put": "index", "index_select": "index",
    "gather": "gather", "scatter": "gather",
    "nonzero": "mask", "nonzero_tuple": "mask", "masked_select": "mask", "masked_scatter": "mask", "masked_fill": "mask",
    "embedding_backward": "embedding",
    "sort": "sort", "topk": "sort", "kthvalue": "sort", "median": "sort",
    "searchsorted": "search", "runs": "search", "bincount": "search", "repeated_positions": "search", "equal": "search", "one_hot": "search", "uniform_histogram": "search",
    "cat": "join", "stack": "join", "flip": "join", "roll": "join", "triangle": "join", "repeat": "join", "repeat_each": "join",
    # convolution
    "convolution": "conv.forward", "convolution_input": "conv.forward", "convolution_weight": "conv.forward", "channel_sum": "conv.forward",
    # pooling, windows, resampling
    "max_pool": "pool", "max_pool_backward": "unpool", "max_unpool": "unpool", "max_pool_gather": "unpool", "avg_pool": "pool", "avg_pool_backward": "pool",
    "im2col": "unfold", "col2im": "unfold", "constant_pad": "pad", "resample": "resample", "resample_backward": "resample",
    **dict.fromkeys(("mm", "bmm", "addmm", "mv", "dot", "linear", "linear_backward"), "matmul"),
    "OptimPlan": "optim_step", "drop_grads": "optim_step", "norm_of": "optim_norm", "scale_": "optim_norm",
    "rnn_forward": "rnn", "rnn_backward": "rnn", "attention": "attention", "attention_backward": "attention",
    "sum": "reduce", "nansum": "reduce", "mean": "reduce", "prod": "reduce", "amax": "reduce", "amin": "reduce",
    "any": "reduce", "all": "reduce", "count_nonzero": "reduce", "norm": "reduce", "var": "reduce",
    "logsumexp": "reduce",
    "extreme": "reduce_arg", "argextreme": "reduce_arg", "place": "reduce_arg", "pick": "reduce_arg",
    "cumsum": "scan", "cumprod": "scan", "logcumsumexp": "scan", "cumextreme": "scan",
    "softmax": "softmax", "log_softmax": "softmax", "softmax_backward": "softmax", "log_softmax_backward": "softmax",
    "cross_entropy": "softmax", "cross_entropy_backward": "softmax",
    "nll_loss": "loss", "nll_loss_backward": "loss", "ctc_loss": "loss", "ctc_loss_backward": "loss", "mode": "mode",
    "layer_norm": "norm", "layer_norm_backward": "norm", "rms_norm": "norm", "rms_norm_backward": "norm",
    "batch_norm": "norm_channel", "batch_norm_backward": "norm_channel", "group_norm": "norm_channel",
    "group_norm_backward": "norm_channel",
    **dict.fromkeys(("fill_", "zero_", "arange", "linspace", "logspace", "pair", "eye", "triangle_indices"), "creation"),
    **dict.fromkeys(("uniform_", "normal_", "log_normal_", "random_", "random_from_to_", "bernoulli_", "bernoulli_tensor_", "exponential_", "geometric_", "cauchy_"), "random"),
    **dict.fromkeys(("poisson", "binomial", "standard_gamma", "multinomial", "rrelu", "randperm"), "sample"),
    **dict.fromkeys(("getrf", "gesv", "inverse", "potrf", "trsm", "geqrf", "orgqr", "ormqr", "sytrf", "sytrs", "row_order"), "linalg"),
    **dict.fromkeys(("gesdd", "syevd", "geev", "least_squares"), "linalg_spectral"),
    "fft_c2c": "fft", "fft_r2c": "fft", "fft_c2r": "fft",
    "dropout": "dropout", "dropout_backward": "dropout",
}
