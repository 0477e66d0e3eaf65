"""A line search for the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6)."""
from collections import namedtuple

ARMIJO = 1e-4       # sufficient decrease
CURVATURE = 0.9     # |slope| must fall to this part of its first value

Point = namedtuple("Point", "t loss grad slope")


def cubic_minimum(a, b, low, high):
    """Where the cubic through two points with their slopes is least, within [low, high]."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = square ** 0.5
    if a.t > b.t:
        a, b = b, a
    divisor = b.slope - a.slope + 2 * d2
    if divisor == 0:
        return (low + high) / 2
    return min(max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / divisor), low), high)


def strong_wolfe(at, t, d, loss, grad, slope, max_calls=25, tolerance_change=1e-9):
    """A step length along d that meets the strong Wolfe conditions, or the best one found.

    at(t) -> (loss, gradient); `loss`, `grad` and `slope` are those of t = 0.
    Returns (loss, gradient, t, calls of at). Slopes stay 0-d Tensors: the search is sensitive to
    rounding, and so rounds as PyTorch's does.
    """
    def evaluate(length):
        value, gradient = at(length)
        return Point(length, value, gradient, gradient.dot(d))

    origin = previous = Point(0.0, loss, grad, slope)
    new = evaluate(t)
    calls, iterations = 1, 0
    bracket = None
    while iterations < max_calls:
        if new.loss > loss + ARMIJO * new.t * slope or (iterations > 1 and new.loss >= previous.loss):
            bracket = [previous, new]
            break
        if abs(new.slope) <= -CURVATURE * slope:
            return new.loss, new.grad, new.t, calls
        if new.slope >= 0:
            bracket = [previous, new]
            break
        t = cubic_minimum(previous, new, new.t + 0.01 * (new.t - previous.t), new.t * 10)
        previous = new
        new = evaluate(t)
        calls += 1
        iterations += 1
    if bracket is None:
        bracket = [origin, new]

    width = d.abs().max()
    slow = False
    low = 0 if bracket[0].loss <= bracket[1].loss else 1
    while iterations < max_calls:
        if abs(bracket[1].t - bracket[0].t) * width < tolerance_change:
            break
        left, right = sorted(p.t for p in bracket)
        t = cubic_minimum(*bracket, left, right)
        # Points next to an end shrink the bracket little: twice in a row, step inside.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if slow or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                slow = False
            else:
                slow = True
        else:
            slow = False
        new = evaluate(t)
        calls += 1
        iterations += 1
        if new.loss > loss + ARMIJO * t * slope or new.loss >= bracket[low].loss:
            bracket[1 - low] = new
            low = 0 if bracket[0].loss <= bracket[1].loss else 1
        else:
            if abs(new.slope) <= -CURVATURE * slope:
                bracket[low] = new
                break
            if new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = new
    best = bracket[low]
    return best.loss, best.grad, best.t, calls
