"""`backward` and `grad`: how users start the sweep."""
from fasttensor._core.dual cimport any_duals
from fasttensor._core.tensor cimport Tensor, describe
from fasttensor.autograd.engine cimport sweep


cdef list as_list(object value, str what):
    if isinstance(value, Tensor):
        return [value]
    found = list(value)
    for t in found:
        if not isinstance(t, Tensor):
            raise TypeError(f"{what} must be Tensors, got {type(t).__name__}")
    return found


cdef bint check_recorded(list tensors, str name, str what) except False:
    """Refuse what is recorded for the tangents of dual numbers only: the sweep itself would find its nodes."""
    if any_duals():
        for i, t in enumerate(tensors):
            if (<Tensor>t).node is not None and not t.requires_grad:
                raise RuntimeError(f"{name}: element {i} of {what} ({describe(t)}) does not require grad and does not have a grad_fn: it is"
                                   " recorded for its tangent only, which autograd.forward_ad.unpack_dual() gives")
    return True


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulate the gradients of `tensors` into the leaves' ``grad``.

    grad_tensors: the gradient of each tensor, shaped like it; None for scalars.
    inputs: only these tensors' ``grad`` is accumulated.
    Raises RuntimeError where nothing requires grad, shapes differ, or the graph was freed.

    >>> import fasttensor as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([4.])
    """
    outputs = as_list(tensors, "backward: tensors")
    if grad_variables is not None:
        grad_tensors = grad_variables
    if grad_tensors is None:
        gradients = [None] * len(outputs)
    else:
        gradients = [grad_tensors] if isinstance(grad_tensors, Tensor) else list(grad_tensors)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"backward: got {len(outputs)} tensors and {len(gradients)} gradients")
    if inputs is not None:
        inputs = as_list(inputs, "backward: inputs")
        if not inputs:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    check_recorded(outputs, "backward", "tensors")
    keep = create_graph if retain_graph is None else retain_graph
    sweep(outputs, gradients, keep, create_graph, inputs, True, "backward", True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` with respect to `inputs`, a tuple of Tensors.

    grad_outputs: the gradient of each output, shaped like it; None for scalars.
    allow_unused: give None for an input that the outputs do not depend on, instead of raising RuntimeError.

    >>> import fasttensor as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> torch.autograd.grad((x ** 3).sum(), x)
    (tensor([12.]),)
    """
    outs = as_list(outputs, "grad: outputs")
    ins = as_list(inputs, "grad: inputs")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    if grad_outputs is None:
        gradients = [None] * len(outs)
    else:
        gradients = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)
    if len(gradients) != len(outs):
        raise RuntimeError(f"grad: got {len(outs)} outputs and {len(gradients)} gradients")
    check_recorded(outs, "grad", "outputs")
    check_recorded(ins, "grad", "inputs")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        from fasttensor import stack          # the public one: classes and modes are asked for it
        count = len([g for g in gradients if g is not None][0])
        rows = [sweep(outs, [None if g is None else g[i] for g in gradients], True, create_graph, ins, False, "grad",
                      bool(allow_unused or materialize_grads)) for i in range(count)]
        found = [None if any(r is None for r in column) else stack(list(column)) for column in zip(*rows)]
    else:
        found = sweep(outs, gradients, keep, create_graph, ins, False, "grad", bool(allow_unused or materialize_grads))
    if materialize_grads:
        from fasttensor import zeros_like
        found = [zeros_like(t) if g is None else g for t, g in zip(ins, found)]
    return tuple(found)


def tensor_backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate this tensor's gradients into the leaves' ``grad``; see :func:`fasttensor.autograd.backward` for what it raises.

    Args: `gradient`, shaped like this tensor (None for one element); `inputs`, the only tensors whose ``grad`` is accumulated.

    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([4.])
    """
    if inputs is None and not create_graph and not retain_graph:
        check_recorded([self], "backward", "tensors")
        sweep([self], [gradient], False, False, None, True, "backward", True)
    else:
        backward(self, None if gradient is None else [gradient], retain_graph, create_graph, inputs=inputs)
