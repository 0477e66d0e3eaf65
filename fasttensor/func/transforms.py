"""grad, vjp, jvp and linearize: sweeps of the engine over fresh leaves.

A transform gives the function leaves of its own: the arguments' values, batched at every vmap that is running,
so that the sweep finds the gradient of each sample apart. Results keep a graph only where they depend on
something outside that requires grad, such as the leaves of an outer transform.

Forward mode is reverse mode twice: g(u) = vjp(u) is linear in u, and its own vjp is the jvp (Townsend 2017, "A
new trick for calculating Jacobian vector products"). It costs about three sweeps instead of one.
"""
import functools

from fasttensor._core.tensor import Tensor
from fasttensor.autograd import grad as gradients_of
from fasttensor.autograd.batched import Batched, batch, levels, value_at
from fasttensor.autograd.grad_mode import enable_grad, is_grad_enabled
from fasttensor.autograd.reach import reaches_beyond
from fasttensor.functional.creation_like import zeros_like
from fasttensor.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["grad", "grad_and_value", "vjp", "jvp", "linearize", "functionalize", "debug_unwrap"]


# --- leaves and batches ---
def plain(x, active):
    """The tensor of all samples, [outermost batch, ..., innermost batch, *x.shape]."""
    for level in reversed(active):
        value = value_at(x, level)
        x = x.unsqueeze(0).expand(level.size, *x.shape) if value is None else value
    return x


def rebatched(x, active):
    """The inverse of `plain`."""
    for level in active:
        x = batch(x, level)
    return x


class Trace:
    """One run of a function on fresh leaves: what a sweep needs."""

    def __init__(self, name, func, args, kwargs, argnums, has_aux=False):
        self.name, self.active = name, levels()
        chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for n in chosen:
            if not isinstance(n, int):
                raise RuntimeError(f"{name}: argnum must be int, got: {type(n)}")
            if not -len(args) <= n < len(args):
                raise RuntimeError(f"{name}: Got argnum={n}, but only {len(args)} positional inputs")
        chosen = tuple(n % len(args) for n in chosen)
        if len(set(chosen)) != len(chosen):
            raise RuntimeError(f"{name}: argnums must be unique, got {argnums}")
        picked = args[chosen[0]] if isinstance(argnums, int) else tuple(args[n] for n in chosen)
        inputs, self.input_spec = tree_flatten(picked)
        if not inputs:
            raise RuntimeError(f"{name}: Expected at least one Tensor input, got none")
        self.aux = None
        with enable_grad():
            self.leaves = [self.leaf(x) for x in inputs]
            fresh = tree_unflatten([rebatched(x, self.active) for x in self.leaves], self.input_spec)
            args = list(args)
            for n, value in zip(chosen, (fresh,) if isinstance(argnums, int) else fresh):
                args[n] = value
            out = func(*args, **kwargs)
            if has_aux:
                if not (isinstance(out, tuple) and len(out) == 2):
                    raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
                out, self.aux = out
            self.outs, self.out_spec = tree_flatten(out)
        self.check_outputs()

    def leaf(self, x):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{self.name}: Expected all inputs that are differentiated to be Tensors, got {type(x).__name__}")
        if not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(f"{self.name}: only Tensors of floating point and complex dtype can require gradients, got {x.dtype}")
        p = plain(x, self.active)
        return p.view_as(p) if p.requires_grad else p.detach().requires_grad_()

    def check_outputs(self):
        if not self.outs:
            raise RuntimeError(f"{self.name}: Expected f to be a function that has non-empty output, got none")
        for y in self.outs:
            if not isinstance(y, Tensor):
                raise RuntimeError(f"{self.name}: Expected all outputs of f to be Tensors, got type {type(y).__name__}")

    @functools.cached_property
    def values(self):
        """The outputs of all samples."""
        with enable_grad():
            return [plain(y, self.active) for y in self.outs]

    @functools.cached_property
    def has_outer(self):
        """Whether something outside that requires grad enters the outputs or is an input."""
        return reaches_beyond(self.values + self.leaves, [x for x in self.leaves if x.is_leaf])

    def sweep(self, seeds, create, keep=True):
        """Gradients of the leaves for seeds of the outputs, zeros where nothing depends on them."""
        used = [(y, s) for y, s in zip(self.values, seeds) if y.requires_grad and s is not None]
        if not used:
            return [zeros_like(x) for x in self.leaves]
        found = gradients_of([y for y, _ in used], self.leaves, [s for _, s in used], retain_graph=keep or create, create_graph=create,
                             allow_unused=True)
        return [zeros_like(x) if g is None else g for x, g in zip(self.leaves, found)]

    def result(self, values, spec, keep_graph):
        """A tree of results as the caller sees them."""
        return tree_unflatten([rebatched(v if keep_graph else v.detach(), self.active) for v in values], spec)

    def output(self, keep_graph):
        return self.out_spec.unflatten([y if keep_graph else y.detach() for y in self.outs])

    def aux_output(self, keep_graph):
        return self.aux if keep_graph else tree_map(lambda t: t.detach() if isinstance(t, Tensor) else t, self.aux)


