"""Products written by their indices: einsum, one batched matrix product a pair of operands."""

from collections import Counter
from functools import lru_cache
from heapq import heapify, heappop, heappush

from fasttensor._core.dtype import promote_types
from fasttensor._core.tensor import Tensor
from fasttensor.functional import stand_for_function
from fasttensor.functional.matmul import check_dtypes, check_tensors, matmul, numel

__all__ = ["einsum"]
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
    """How two operands of these shapes become one product of matrices: whether they change places, (permutation, shape) of each and of the
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
    swapped = comes_first(columns, rows, result)
    if swapped:
        left, right, rows, columns = right, left, columns, rows
    n, m, k, o = (numel(sizes[c] for c in group) for group in (batch, rows, summed, columns))
    head = (n,) if batch else ()
    out = batch + rows + columns

    def step(have, want, shape):
        order = None if list(have) == want else tuple(have.index(c) for c in want)
        return order, None if tuple(sizes[c] for c in want) == shape else shape

    full = tuple(sizes[c] for c in out)
    return (
        swapped,
        *step(left, batch + rows + summed, head + (m, k)),
        *step(right, batch + summed + columns, head + (k, o)),
        None if full == head + (m, o) else full,
        None if out == list(result) else tuple(out.index(c) for c in result),
    )


def comes_first(columns, rows, result):
    """Whether the second operand's own labels all stand before the first's in the result: its rows then make the result as it lies in memory."""
    places = [[result.index(c) for c in group if c in result] for group in (columns, rows)]
    return bool(places[0] and places[1]) and max(places[0]) < min(places[1])


def run_pair(plan, a, b):
    swapped, order_a, shape_a, order_b, shape_b, shape, order = plan
    if swapped:
        a, b = b, a
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
    t, labels = in_pairs(parts, wanted, sizes)
    t, labels = sum_out(t, labels, set(wanted))
    if labels != wanted:
        t = t.permute([labels.index(label) for label in wanted])
    return t.contiguous() if len(parts) == 1 and len(parts[0][1]) > len(wanted) else t


def occurrences(equation):
    left = equation.replace(" ", "").partition("->")[0].replace("...", "").replace(",", "")
    return {ch: left.count(ch) for ch in left}


def in_pairs(parts, wanted, sizes):
    """One operand from many: the pair with the smallest product first, then the one with the fewest multiplications.

    A product changes the costs of no pair that it is not in: what such a pair must keep is wanted, or in other operands, as before."""
    parts = dict(enumerate(parts))
    asked = Counter(wanted)
    for _, labels in parts.values():
        asked.update(labels)

    def cost(i, j):
        first, second = parts[i][1], parts[j][1]
        union = set(first).union(second)
        kept = [c for c in union if asked[c] > (c in first) + (c in second)]
        return numel(sizes[c] for c in kept), numel(sizes[c] for c in union), i, j

    costs = [cost(i, j) for j in parts for i in range(j)] if len(parts) > 2 else [(0, 0, 0, 1)]
    heapify(costs)
    while len(parts) > 1:
        *_, i, j = heappop(costs)
        if i not in parts or j not in parts:
            continue
        one, two = parts.pop(i), parts.pop(j)
        asked.subtract(one[1])
        asked.subtract(two[1])
        new = min(0, *parts) - 1 if parts else 0        # before all others, as the order of equal costs goes
        made = multiply_pair(*one, *two, {c for c, n in asked.items() if n > 0}, wanted)
        asked.update(made[1])
        rest = list(parts)
        parts[new] = made
        for k in rest:
            heappush(costs, cost(new, k))
    return parts.popitem()[1]


def sum_out(t, labels, keep):
    """Sum over the dimensions that nothing else reads; small integers become int64, as in `sum`."""
    drop = [k for k, label in enumerate(labels) if label not in keep]
    if not drop:
        return t, labels
    return t.sum(drop), [label for label in labels if label in keep]


def multiply_pair(a, la, b, lb, keep, wanted):
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
    if comes_first(right, left, wanted):
        a, la, left, b, lb, right = b, lb, right, a, la, left
        given = given[::-1]
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


METHODS = {}
