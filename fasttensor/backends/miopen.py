"""``torch.backends.miopen``: not used here."""
immediate = False