def creates(trace, *others):
    """Whether a result's graph is wanted: it depends on something outside, and recording is on there."""
    return is_grad_enabled() and (trace.has_outer or any(t.requires_grad for t in others))


# --- reverse mode ---
def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient, value) of a function with a scalar result; with has_aux (gradient, (value, aux)).

    The differentiated arguments are floating point. Raises RuntimeError where the function does not return one number.

    >>> import fasttensor as torch
    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.))
    (tensor(6.), tensor(9.))
    """
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        trace = Trace("grad", func, args, kwargs, argnums, has_aux)
        if len(trace.outs) != 1 or not trace.out_spec.is_leaf():
            raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a single tensor, got a container of"
                               f" {len(trace.outs)} tensors")
        y = trace.outs[0]
        if y.dim() != 0:
            raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with"
                               f" {y.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        if y.is_complex():
            raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a real tensor, got a complex one: use vjp")
        create = creates(trace)
        seed = trace.values[0].detach()
        found = trace.sweep([seed.new_ones(()).expand(seed.shape)], create, keep=create)
        gradient = trace.result(found, trace.input_spec, create)
        value = trace.output(create)
        return (gradient, (value, trace.aux_output(create))) if has_aux else (gradient, value)
    return wrapped


def grad(func, argnums=0, has_aux=False):
    """The gradient of a function with a scalar result, as a function of the same arguments.

    argnums: which arguments to differentiate by, an int or a tuple of ints; each may be a tree of tensors. has_aux: the
    function returns (value, aux), and (gradient, aux) comes back. Raises RuntimeError for other results.

    >>> import fasttensor as torch
    >>> torch.func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        gradient, rest = both(*args, **kwargs)
        return (gradient, rest[1]) if has_aux else gradient
    return wrapped


def vjp(func, *primals, has_aux=False):
    """(func(*primals), f) with f(cotangents) the vector-Jacobian products by each primal; with has_aux (value, f, aux).

    Arguments and results are floating point. Raises RuntimeError for an argument or a result that is no tensor.

    >>> import fasttensor as torch
    >>> y, f = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> f(torch.tensor([1., 2.]))
    (tensor([1., 2.]),)
    """
    if not primals:
        raise RuntimeError("vjp: Expected at least one primal, got none")
    trace = Trace("vjp", func, primals, {}, tuple(range(len(primals))), has_aux)
    keep = creates(trace)

    def pull(*cotangents, retain_graph=True, create_graph=None):
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        leaves, spec = tree_flatten(given)
        if spec != trace.out_spec and not (len(leaves) == len(trace.outs) == 1):
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {spec}, primal output: {trace.out_spec}")
        return per_level(trace, lambda *parts: pulled(trace, parts, create_graph), leaves)
    out = trace.output(keep)
    return (out, pull, trace.aux_output(keep)) if has_aux else (out, pull)


def pulled(trace, cotangents, create_graph):
    seeds = []
    for y, c in zip(trace.outs, cotangents):
        if c.shape != y.shape:
            raise RuntimeError(f"vjp: cotangent of shape {tuple(c.shape)} for an output of shape {tuple(y.shape)}")
        seeds.append(plain(c, trace.active))
    create = creates(trace, *seeds) if create_graph is None else create_graph
    return trace.result(trace.sweep(seeds, create), trace.input_spec, create)


def per_level(trace, function, tensors):
    """function(*tensors) where the tensors may be batched by vmaps that were entered after the trace: a sweep a sample."""
    later = [lv for lv in levels() if lv not in trace.active and any(batched_at(t, lv) for t in tensors)]
    if not later:
        return function(*tensors)
    from fasttensor.autograd.batching.loop import sample, stacked
    level = later[-1]
    rows, spec = [], None
    for i in range(level.size):
        leaves, spec = tree_flatten(per_level(trace, function, [sample(t, level, i) for t in tensors]))
        rows.append(leaves)
    return tree_unflatten([batch(stacked(column, "vjp"), level) for column in zip(*rows)], spec)


def batched_at(t, level):
    while isinstance(t, Batched):
        if t.level is level:
            return True
        t = t.value
    return False


