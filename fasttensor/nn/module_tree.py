"""Walking a Module's parameters, buffers and children, and showing them."""


def typename(value):
    """A value's type for messages, by PyTorch's name: "torch.FloatTensor", "int"."""
    import fasttensor
    return fasttensor.typename(value)


def _indent(text, n):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * n + line for line in rest)])


class TreeMixin:
    def _named_members(self, get_members, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for where, module in modules:
            for name, value in get_members(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield where + ("." if where else "") + name, value

    def parameters(self, recurse=True):
        """Iterate over the parameters, each once, of this module and (if `recurse`) its children."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over pairs of dotted name and parameter.

        >>> [(n, tuple(p.shape)) for n, p in nn.Linear(2, 3).named_parameters()]
        [('weight', (3, 2)), ('bias', (3,))]
        """
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Iterate over the buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Iterate over pairs of dotted name and buffer."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """Iterate over the direct children, each once."""
        for _, m in self.named_children():
            yield m

    def named_children(self):
        """Iterate over pairs of name and direct child."""
        seen = set()
        for name, m in self._modules.items():
            if m is not None and m not in seen:
                seen.add(m)
                yield name, m

    def modules(self, remove_duplicate=True):
        """Iterate over this module and all below it, each once."""
        for _, m in self.named_modules(remove_duplicate=remove_duplicate):
            yield m

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Iterate over pairs of dotted name and module, this one (named `prefix`) first."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, m in self._modules.items():
            if m is not None:
                yield from m.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def get_submodule(self, target):
        """The module under the dotted name `target`; AttributeError where there is none."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, TreeMixin):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put `module` under the dotted name `target`; with `strict`, only where one already is."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, TreeMixin):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        where, _, name = target.rpartition(".")
        parent = self.get_submodule(where)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), TreeMixin):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target, registry, what):
        where, _, name = target.rpartition(".")
        module = self.get_submodule(where)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in getattr(module, registry):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target):
        """The parameter under a dotted name; AttributeError where there is none."""
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer under a dotted name; AttributeError where there is none."""
        return self._get_member(target, "_buffers", "a buffer")

    def apply(self, fn):
        """Call `fn(module)` for every module below and then for this one; returns self.

        >>> def clear(m):
        ...     if isinstance(m, nn.Linear):
        ...         nn.init.zeros_(m.weight)
        >>> float(nn.Sequential(nn.Linear(2, 2)).apply(clear)[0].weight.sum())
        0.0
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def train(self, mode=True):
        """Set training mode in this module and all below it; returns self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Set whether autograd records operations on the parameters; returns self."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop all parameters' gradients, or fill them with zeros."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What the line of this module in `repr` says between its brackets."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _indent(repr(m), 2) for name, m in self._modules.items()]
        name = self._get_name() + "("
        if not children and len(lines) <= 1:
            return name + "".join(lines) + ")"
        return name + "\n  " + "\n  ".join(lines + children) + "\n)"
