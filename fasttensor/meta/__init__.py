"""Rules of shapes for meta tensors, which have no memory: what a kernel of the CPU returns, without its values.

The functions have the names and arguments of the CPU's kernels; `KERNELS` says in which module each is. What depends on
values (`nonzero`, `equal`) raises.
"""
from fasttensor.meta import tensors as tensors      # the copy slot

MODULES = {
    "products": ("mm", "bmm", "addmm", "mv", "dot", "cross", "linear", "linear_backward", "rnn_forward", "rnn_backward", "attention",
                 "attention_backward"),
    "reductions": ("sum", "nansum", "mean", "prod", "amax", "amin", "any", "all", "count_nonzero", "norm", "var", "logsumexp", "extreme",
                   "argextreme", "place", "pick", "mode", "sort", "topk", "kthvalue", "median", "cumsum", "cumprod", "logcumsumexp",
                   "cumextreme"),
    "indexing": ("index_get", "index_put", "index_select", "gather", "scatter", "masked_scatter", "masked_fill", "embedding_backward",
                 "embedding_bag", "bag_numbers", "bag_dots",
                 "searchsorted", "repeated_positions", "one_hot", "uniform_histogram", "cat", "stack", "flip", "roll", "triangle", "repeat",
                 "repeat_each", "nonzero", "nonzero_tuple", "masked_select", "runs", "bincount", "int_bounds", "grid_numbers", "equal"),
    "images": ("convolution", "convolution_input", "convolution_weight", "channel_sum", "max_pool", "fractional_max_pool", "max_pool_backward",
               "max_unpool", "max_pool_gather", "avg_pool", "avg_pool_backward", "im2col", "col2im", "constant_pad", "mapped_pad",
               "mapped_pad_backward", "resample", "resample_backward",
               "grid_sample", "grid_sample_backward"),
    "norms": ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "cross_entropy", "cross_entropy_backward", "nll_loss",
              "nll_loss_backward", "ctc_loss", "ctc_loss_backward", "multi_margin_loss", "multi_margin_loss_backward",
              "multilabel_margin_loss", "multilabel_margin_loss_backward", "layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward",
              "batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward", "cdist", "cdist_backward", "cdist_finish", "pdist",
              "pdist_backward"),
    "fills": ("fill_", "zero_", "arange", "linspace", "logspace", "pair", "eye", "triangle_indices", "uniform_", "normal_", "log_normal_",
              "random_", "random_from_to_", "bernoulli_", "bernoulli_tensor_", "exponential_", "geometric_", "cauchy_", "poisson",
              "binomial", "standard_gamma", "multinomial", "rrelu", "randperm", "standard_gamma_grad", "dirichlet_grad", "dropout",
              "dropout_backward"),
    "matrices": ("getrf", "gesv", "inverse", "potrf", "potri", "trsm", "geqrf", "orgqr", "ormqr", "sytrf", "sytrs", "row_order", "gesdd", "syevd",
                 "geev", "least_squares", "fft_c2c", "fft_r2c", "fft_c2r"),
}
KERNELS = {name: module for module, names in MODULES.items() for name in names}
