"""Kernels of the CPU: one structured operation a file, without autograd.

`KERNELS` says in which module each function is; the module is imported when it is first used.
"""

KERNELS = {
}
