"""``torch.backends.quantized``: there are no quantized dtypes."""
engine, supported_engines = "none", ["none"]
