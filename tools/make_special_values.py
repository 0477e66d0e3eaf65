"""Writes tests/special_values.json: special functions at hard points, by mpmath (`pip install mpmath`) with 80 digits.

    python tools/make_special_values.py

A line a function: points [argument, ..., value, condition], arguments that float32 holds too where they can be; the condition is
how much the value changes relative to a relative change of the arguments, the least error that rounding them can cause.
"""

import json
import random
import struct
from pathlib import Path

import mpmath as mp

mp.mp.dps = 80
draw = random.Random(5)
CASES = {}


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def linear(low, high, n):
    return [draw.uniform(low, high) for _ in range(n)]


def powers(low, high, n):
    return [10.0 ** draw.uniform(low, high) for _ in range(n)]


def near(x):
    """Both sides of a zero, a pole or a seam."""
    return [x * (1 + sign * by) for by in (0, 3e-7, 1e-4, 1e-2) for sign in (-1, 1)][1:]


def both(points):
    return points + [-x for x in points]


def case(name, function, points):
    CASES[name] = function, points


def normal_tail(x):
    return mp.erfc(-mp.mpf(x) / mp.sqrt(2)) / 2


def normal_quantile(p):
    z = mp.sqrt(-2 * mp.log(p)) * -1 if p < 0.1 else mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1)
    for _ in range(60):     # Newton on the logarithm, which is nearly linear in the square of z
        step = (mp.log(normal_tail(z)) - mp.log(mp.mpf(p))) * normal_tail(z) * mp.sqrt(2 * mp.pi) * mp.exp(z * z / 2)
        z -= step
        if abs(step) < abs(z) * mp.mpf(10) ** -45:
            break
    return z


def hurwitz(s, q):
    """mpmath's own loses digits for large s and q."""
    if s < 20:
        return mp.zeta(s, q) if q > 0 else mp.psi(int(s) - 1, q) * (-1) ** int(s) / mp.factorial(int(s) - 1)
    return mp.nsum(lambda k: (q + k) ** -mp.mpf(s), [0, mp.inf]) if q > 200 else sum((mp.mpf(q) + k) ** -mp.mpf(s) for k in range(20000))


def gamma_share(a, x, upper):
    """The series or the continued fraction, term by term: mpmath's own gives up on large a."""
    a, x = mp.mpf(a), mp.mpf(x)
    density = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
    if x < a + 1:
        term = total = mp.mpf(1)
        k = 1
        while term > mp.mpf(10) ** -60 * total:
            term *= x / (a + k)
            total += term
            k += 1
        return 1 - density * total if upper else density * total
    b, c, k = x + 1 - a, mp.mpf(10) ** 300, 1
    d = h = 1 / b
    while True:
        factor = -k * (k - a)
        b += 2
        d, c = 1 / (factor * d + b), b + factor / c
        h *= d * c
        k += 1
        if abs(d * c - 1) < mp.mpf(10) ** -60:
            return density * a * h if upper else 1 - density * a * h


gamma_points = (powers(-30, 30, 4) + linear(0.1, 20, 6) + near(1.0) + near(2.0) + linear(-10, 0, 6) + [-170.3, -1e-8] + near(-3.0)
                + near(1.4616321449683623) + near(-2.457024738220800))
case("lgamma", lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 1e4 else mp.loggamma(x), gamma_points)
case("digamma", mp.digamma, gamma_points)
for _n in (1, 2, 5, 10, 25):
    case(f"polygamma {_n}", lambda x, n=_n: mp.psi(n, x), powers(-3, 4, 5) + linear(0.5, 20, 8) + linear(-6, 0, 4) + [9.99, 10.01])