# --- forward mode ---
class Linear:
    """The derivative of a traced function at its arguments, as the linear function of tangents."""

    def __init__(self, trace):
        self.trace = trace
        with enable_grad():
            self.seeds = [zeros_like(y).requires_grad_() if y.requires_grad else None for y in trace.values]
            self.used = [s for s in self.seeds if s is not None]
            self.gradients = trace.sweep(self.seeds, True) if self.used else []
        self.outer = None

    def has_outer(self):
        if self.outer is None:
            own = [x for x in self.trace.leaves if x.is_leaf] + self.used
            self.outer = reaches_beyond(self.gradients + self.trace.leaves, own)
        return self.outer

    def __call__(self, tangents, create):
        """The outputs' tangents, of all samples."""
        pairs = [(g, t) for g, t in zip(self.gradients, tangents) if g.requires_grad and t is not None]
        found = [None] * len(self.used)
        if pairs:
            found = gradients_of([g for g, _ in pairs], self.used, [t for _, t in pairs], retain_graph=True, create_graph=create,
                                 allow_unused=True)
        found = iter(found)
        results = []
        for y, s in zip(self.trace.values, self.seeds):
            got = None if s is None else next(found)
            results.append(zeros_like(y) if got is None else got)
        return results


def check_tangents(name, trace, tangents):
    leaves, spec = tree_flatten(tangents)
    if spec != trace.input_spec:
        raise RuntimeError(f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of "
                           f"3 tensors, tangents also must be. Got primals with structure {trace.input_spec} and tangents with structure {spec}")
    return leaves


def tangent_values(trace, leaves):
    values = []
    for x, t in zip(trace.leaves, leaves):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"jvp(f, primals, tangents): Expected tangents to be Tensors, got {type(t).__name__}")
        t = plain(t, trace.active)
        if t.shape != x.shape:
            raise RuntimeError(f"jvp: Expected tangent of the primal's shape {tuple(x.shape)}, got {tuple(t.shape)}")
        values.append(t.to(x.dtype))
    return values


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), Jacobian-vector product with the tangents); with has_aux (value, product, aux).

    primals, tangents: tuples of the function's arguments. strict: raise RuntimeError for an output that does not depend on
    the primals, instead of zeros. The product is found by reverse mode twice (module docstring).

    >>> import fasttensor as torch
    >>> torch.func.jvp(torch.sin, (torch.zeros(()),), (torch.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals). Got {type(primals)}")
    trace = Trace("jvp", func, primals, {}, tuple(range(len(primals))), has_aux)
    leaves = check_tangents("jvp(f, primals, tangents)", trace, tangents)
    if strict and not all(y.requires_grad for y in trace.values):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True.")
    linear = Linear(trace)

    def push(*parts):
        values = tangent_values(trace, parts)
        create = is_grad_enabled() and (linear.has_outer() or any(t.requires_grad for t in values))
        return trace.result(linear(values, create), trace.out_spec, create)
    product = per_level(trace, push, leaves)
    out = trace.output(creates(trace))
    return (out, product, trace.aux_output(creates(trace))) if has_aux else (out, product)


def linearize(func, *primals):
    """(func(*primals), f) with f(*tangents) the Jacobian-vector product, which does not run the function again.

    >>> import fasttensor as torch
    >>> y, f = torch.func.linearize(torch.sin, torch.zeros(()))
    >>> f(torch.tensor(2.))
    tensor(2.)
    """
    if not primals:
        raise RuntimeError("linearize: Expected at least one primal, got none")
    trace = Trace("linearize", func, primals, {}, tuple(range(len(primals))))
    linear = Linear(trace)

    def push(*tangents):
        leaves = check_tangents("linearize", trace, tangents)

        def products(*parts):
            values = tangent_values(trace, parts)
            create = is_grad_enabled() and (linear.has_outer() or any(t.requires_grad for t in values))
            return trace.result(linear(values, create), trace.out_spec, create)
        return per_level(trace, products, leaves)
    return trace.output(creates(trace)), push


# --- others ---
def functionalize(func, *, remove="mutations"):
    """The function itself: operations here are not traced into a form without writes, and its results are the same.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(1))
    tensor([1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): expected remove to be mutations or mutations_and_views, got {remove!r}")
    return func


def debug_unwrap(tensor, *, recurse=True):
    """The tensor of all samples behind a batched tensor, for debugging; other tensors as they are.

    >>> torch.func.debug_unwrap(torch.ones(2))
    tensor([1., 1.])
    """
    while isinstance(tensor, Batched):
        tensor = tensor.value
        if not recurse:
            break
    return tensor
