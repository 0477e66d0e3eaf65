"""The operators that programs define with `torch.library`: kernels for devices, gradients, what vmap does."""
import contextlib
import threading

import fasttensor as torch
from fasttensor.autograd.recording import count_write

__all__ = ["Operator", "Undefined", "below_autograd", "fallthrough_kernel"]

OPERATORS = {}          # {"namespace::name" or "namespace::name.overload": Operator}
AHEAD = {}              # {qualname: (kernels, [fake function])} of operators that are not defined yet
_below = threading.local()
KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}


def fallthrough_kernel():
    """In the place of a kernel: the next one is called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


@contextlib.contextmanager
def below_autograd():
    """A block in which operators run their kernels for a device, past those for gradients (``torch._C._AutoDispatchBelowAutograd``)."""
    before = getattr(_below, "on", False)
    _below.on = True
    try:
        with torch.no_grad():
            yield
    finally:
        _below.on = before


class Undefined:
    """Where kernels of an operator wait that is not defined yet; PyTorch's dispatcher keeps them too."""

    def __init__(self, qualname):
        self.kernels, self._fake = AHEAD.setdefault(qualname, ({}, [None]))

    @property
    def fake(self):
        return self._fake[0]

    @fake.setter
    def fake(self, function):
        self._fake[0] = function