case("erf", mp.erf, both(powers(-30, 0, 4) + linear(0, 5, 6)))
case("erfc", mp.erfc, both(powers(-30, 0, 3) + linear(0, 5, 5)) + linear(5, 26, 8))
case("erfinv", mp.erfinv, both(powers(-30, -1, 4) + linear(0, 1, 6) + [1 - p for p in (1e-1, 1e-3, 1e-6, 1e-12, 2.0 ** -53)]))
case("erfcx", lambda x: mp.exp(mp.mpf(x) ** 2) * mp.erfc(x), linear(-26, 30, 14) + powers(1, 6, 4) + [-26.6, 1e-20, 0.5])
case("ndtr", normal_tail, linear(-38, -5, 8) + linear(-5, 8, 8) + powers(-20, -1, 3))
case("ndtri", normal_quantile, powers(-300, -1, 8) + linear(0, 1, 8) + near(0.5) + [1 - 1e-6, 1 - 1e-12])
case("log_ndtr", lambda x: mp.log(normal_tail(x)) if x < 5 else mp.log1p(-normal_tail(-x)), linear(-40, 8, 12) + [-1e3, -1e5, 20.0, 37.0, -1.0, 1e-9])
_bessel = powers(-30, 0, 3) + linear(0, 10, 6) + [7.99, 8.01] + linear(10, 90, 4)
case("i0", lambda x: mp.besseli(0, x), both(_bessel) + [500.0])
case("i1", lambda x: mp.besseli(1, x), both(_bessel) + [500.0])
case("i0e", lambda x: mp.besseli(0, x) * mp.exp(-abs(mp.mpf(x))), both(_bessel) + [1e3, 1e6])
case("i1e", lambda x: mp.besseli(1, x) * mp.exp(-abs(mp.mpf(x))), both(_bessel) + [1e3, 1e6])
_waves = powers(-20, 0, 3) + linear(0, 10, 6) + linear(10, 60, 5) + powers(2, 6, 4)
case("bessel_j0", lambda x: mp.besselj(0, x), both(_waves) + near(2.404825557695773) + near(5.520078110286311))
case("bessel_j1", lambda x: mp.besselj(1, x), both(_waves) + near(3.831705970207512))
case("bessel_y0", lambda x: mp.bessely(0, x), _waves + near(0.893576966279168))
case("bessel_y1", lambda x: mp.bessely(1, x), _waves + near(2.197141326031017))
for _order in (0, 1):
    case(f"modified_bessel_k{_order}", lambda x, n=_order: mp.besselk(n, x), _bessel + near(2.0))
    case(f"scaled_modified_bessel_k{_order}", lambda x, n=_order: mp.besselk(n, x) * mp.exp(x), _bessel + near(2.0) + [1e5])
case("spherical_bessel_j0", lambda x: mp.sin(x) / x, both(powers(-20, 3, 6) + linear(0, 8, 6)) + near(0.5))
case("airy_ai", mp.airyai, linear(-10, 10, 14) + [50.0, -70.0, 1e-10] + near(2.0) + near(-4.0) + near(-2.338107410459767))
case("expm1", mp.expm1, both(powers(-30, 1.8, 8) + linear(0, 2, 4)))
case("log1p", mp.log1p, both(powers(-30, -0.1, 8)) + powers(0, 30, 3) + [-1 + 1e-6, -1 + 2.0 ** -50])
case("sinc", lambda x: mp.sinpi(x) / (mp.pi * mp.mpf(x)),
     both(powers(-20, 0, 4) + linear(0, 9, 6)) + near(1.0) + near(101.0) + [1000.0])
case("entr", lambda x: -x * mp.log(x), powers(-30, 30, 8) + near(1.0))
case("logit", lambda p: mp.log(p) - mp.log1p(-mp.mpf(p)), powers(-30, -1, 4) + linear(0, 1, 6) + near(0.5) + near(0.25) + [1 - 1e-6])
case("tanhshrink", lambda x: mp.mpf(x) - mp.tanh(x), both(powers(-4, 1, 8)) + near(0.25))
case("log_sigmoid", lambda x: -mp.log1p(mp.exp(-mp.mpf(x))), both(powers(-10, 1.9, 8)))
case("zeta", hurwitz, [(s, q) for s in (1.01, 1.5, 2, 5, 20, 50, 100) for q in (1e-3, 0.5, 1, 9.5, 30, 150)] + [(3, -0.3), (4, -10.3)])
_shares = [(a, x) for a in (1e-10, 1e-3, 0.5, 1, 3, 9.5, 10.5, 50, 150) for x in (1e-3, 0.3, 1, 1.5, 5, 12, 40, 160)]
_shares += [(1e3, 1e3), (1e3, 900.0), (1e3, 1200.0), (1e5, 1e5), (1e5, 99000.0), (2e6, 2e6), (2e6, 1998000.0), (2e6, 2003000.0)]
case("igamma", lambda a, x: gamma_share(a, x, False), _shares)
case("igammac", lambda a, x: gamma_share(a, x, True), _shares)


def value(function, args):
    y = function(*args)
    return y.real if isinstance(y, mp.mpc) else mp.mpf(y)


def row(function, args):
    """[arguments, value, condition]."""
    args = tuple(args) if isinstance(args, tuple) else (args,)
    args = [single(x) if 1e-37 < abs(x) < 1e38 else x for x in args]
    y, condition, by = value(function, args), mp.mpf(0), mp.mpf(10) ** -20
    for i in range(len(args)):
        moved = [mp.mpf(x) * (1 + by) if j == i else mp.mpf(x) for j, x in enumerate(args)]
        condition += abs(value(function, moved) - y) / by
    return [*args, float(mp.nstr(y, 20)), float(mp.nstr(condition, 3))]


if __name__ == "__main__":
    lines = []
    for name, (function, points) in CASES.items():
        rows = []
        for p in points:
            try:
                rows.append(row(function, p))
            except (ValueError, ZeroDivisionError):
                pass        # a pole
        keep = [r for r in rows if all(abs(v) < 1e300 for v in r) and (r[-2] == 0 or abs(r[-2]) > 1e-290)]
        lines.append(f"{json.dumps(name)}: {json.dumps(keep)}")
    (Path(__file__).parent.parent / "tests" / "special_values.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
