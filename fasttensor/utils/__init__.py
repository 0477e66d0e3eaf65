"""Tools around the library: `fasttensor.utils.data` and others, imported on first use."""