class Operator:
    """What a program has said about one operator."""

    def __init__(self, qualname, schema):
        self.qualname, self.schema = qualname, schema
        self.signature = schema.signature()
        self.kernels, self.gradient, self.fake, self.batched, self.checked = {}, None, None, None, False
        self.node, self.taken_over = None, {}
        if qualname in AHEAD:
            self.kernels, (self.fake,) = AHEAD.pop(qualname)
        OPERATORS[qualname] = self

    def __call__(self, *args, **kwargs):
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = {a.name: bound.arguments[a.name] for a in self.schema.arguments if a.kwarg_only}
        args = tuple(v for name, v in bound.arguments.items() if name not in named)
        if self.batched is not None and any(map(_is_batched, args)):
            return self.run_batched(args, named)
        flat = _tensors([*args, *named.values()])
        recorded = torch.is_grad_enabled() and any(t.requires_grad for t in flat)
        if not getattr(_below, "on", False):
            for key in ("Autograd", "AutogradCPU"):
                if key in self.kernels and self.kernels[key] is not fallthrough_kernel:
                    return self.kernels[key](*args, **named)
            if self.gradient is None and not self.checked and self.composed():
                return self.kernel_for(flat)(*args, **named)
        if recorded and (self.gradient is not None or self.checked):
            return self.run_recorded(args, named)
        if recorded:
            return self.run_recorded(args, named) if not self.schema.is_mutable else self.run(args, named)
        return self.run(args, named)

    def composed(self):
        """Whether its only kernel says that it is made of other operators."""
        return "CompositeImplicitAutograd" in self.kernels and "CPU" not in self.kernels

    def kernel_for(self, tensors):
        kind = next((KEYS.get(t.device.type, t.device.type) for t in tensors), "CPU")
        if kind == "Meta" and self.fake is not None:
            return self.fake
        for key in (kind, "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
            if key in self.kernels and self.kernels[key] is not fallthrough_kernel:
                return self.kernels[key]
        raise NotImplementedError(f"Could not run '{self.qualname}' with arguments from the '{kind}' backend: no kernel is registered for it; "
                                  f"there are ones for {sorted(self.kernels) or 'none'}")

    def run(self, args, named):
        """The kernel for the arguments' device, without gradients."""
        tensors = _tensors([*args, *named.values()])
        with torch.no_grad():
            result = self.kernel_for(tensors)(*args, **named)
        for argument, value in zip(self.schema.arguments, [*args, *named.values()]):
            if argument.is_write and value is not None:
                for t in _tensors([value]):
                    count_write(t)
        if self.checked:
            self.check_result(tensors, result)
        return result

    def check_result(self, tensors, result):
        known = {t.untyped_storage().data_ptr() for t in tensors if t.numel()}
        for t in _tensors([result]):
            if t.numel() and not t.is_meta and t.untyped_storage().data_ptr() in known:
                raise RuntimeError(
                    f"{self.qualname}: The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias "
                    "any inputs to this custom operator or other returns. The most common way to trigger this error is if we have y = "
                    "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return "
                    "x.clone()) or refactor the custom operator to not return y.")

    def run_recorded(self, args, named):
        spec = [len(a) if isinstance(a, (list, tuple)) and a and all(isinstance(t, torch.Tensor) for t in a) else None for a in args]
        flat = [x for a, n in zip(args, spec) for x in (a if n is not None else [a])]
        shape = []
        out = self.function().apply(spec, args, named, shape, *flat)
        return _shaped(out, shape[0]) if shape else out

    def function(self):
        """The autograd.Function that records a call."""
        if self.node is not None:
            return self.node
        operator = self

        class Generated(torch.autograd.Function):
            @staticmethod
            def forward(ctx, spec, args, named, shape, *flat):
                ctx.spec = spec
                output = operator.run(args, named)
                if operator.gradient is not None and operator.gradient[1] is not None:
                    setup = operator.gradient[1]
                    if named:
                        setup(ctx=ctx, inputs=args, keyword_only_inputs=named, output=output)
                    else:
                        setup(ctx, args, output)
                if isinstance(output, (list, tuple)):
                    shape.append([(type(o), len(o)) if isinstance(o, (list, tuple)) else None for o in output])
                    ctx.shape = shape[0]
                    return tuple(x for o in output for x in (o if isinstance(o, (list, tuple)) else [o]))
                ctx.shape = None
                return output

            @staticmethod
            def backward(ctx, *grads):
                if operator.gradient is None:
                    raise RuntimeError(f"Trying to backward through {operator.qualname}.default but no autograd formula was registered. "
                                       "Please use register_autograd to add one.")
                given = grads if ctx.shape is None else _shaped(grads, ctx.shape)
                found = operator.gradient[0](ctx, *given)
                found = found if isinstance(found, tuple) else (found,)
                if len(found) != len(ctx.spec):
                    raise RuntimeError(f"{operator.qualname}: expected {len(ctx.spec)} gradients, one for each argument, but got {len(found)}")
                return (None,) * 4 + tuple(x for g, n in zip(found, ctx.spec) for x in ([g] if n is None else [None] * n if g is None else g))
        Generated.__name__ = Generated.__qualname__ = "GeneratedBackwardFor_" + self.qualname.replace("::", "_").replace(".", "_")
        self.node = Generated
        return Generated

    def run_batched(self, args, named):
        from fasttensor.autograd.batched import find_level, value_at
        level = find_level(*args)
        values = [value_at(a, level) if isinstance(a, torch.Tensor) else None for a in args]
        dims = tuple(None if v is None else 0 for v in values)

        class info:
            batch_size, randomness = level.size, level.randomness
        out, at = self.batched(info, dims, *(a if v is None else v for a, v in zip(args, values)), **named)
        from fasttensor.func.vmap import _add_batch_dim
        if isinstance(out, (tuple, list)):
            return type(out)(o if d is None else _add_batch_dim(o, d, level) for o, d in zip(out, at))
        return out if at is None else _add_batch_dim(out, at, level)


def _is_batched(x):
    return isinstance(x, torch.Tensor) and torch._C._functorch.is_batchedtensor(x)


def _tensors(values):
    return [t for v in values for t in (v if isinstance(v, (list, tuple)) else [v]) if isinstance(t, torch.Tensor)]


def _shaped(flat, shape):
    """The parts of a result as the operator gave them, lists among them."""
    rest = iter(flat if isinstance(flat, tuple) else (flat,))
    return tuple(next(rest) if kind is None else kind[0](next(rest) for _ in range(kind[1])) for kind in shape)
