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
}
