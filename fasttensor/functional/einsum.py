"""Products written by their indices: einsum, tensordot, kron, bilinear. All come down to one batched
matrix product a pair of operands."""

from functools import lru_cache

from fasttensor._core.dtype import promote_types
from fasttensor._core.tensor import Tensor
from fasttensor.functional import stand_for_function
from fasttensor.functional.common import give
from fasttensor.functional.matmul import check_dtypes, check_tensors, matmul, numel, show

__all__ = ["einsum", "kron", "tensordot"]
stand_for_function(__name__)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of sublist numbers


def einsum(*args):
    """Sum of products of elements, by Einstein's convention.

    equation: one comma-separated string of letters an operand, one letter a dimension; after "->" the letters of
    the result (default: those that occur once, in alphabetical order). "..." stands for dimensions that
    broadcast. Letters that the result lacks are summed. The sublist form einsum(a, [0, 1], b, [1, 2], [0, 2]) is
    understood too. With three or more operands the pair with the smallest product goes first.
    Raises RuntimeError for an equation that does not fit the operands.

    >>> torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 4)).shape
    torch.Size([2, 4])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and "
            "its subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
        if len(operands) == 2 and isinstance(operands[0], Tensor) and isinstance(operands[1], Tensor):
            plan = pair_plan(equation, operands[0].shape, operands[1].shape)
            if plan is not None and operands[0].dtype == operands[1].dtype:
                return run_pair(plan, *operands)
        terms, result = parse_equation(equation)
    else:
        terms, result, operands = parse_sublists(args)
        equation = ",".join(terms) + ("" if result is None else "->" + result)
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    check_tensors("einsum", *operands)
    if len(terms) != len(operands):
        few = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {few} operands were provided than specified in the equation {equation!r}: "
            f"{len(operands)} for {len(terms)}"
        )
    return contract(
        [prepare(t, term, k, equation) for k, (t, term) in enumerate(zip(operands, terms))], result, equation
    )


@lru_cache(512)
def pair_plan(equation, p, q):
    """How two operands of these shapes become one product of matrices: (permutation, shape) of each and of the
    result, None for a step without effect. None altogether for what needs sums, diagonals or broadcasting."""
    terms, result = parse_equation(equation)
    if len(terms) != 2 or "." in equation.replace("->", "") or len(terms[0]) != len(p) or len(terms[1]) != len(q):
        return None
    left, right = terms
    once = "".join(sorted(c for c in set(left + right) if (left + right).count(c) == 1))
    result = once if result is None else result
    if any(len(set(t)) != len(t) for t in (left, right, result)) or not set(result) <= set(left + right):
        return None
    batch = [c for c in left if c in right and c in result]
    summed = [c for c in left if c in right and c not in result]
    rows, columns = [c for c in left if c not in right], [c for c in right if c not in left]
    if (
        not summed and (batch or not rows or not columns)
        or not set(rows + columns) <= set(result)
        or any(p[left.index(c)] != q[right.index(c)] for c in batch + summed)
    ):
        return None
    sizes = {**dict(zip(left, p)), **dict(zip(right, q))}
    n, m, k, o = (numel(sizes[c] for c in group) for group in (batch, rows, summed, columns))
    head = (n,) if batch else ()
    out = batch + rows + columns

    def step(have, want, shape):
        order = None if list(have) == want else tuple(have.index(c) for c in want)
        return order, None if tuple(sizes[c] for c in want) == shape else shape

    full = tuple(sizes[c] for c in out)
    return (
        *step(left, batch + rows + summed, head + (m, k)),
        *step(right, batch + summed + columns, head + (k, o)),
        None if full == head + (m, o) else full,
        None if out == list(result) else tuple(out.index(c) for c in result),
    )


def run_pair(plan, a, b):
    order_a, shape_a, order_b, shape_b, shape, order = plan
    if order_a is not None:
        a = a.permute(order_a)
    if shape_a is not None:
        a = a.reshape(shape_a)
    if order_b is not None:
        b = b.permute(order_b)
    if shape_b is not None:
        b = b.reshape(shape_b)
    # a column by a row needs no sums
    c = a * b if a.shape[-1] == 1 and a.dtype.name != "bool" else matmul(a, b)
    if shape is not None:
        c = c.reshape(shape)
    return c if order is None else c.permute(order)


def parse_equation(equation):
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    for ch in left.replace("...", "") + right.replace("...", ""):
        if ch not in LETTERS and ch != ",":
            raise RuntimeError(
                f"einsum(): invalid subscript given: {ch!r} in the equation {equation!r}; subscripts must be in "
                "[a-zA-Z]"
            )
    return left.split(","), right if arrow else None


def parse_sublists(args):
    def term(sublist):
        text = ""
        for item in sublist:
            if item is Ellipsis:
                text += "..."
            elif not 0 <= int(item) < len(LETTERS):
                raise RuntimeError(
                    f"einsum(): subscripts in subscript list must be within the range [0, {len(LETTERS)}), got {item}"
                )
            else:
                text += LETTERS[int(item)]
        return text

    pairs = len(args) // 2
    operands = list(args[0 : 2 * pairs : 2])
    return [term(s) for s in args[1 : 2 * pairs : 2]], term(args[-1]) if len(args) % 2 else None, operands


def labels_of(term, rank, place, equation):
    """One label a dimension; dimensions under "..." are numbers, counted from the right."""
    before, dots, after = term.partition("...")
    if "." in before + after:
        raise RuntimeError(
            f"einsum(): found '.' for operand {place} in {equation!r} that is not part of an ellipsis, or a "
            "second ellipsis"
        )
    covered = rank - len(before) - len(after)
    if covered < 0 or (covered and not dots):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(before) + len(after)}) does not match "
            "the number of"
            f" dimensions ({rank}) for operand {place} of {equation!r}" + ("" if dots else " and no ellipsis was given")
        )
    return list(before) + list(range(covered - 1, -1, -1)) + list(after)


def prepare(t, term, place, equation):
    """The operand with one dimension a label: repeated letters become diagonals."""
    labels = labels_of(term, t.ndim, place, equation)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if t.shape[i] != t.shape[j]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {place} but the sizes don't match, "
                    f"{t.shape[j]} != {t.shape[i]}"
                )
            t = t.diagonal(0, i, j)
            del labels[j], labels[i]
            labels.append(label)
    return t, labels


def contract(parts, result, equation):
    sizes, counts = {}, {}
    for place, (t, labels) in enumerate(parts):
        for label, size in zip(labels, t.shape):
            counts[label] = counts.get(label, 0) + 1
            known = sizes.get(label, 1)
            if known != 1 and size not in (1, known):
                raise RuntimeError(
                    f"einsum(): operands do not broadcast with remapped shapes: subscript {label} of operand {place} in"
                    f" {equation!r} has size {size}, elsewhere {known}"
                )
            sizes[label] = known if size == 1 else size
    ellipsis = sorted((label for label in counts if isinstance(label, int)), reverse=True)
    if result is None:
        once = sorted(label for label in occurrences(equation) if occurrences(equation)[label] == 1)
        wanted = ellipsis + once
    else:
        before, dots, after = result.partition("...")
        wanted = list(before) + (ellipsis if dots else []) + list(after)
        for label in wanted:
            if wanted.count(label) > 1:
                raise RuntimeError(
                    f"einsum(): output subscript {label} appears more than once in the output of {equation!r}"
                )
            if label not in sizes:
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand "
                    f"of {equation!r}"
                )
    while len(parts) > 1:
        i, j = (0, 1) if len(parts) == 2 else cheapest_pair(parts, wanted, sizes)
        others = [p for k, p in enumerate(parts) if k not in (i, j)]
        keep = set(wanted).union(*(labels for _, labels in others))
        parts = [multiply_pair(*parts[i], *parts[j], keep)] + others
    t, labels = sum_out(*parts[0], set(wanted))
    return t.permute([labels.index(label) for label in wanted]) if labels != wanted else t


def occurrences(equation):
    left = equation.replace(" ", "").partition("->")[0].replace("...", "").replace(",", "")
    return {ch: left.count(ch) for ch in left}


def cheapest_pair(parts, wanted, sizes):
    best = None
    for j in range(len(parts)):
        for i in range(j):
            others = set(wanted).union(*(labels for k, (_, labels) in enumerate(parts) if k not in (i, j)))
            union = set(parts[i][1]) | set(parts[j][1])
            cost = (numel(sizes[c] for c in union & others), numel(sizes[c] for c in union), i, j)
            best = cost if best is None or cost < best else best
    return best[2:]


def sum_out(t, labels, keep):
    """Sum over the dimensions that nothing else reads; small integers become int64, as in `sum`."""
    drop = [k for k, label in enumerate(labels) if label not in keep]
    if not drop:
        return t, labels
    return t.sum(drop), [label for label in labels if label in keep]


def multiply_pair(a, la, b, lb, keep):
    """The product of two operands, summed over what `keep` lacks; of two dtypes where nothing is."""
    given = a, b
    a, la = sum_out(a, la, keep | set(lb))
    b, lb = sum_out(b, lb, keep | set(la))
    # A size of one that broadcasts is the other operand's dimension alone.
    for label in [c for c in la if c in lb]:
        p, q = a.shape[la.index(label)], b.shape[lb.index(label)]
        if p == 1 and q != 1:
            a, la = a.squeeze(la.index(label)), [c for c in la if c != label]
        elif q == 1 and p != 1:
            b, lb = b.squeeze(lb.index(label)), [c for c in lb if c != label]
    a, la = sum_out(a, la, keep | set(lb))
    b, lb = sum_out(b, lb, keep | set(la))
    batch = [c for c in la if c in lb and c in keep]
    summed = [c for c in la if c in lb and c not in keep]
    left, right = [c for c in la if c not in lb], [c for c in lb if c not in la]
    a = a.permute([la.index(c) for c in batch + left + summed])
    out = batch + left + right
    if not summed:
        b = b.permute([lb.index(c) for c in batch + right])
        for _ in right:
            a = a.unsqueeze(-1)
        for _ in left:
            b = b.unsqueeze(len(batch))
        return a * b, out
    check_dtypes("einsum", *given)
    b = b.permute([lb.index(c) for c in batch + summed + right])
    if a.dtype != b.dtype:
        a, b = a.to(promote_types(a.dtype, b.dtype)), b.to(promote_types(a.dtype, b.dtype))
    nb, nl, ns = len(batch), len(left), len(summed)
    shape = tuple(a.shape[: nb + nl]) + tuple(b.shape[nb + ns :])
    m, k, n = numel(a.shape[nb : nb + nl]), numel(b.shape[nb : nb + ns]), numel(b.shape[nb + ns :])
    head = (numel(a.shape[:nb]),) if nb else ()
    return matmul(a.reshape(head + (m, k)), b.reshape(head + (k, n))).reshape(shape), out


def tensordot(a, b, dims=2, out=None):
    """Sum of products over several dimensions at once.

    dims: an int n for the last n dimensions of `a` and the first n of `b`, or a pair of lists of dimensions. The
    result has the other dimensions of a, then those of b.
    Raises RuntimeError when the sizes of a pair differ.

    >>> torch.tensordot(torch.ones(3, 4, 5), torch.ones(4, 3, 2), dims=([1, 0], [0, 1])).shape
    torch.Size([5, 2])
    """
    check_tensors("tensordot", a, b)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for {show(a, b)}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: both dimension lists should have same length, got {left} and {right}")
    check_dtypes("tensordot", a, b)
    left, right = tuple(left), tuple(right)
    plan = dims_plan(a.shape, b.shape, left, right)
    if plan is not None:
        return give(out, run_pair(plan, a, b), "tensordot", True)
    left, right = wrapped(a, left), wrapped(b, right)
    for p, q in zip(left, right):
        if a.shape[p] != b.shape[q]:
            if a.shape[p] == 1:
                b = b.sum(q, keepdim=True, dtype=b.dtype)
            elif b.shape[q] == 1:
                a = a.sum(p, keepdim=True, dtype=a.dtype)
            else:
                raise RuntimeError(
                    f"tensordot: contracted dimensions need to match, but first has size {a.shape[p]} in dim "
                    f"{p} and second has size {b.shape[q]} in dim {q}"
                )
    return give(out, run_pair(dims_plan(a.shape, b.shape, tuple(left), tuple(right)), a, b), "tensordot", True)


@lru_cache(512)
def dims_plan(p, q, left, right):
    """The plan of `run_pair` for a product over the dimensions left of shape p and right of shape q; None where they do not fit."""
    m, n = len(p), len(q)
    left, right = [d + m if d < 0 else d for d in left], [d + n if d < 0 else d for d in right]
    if any(not 0 <= d < m for d in left) or any(not 0 <= d < n for d in right) or len(set(left)) < len(left) or len(set(right)) < len(right):
        return None
    if any(p[a] != q[b] for a, b in zip(left, right)):
        return None
    rest_a, rest_b = [d for d in range(m) if d not in left], [d for d in range(n) if d not in right]
    k, rows, columns = numel(p[d] for d in left), numel(p[d] for d in rest_a), numel(q[d] for d in rest_b)
    shape = tuple([p[d] for d in rest_a] + [q[d] for d in rest_b])
    order_a, order_b = tuple(rest_a + left), tuple(right + rest_b)
    return (order_a if order_a != tuple(range(m)) else None, (rows, k) if len(rest_a) != 1 or len(left) != 1 else None,
            order_b if order_b != tuple(range(n)) else None, (k, columns) if len(rest_b) != 1 or len(right) != 1 else None,
            None if shape == (rows, columns) else shape, None)


def wrapped(t, dims):
    found = []
    for d in dims:
        if not -t.ndim <= d < t.ndim:
            raise IndexError(
                f"tensordot: Dimension out of range (expected to be in range of [{-t.ndim}, {t.ndim - 1}], but got {d})"
            )
        found.append(d % t.ndim)
    if len(set(found)) < len(found):
        raise RuntimeError(f"tensordot: a dimension appears twice in {dims}")
    return found


def kron(input, other, *, out=None):
    """Kronecker product: every element of `input` times all of `other`. Dimensions are aligned from the right and
    the dtypes promoted.

    >>> torch.kron(torch.eye(2), torch.ones(1, 2))
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    """
    check_tensors("kron", input, other)
    rank = max(input.ndim, other.ndim)
    p = (1,) * (rank - input.ndim) + tuple(input.shape)
    q = (1,) * (rank - other.ndim) + tuple(other.shape)
    a = input.reshape([size for s in p for size in (s, 1)])
    b = other.reshape([size for s in q for size in (1, s)])
    return give(out, (a * b).reshape([s * t for s, t in zip(p, q)]), "kron")


def bilinear(input1, input2, weight, bias=None):
    """``y[..., o] = sum over i, j of input1[..., i] * weight[o, i, j] * input2[..., j] + bias[o]``.

    input1: (..., in1); input2: (..., in2) with the same leading sizes; weight: (out, in1, in2); bias: (out,) or None.

    dtypes: floating point or complex, all the same. RuntimeError where the last dimensions do not fit the weight.

    >>> F = torch.nn.functional
    >>> F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    check_tensors("bilinear", input1, input2, weight, *(() if bias is None else (bias,)))
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {show(input1, input2)}")
    if weight.ndim != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): the inputs' last sizes do not match the weight's: got {show(input1, input2)} with "
            f"weight {show(weight)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {show(bias)} and {show(weight)}")
    check_dtypes("bilinear", input1, input2, weight)
    outs, in1, in2 = weight.shape
    lead, rows = tuple(input1.shape[:-1]), numel(input1.shape[:-1])
    left = matmul(input1.reshape(rows, in1), weight.transpose(0, 1).reshape(in1, outs * in2)).reshape(rows, outs, in2)
    product = matmul(left, input2.reshape(rows, in2, 1)).reshape(lead + (outs,))
    return product if bias is None else product + bias


METHODS = {"kron": kron}
NN_FUNCTIONAL = ["bilinear"]
