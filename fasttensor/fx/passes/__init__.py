"""``torch.fx.passes``: what is done to whole graphs."""
