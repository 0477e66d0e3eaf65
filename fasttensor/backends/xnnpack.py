"""``torch.backends.xnnpack``: not used here."""
enabled = False
