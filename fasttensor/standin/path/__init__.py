"""A folder for sys.path, in which ``import torch`` finds fasttensor. See fasttensor.standin."""
