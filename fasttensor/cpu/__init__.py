"""Kernels of the CPU: one structured operation a file, without autograd.

`KERNELS` says in which module each function is; the module is imported when it is first used.
"""

KERNELS = {
    "index_get": "index", "index_put": "index", "index_select": "index",
    "gather": "gather", "scatter": "gather",
    "nonzero": "mask", "nonzero_tuple": "mask", "masked_select": "mask", "masked_scatter": "mask", "masked_fill": "mask",
    "embedding_backward": "embedding",
    "sort": "sort", "topk": "sort", "kthvalue": "sort", "median": "sort",
    "searchsorted": "search", "runs": "search", "bincount": "search", "repeated_positions": "search",
    "cat": "join", "stack": "join", "flip": "join", "roll": "join", "triangle": "join", "repeat": "join",
    # convolution
    "convolution": "conv.forward", "convolution_input": "conv.forward", "convolution_weight": "conv.forward", "channel_sum": "conv.forward",
    # pooling, windows, resampling
    "max_pool": "pool", "max_pool_backward": "pool", "max_unpool": "pool", "max_pool_gather": "pool", "avg_pool": "pool", "avg_pool_backward": "pool",
    "im2col": "unfold", "col2im": "unfold", "constant_pad": "pad", "resample": "resample", "resample_backward": "resample",
    **dict.fromkeys(("mm", "bmm", "addmm", "mv", "dot", "linear", "linear_backward"), "matmul"),
    "OptimPlan": "optim_step", "drop_grads": "optim_step", "norm_of": "optim_norm", "scale_": "optim_norm",
    "rnn_forward": "rnn", "rnn_backward": "rnn", "attention": "attention", "attention_backward": "attention",
}
