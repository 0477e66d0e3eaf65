"""Jacobians, Hessians and products with them of functions of tensors (PyTorch's ``autograd.functional``).

`func` takes the inputs, a Tensor or a tuple of Tensors, and returns one or a tuple. Results have the inputs' form.
With ``create_graph`` they can be differentiated again; ``strict`` raises RuntimeError where an output does not depend
on an input, instead of giving zeros.
"""
from fasttensor._core.tensor import Tensor
from fasttensor.autograd.api import grad
from fasttensor.autograd.grad_mode import enable_grad

__all__ = ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"]


# --- arguments and results ---
def as_tuple(value, what, name):
    """(is a tuple, the tensors)."""
    is_tuple = isinstance(value, tuple)
    found = value if is_tuple else (value,)
    for i, x in enumerate(found):
        if not isinstance(x, Tensor):
            which = f"value at index {i}" if is_tuple else f"given {what}"
            raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type {type(x)}.")
    return is_tuple, found


def prepared(inputs, create_graph):
    """The inputs as what the sweep ends at: with their history where a graph is wanted, else new leaves."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def check_v(v, others, is_tuple):
    if len(v) != len(others):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(others)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, others)):
        if a.shape != b.shape:
            raise RuntimeError((f"Entry {i} in " if is_tuple else "") + f"v has invalid size: should be {b.shape} but got {a.shape}.")


def seeds_of(v, others, what, name):
    """The vector of a product; None stands for 1 where there is one element."""
    if v is None:
        if len(others) != 1 or others[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {what}")
        return (others[0].detach() * 0 + 1,)
    is_tuple, v = as_tuple(v, "v", name)
    check_v(v, others, is_tuple)
    return v


def require_dependence(outputs, strict):
    if not strict:
        return
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a"
                               " differentiable manner from the input when running in strict mode.")


def gradients(outputs, inputs, seeds, create_graph, keep=True):
    """Gradients by each input, None where there is none."""
    used = [(y, s) for y, s in zip(outputs, seeds) if y is not None and y.requires_grad and s is not None]
    if not used:
        return (None,) * len(inputs)
    return grad([y for y, _ in used], inputs, [s for _, s in used], retain_graph=keep or create_graph, create_graph=create_graph, allow_unused=True)


def filled(values, likes, strict, message):
    """Zeros for what does not depend, or RuntimeError in strict mode."""
    found = []
    for i, (g, x) in enumerate(zip(values, likes)):
        if g is None:
            if strict:
                raise RuntimeError(message.format(i))
            g = x.detach() * 0
        found.append(g)
    return tuple(found)


def finished(values, is_tuple, create_graph):
    values = tuple(v if create_graph else v.detach() for v in values)
    return values if is_tuple else values[0]


INDEPENDENT = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."


def run(func, inputs, name, create_graph, strict):
    """(inputs were a tuple, leaves, outputs are a tuple, outputs)."""
    many, inputs = as_tuple(inputs, "inputs", name)
    inputs = prepared(inputs, create_graph)
    tuple_out, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", name)
    require_dependence(outputs, strict)
    return many, inputs, tuple_out, outputs


# --- products ---
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J): the product of a vector, shaped like the outputs, with the Jacobian.

    `inputs`: a floating-point tensor or a tuple; `v` has the outputs' shapes, None for one number. Raises TypeError for what is no
    tensor, RuntimeError for shapes that do not fit.

    >>> import fasttensor as torch
    >>> torch.autograd.functional.vjp(lambda x: x * 2, torch.ones(2), torch.tensor([1., 3.]))
    (tensor([2., 2.]), tensor([2., 6.]))
    """
    with enable_grad():
        many, inputs, tuple_out, outputs = run(func, inputs, "vjp", create_graph, strict)
        v = seeds_of(v, outputs, "the user-provided function returns a single Tensor with a single element.", "vjp")
        found = filled(gradients(outputs, inputs, v, create_graph, False), inputs, strict, INDEPENDENT)
    return finished(outputs, tuple_out, create_graph), finished(found, many, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v): the product of the Jacobian with a vector shaped like the inputs.

    Found by reverse mode twice: the vector-Jacobian product is linear in its vector, and the gradient of that is J v (Townsend
    2017, "A new trick for calculating Jacobian vector products").

    `inputs`: a floating-point tensor or a tuple; `v` has the inputs' shapes, None for one number. Raises TypeError for what is no
    tensor, RuntimeError for shapes that do not fit.

    >>> import fasttensor as torch
    >>> torch.autograd.functional.jvp(lambda x: x * 2, torch.ones(2), torch.tensor([1., 3.]))
    (tensor([2., 2.]), tensor([2., 6.]))
    """
    with enable_grad():
        many, inputs, tuple_out, outputs = run(func, inputs, "jvp", create_graph, strict)
        v = seeds_of(v, inputs, "the input to the user-provided function is a single Tensor with a single element.", "jvp")
        dummies = tuple((y.detach() * 0).requires_grad_() for y in outputs)
        first = gradients(outputs, inputs, dummies, True)
        filled(first, inputs, strict, INDEPENDENT)
        found = gradients(first, dummies, v, create_graph)
        found = filled(found, outputs, False, "")
    return finished(outputs, tuple_out, create_graph), finished(found, tuple_out, create_graph)


def scalar_gradient(func, inputs, name, create_graph, strict):
    """(inputs were a tuple, leaves, the scalar output, its gradients as a graph)."""
    many, inputs, tuple_out, outputs = run(func, inputs, name, create_graph, strict)
    if tuple_out or outputs[0].numel() != 1:
        raise RuntimeError(f"The function given to {name} should return a single Tensor" if tuple_out else
                           f"The Tensor returned by the function given to {name} should contain a single element")
    seed = outputs[0].detach() * 0 + 1
    first = gradients(outputs, inputs, (seed,), True)
    return many, inputs, outputs[0], first


SECOND = "The output of the user-provided function's gradient is independent of input {}. This is not allowed in strict mode."


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H) for a function with one element as its output; v is shaped like the inputs.

    `v` has the inputs' shapes. TypeError for what is no tensor, RuntimeError where `func` does not return one number.

    >>> import fasttensor as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.ones(2), torch.tensor([1., 0.]))[1]
    tensor([6., 0.])
    """
    with enable_grad():
        many, inputs, output, first = scalar_gradient(func, inputs, "vhp", create_graph, strict)
        v = seeds_of(v, inputs, "the input to the user-provided function is a single Tensor with a single element.", "vhp")
        filled(first, inputs, strict, INDEPENDENT)
        found = filled(gradients(first, inputs, v, create_graph, False), inputs, strict, SECOND)
    return finished((output,), False, create_graph), finished(found, many, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v) for a function with one element as its output; v is shaped like the inputs. `vhp` costs less and is equal
    where the second derivatives are continuous.

    `v` has the inputs' shapes. TypeError for what is no tensor, RuntimeError where `func` does not return one number.

    >>> import fasttensor as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.ones(2), torch.tensor([1., 0.]))[1]
    tensor([6., 0.])
    """
    with enable_grad():
        many, inputs, output, first = scalar_gradient(func, inputs, "hvp", create_graph, strict)
        v = seeds_of(v, inputs, "the input to the user-provided function is a single Tensor with a single element.", "hvp")
        first = filled(first, inputs, strict, INDEPENDENT)
        dummies = tuple((x.detach() * 0).requires_grad_() for x in inputs)
        second = gradients(first, inputs, dummies, True)
        filled(second, inputs, strict, SECOND)
        found = filled(gradients(second, dummies, v, create_graph), inputs, False, "")
    return finished((output,), False, create_graph), finished(found, many, create_graph)


# --- whole matrices ---
def check_strategy(name, argument, strategy, strict, vectorize):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'torch.autograd.functional.{name}: expected {argument} to be either "reverse-mode" or "forward-mode", got {strategy!r}')
    if strict and vectorize:
        raise RuntimeError(f"torch.autograd.functional.{name}: `strict=True` and `vectorized=True` are not supported together. Please either set"
                           " `strict=False` or `vectorize=False`.")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(f'torch.autograd.functional.{name}: `{argument}="forward-mode"` is only supported with `vectorize=True`.')


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian: for one output and one input a Tensor [*output shape, *input shape], else tuples, outputs outside.

    strategy: "reverse-mode", a sweep an output element, or "forward-mode" (with ``vectorize``), a sweep an input element.

    `inputs`: a floating-point tensor or a tuple. TypeError for what is no tensor, RuntimeError where `strict` and an output does not depend on an input.

    >>> import fasttensor as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_strategy("jacobian", "strategy", strategy, strict, vectorize)
    with enable_grad():
        many, inputs, tuple_out, outputs = run(func, inputs, "jacobian", create_graph, strict)
        by = by_columns if strategy == "forward-mode" else by_rows
        rows = by(outputs, inputs, create_graph, strict)
        rows = tuple(finished(r, many, create_graph) for r in rows)
    return rows if tuple_out else rows[0]


def one_hot(like, at):
    seed = like.detach() * 0
    seed.view(-1)[at] = 1
    return seed


def by_rows(outputs, inputs, create_graph, strict):
    found = []
    for i, y in enumerate(outputs):
        parts = [[] for _ in inputs]
        for at in range(y.numel()):
            row = gradients((y,), inputs, (one_hot(y.contiguous(), at),), create_graph)
            for j, (g, x) in enumerate(zip(row, inputs)):
                if strict and g is None:
                    raise RuntimeError(f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in strict mode.")
                if strict and create_graph and not g.requires_grad:
                    raise RuntimeError(f"The jacobian of the user-provided function is independent of input {j}. This is not allowed in strict mode"
                                       " when create_graph=True.")
                parts[j].append(x.detach() * 0 if g is None else g)
        found.append(tuple(together(p, tuple(y.shape) + tuple(x.shape), 0, x) for p, x in zip(parts, inputs)))
    return found


def by_columns(outputs, inputs, create_graph, strict):
    dummies = tuple((y.detach() * 0).requires_grad_() for y in outputs)
    first = gradients(outputs, inputs, dummies, True)
    parts = [[[] for _ in inputs] for _ in outputs]
    for j, x in enumerate(inputs):
        for at in range(x.numel()):
            seeds = [None] * len(inputs)
            seeds[j] = one_hot(x.contiguous(), at)
            for i, (g, y) in enumerate(zip(gradients(first, dummies, seeds, create_graph), outputs)):
                parts[i][j].append(y.detach() * 0 if g is None else g)
    return [tuple(together(parts[i][j], tuple(y.shape) + tuple(x.shape), y.dim(), x) for j, x in enumerate(inputs)) for i, y in enumerate(outputs)]


def together(parts, shape, dim, like):
    from fasttensor import stack        # the public one: classes and modes are asked for it
    return stack(parts, dim).reshape(shape) if parts else like.new_zeros(shape)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a function with one element as its output: for one input [*shape, *shape], else tuples of tuples.

    `inputs`: a floating-point tensor or a tuple. TypeError for what is no tensor, RuntimeError where `func` does not return one number.

    >>> import fasttensor as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    many, given = as_tuple(inputs, "inputs", "hessian")
    check_strategy("hessian", "outer_jacobian_strategy", outer_jacobian_strategy, strict, vectorize)

    def gradient(*x):
        if not create_graph:
            x = tuple(t if t.requires_grad else t.requires_grad_() for t in x)
        is_tuple, outputs = as_tuple(func(*x), "outputs of the user-provided function", "hessian")
        if is_tuple or outputs[0].numel() != 1:
            raise RuntimeError("The function given to hessian should return a single Tensor" if is_tuple else
                               "The Tensor returned by the function given to hessian should contain a single element")
        require_dependence(outputs, strict)
        found = gradients(outputs, x, (outputs[0].detach() * 0 + 1,), True)
        return filled(found, x, strict, INDEPENDENT)
    made = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return made if many else made[0][0]
