"""Random functions inside vmap, as its ``randomness=`` says: refused, one draw for all samples, or one a sample."""
from fasttensor._core.dispatch import plain_backend
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.batched import batch, find_level, levels, value_at, without_levels
from fasttensor.autograd.rule import apply

from .common import full, wrapped

IN_PLACE = {"uniform_", "normal_", "log_normal_", "random_", "random_from_to_", "bernoulli_", "bernoulli_tensor_", "exponential_",
            "geometric_", "cauchy_"}
NEW = {"poisson", "binomial", "standard_gamma", "multinomial", "rrelu", "randperm", "dropout"}
KERNELS = IN_PLACE | NEW
REFILLS = {"Uniform", "Normal", "LogNormal", "Cauchy", "Exponential", "Geometric", "Random", "BernoulliScalar", "BernoulliTensor",
           "Bernoulli", "Refill"}
RULES = {"NativeDropout", "RreluWithNoise", "Poisson", "Binomial", "StandardGamma", *REFILLS}


def check(level):
    if level.randomness == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different'"
                           " randomness flags on vmap or perform the randomness operation out of vmap")


def refuse_unbatched():
    raise RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness."
                       " If this is necessary for your usage, please file an issue with functorch.")


def kernel(name, args, kwargs):
    """A random kernel, level by level from the innermost."""
    active = levels()
    if not active:
        first = next((a for a in args if isinstance(a, Tensor)), None)
        return getattr(plain_backend(first), name)(*args, **kwargs)
    level = active[-1]
    check(level)
    if name in IN_PLACE:
        return fill(name, args, kwargs, level)
    if level.randomness == "same" and find_level(*args) is None:
        with without_levels(1):
            return kernel(name, args, kwargs)
    values = [full(a, level) if isinstance(a, Tensor) else a for a in args]
    with without_levels(1):
        if name == "dropout":
            made = dropped(values[0], level, lambda t: kernel(name, (t, *args[1:]), kwargs))
        elif name in ("poisson", "standard_gamma") and level.randomness == "different":
            made = kernel(name, values, kwargs)
        else:
            made = each(name, values, args, kwargs, level)
    return wrapped(made, level)


def each(name, values, args, kwargs, level):
    """One draw a sample; "same" starts every sample from the same state of the generator."""
    from fasttensor.autograd.rules.join import Stack
    from fasttensor.cpu.generator import default_generator
    rows = []
    state = default_generator.get_state() if level.randomness == "same" else None
    for i in range(level.size):
        if state is not None:
            default_generator.set_state(state)
        parts = [v.select(0, i) if isinstance(a, Tensor) else v for v, a in zip(values, args)]
        rows.append(kernel(name, parts, kwargs))
    if isinstance(rows[0], Tensor):
        return apply(Stack, 0, rows[0].dtype.code, *rows)
    return tuple(apply(Stack, 0, column[0].dtype.code, *column) for column in zip(*rows))


def dropped(values, level, draw):
    """(values with dropout, mask) for all samples, with one mask for all where that is asked for."""
    if level.randomness == "different":
        return draw(values.contiguous())
    ones, mask = draw(values.select(0, 0).detach() * 0 + 1)
    return values * ones, full(mask, level)


def fill(name, args, kwargs, level):
    x, rest = args[0], args[1:]
    value = value_at(x, level)
    if value is None:
        if level.randomness == "different":
            refuse_unbatched()
        if find_level(*rest) is not None:
            raise RuntimeError(f"vmap: {name} would write different values for each sample into a tensor that all share")
        with without_levels(1):
            kernel(name, args, kwargs)
        return x
    with without_levels(1):
        if level.randomness == "same":
            if find_level(*[r for r in rest if isinstance(r, Tensor) and value_at(r, level) is not None]) is not None:
                each_in_place(name, value, rest, kwargs, level)
                return x
            one = value.detach().select(0, 0).clone()
            kernel(name, (one, *rest), kwargs)
            value.copy_(one)
            return x
        kernel(name, (value, *[spread(r, level, x.dim()) for r in rest]), kwargs)
    return x


def spread(r, level, rank):
    """A tensor of probabilities that broadcasts against all samples."""
    if not isinstance(r, Tensor):
        return r
    value = value_at(r, level)
    return r if value is None else value.reshape((level.size,) + (1,) * (rank - r.dim()) + tuple(r.shape))


def each_in_place(name, value, rest, kwargs, level):
    from fasttensor.cpu.generator import default_generator
    state = default_generator.get_state()
    for i in range(level.size):
        default_generator.set_state(state)
        kernel(name, (value.detach().select(0, i), *[r if value_at(r, level) is None else value_at(r, level).select(0, i) for r in rest]), kwargs)


def run(rule, args):
    """A rule that draws, at the innermost level."""
    active = levels()
    if not active:
        return NotImplemented
    level = active[-1]
    check(level)
    name = rule.__name__
    if isinstance(args[0], Tensor) and name in REFILLS:
        value = value_at(args[0], level)
        if value is None:
            if level.randomness == "different":
                refuse_unbatched()
            with without_levels(1):
                return apply(rule, *args)
        if level.randomness == "same":
            one = value.detach().select(0, 0).clone()
            with without_levels(1):
                args[1](one, *args[2:])
            return args[0].copy_(one)
        with without_levels(1):
            apply(rule, value, args[1], *[spread(r, level, args[0].dim()) for r in args[2:]])
        return args[0]
    if level.randomness == "same" and find_level(*args) is None:
        with without_levels(1):
            return apply(rule, *args)
    rank = max(a.dim() for a in args if isinstance(a, Tensor))
    values = [ranked(full(a, level), level, rank) if isinstance(a, Tensor) else a for a in args]
    with without_levels(1):
        if name == "NativeDropout" and level.randomness == "same":
            one = apply(rule, args_one(values[0]), *args[1:])
            made = values[0] * one
        elif level.randomness == "same":
            made = same_draws(rule, values, args, level)
        else:
            values = [v.contiguous() if isinstance(v, Tensor) else v for v in values]
            made = apply(rule, *values)
    return batch(made, level)


def ranked(value, level, rank):
    """All samples with dimensions of size 1 behind the batch, so that parameters of a draw broadcast as samples do."""
    return value.reshape((level.size,) + (1,) * (rank + 1 - value.dim()) + tuple(value.shape[1:]))


def args_one(values):
    return values.select(0, 0).detach() * 0 + 1


def same_draws(rule, values, args, level):
    from fasttensor.autograd.rules.join import Stack
    from fasttensor.cpu.generator import default_generator
    state, rows = default_generator.get_state(), []
    for i in range(level.size):
        default_generator.set_state(state)
        rows.append(apply(rule, *[v.select(0, i) if isinstance(a, Tensor) else v for v, a in zip(values, args)]))
    return apply(Stack, 0, rows[0].dtype.code, *rows)
