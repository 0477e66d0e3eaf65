"""New tensors like a batched one: batched themselves, so that each sample can be written to."""
from fasttensor.autograd.batched import batch


def _value(self):
    return self.value


def _new(name, leading):
    def method(self, *size, **options):
        from fasttensor._core.tensor import Size
        options = dict(options)
        size = options.pop("size", size[0] if len(size) == 1 and isinstance(size[0], (tuple, list, Size)) else size)
        return batch(getattr(self.value, name)((self.level.size, *size), **options), self.level)
    method.__name__ = name
    method.__doc__ = f"``{name}`` with memory for each sample."
    return method


def new_full(self, size, fill_value, **options):
    """``new_full`` with memory for each sample."""
    size = (size,) if isinstance(size, int) else size
    return batch(self.value.new_full((self.level.size, *size), fill_value, **options), self.level)


METHODS = {name: _new(name, 1) for name in ("new_zeros", "new_ones", "new_empty")}
METHODS["new_full"] = new_full
