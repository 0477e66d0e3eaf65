"""Rows: special functions. Sources of the gradients are the recurrences of the NIST Digital Library (DLMF)."""

from .dtypes import FLOAT, SINGLE
from .op import Op


def _s(name, dx, doc, expr=None, **more):
    more.setdefault("namespace", "special")
    if more["namespace"] == "special":
        more.update(method=False, inplace=False)
    return Op(name, expr or f"{name}(x)", dx=dx, dtypes=more.pop("dtypes", FLOAT), promote="float", doc=doc, **more)


# erfcx' = -(1 - 3/2 u + 15/4 u^2 - 105/8 u^3 + ...) u / sqrt(pi) with u = 1 / x^2 (DLMF 7.12.1), where 2 x erfcx(x) and its limit cancel
_U = "(1 / (maximum(x, 50) * maximum(x, 50)))"
_ERFCX_FAR = f"-0.5641895835477563 * {_U} * (1 - {_U} * (1.5 - {_U} * (3.75 - {_U} * (13.125 - {_U} * 59.0625))))"
# The normal density over its distribution at -t: t + 1/t - 2/t^3 + 10/t^5 - 74/t^7 + ..., of the same expansion
_T = "maximum(-x, 50)"
_MILLS_FAR = f"({_T} + (1 - (2 - (10 - 74 / square({_T})) / square({_T})) / square({_T})) / {_T})"
# I1' by its power series (DLMF 10.25.2) with q = (x / 2)^2: below 0.3 to the last digit, where I0 and I1 / x cancel in higher derivatives
_Q = "square(0.5 * where(abs(x) < 0.3, x, 0))"
_I1_NEAR = (f"(0.5 + {_Q} * (0.75 + {_Q} * (0.20833333333333334 + {_Q} * (0.024305555555555556 + {_Q} * (0.0015625"
            f" + {_Q} * 0.00006365740740740741)))))")


def _polynomial(name, words):
    return Op(name, f"{name}(a, b)", numbers="ab", dtypes=SINGLE, promote="float", namespace="special", method=False, inplace=False,
              args=("input", "n"), domain=(-1.0, 1.0), domain_b=(0.0, 6.0), fast=f"{name}_fast(a, b)",
              fast_if="ft_degree_is_short(a, b)",
              doc=f"The {words} of degree `n`, at `input`.")


def _bessel(name, kind, order, **more):
    near = "abs(x) <= 8" if kind == "first" else "(x > 0) and (x <= 8)"
    return _s("bessel_" + name, None, f"The Bessel function of the {kind} kind, order {order}.", dtypes=SINGLE,
              fast=f"bessel_{name}_near(x)", fast_if=near, fast_by_block=True, **more)


ROWS = (
    _s("erf", "1.1283791670955126 * exp(-(x * x)) * g", "The error function.", namespace="torch", special=("erf",)),
    _s("erfc", "-1.1283791670955126 * exp(-(x * x)) * g", "One minus the error function.", namespace="torch",
       special=("erfc",)),
    _s("erfinv", "0.886226925452758 * exp(y * y) * g", "The inverse of the error function.", namespace="torch",
       fast="erfinv_near(x)", fast_if="abs(x) < 0.996", fast_by_block=True,
       special=("erfinv",), domain=(-0.9, 0.9)),
    _s("erfcx", f"g * where(x > 50, {_ERFCX_FAR}, 2 * minimum(x, 50) * y - 1.1283791670955126)",
       "exp(x * x) * erfc(x), without overflow on the way.", node="SpecialErfcx"),
    _s("lgamma", "g * digamma(x)", "The logarithm of the absolute value of the gamma function.", namespace="torch",
       special=("gammaln",), domain=(0.2, 5.0), fast="lgamma_positive(x)", fast_if="x > 0", fast_by_block=True,
       fast_dtypes=("float32",)),
    _s("digamma", "g * _trigamma(x)", "The derivative of lgamma.", namespace="torch", special=("digamma", "psi"),
       domain=(0.2, 5.0)),
    _s("_trigamma", "g * polygamma(2, x)", "The derivative of digamma.", domain=(0.2, 5.0), node="Polygamma"),
    _s("polygamma", "g * polygamma(n + 1, x)", "The derivative of digamma of order `n`.", "polygamma(n, x)",
       fast="polygamma_fast(n, x)", fast_if="polygamma_is_fast(n, x)",
       params={"n": None}, params_first=True, namespace="torch", special=("polygamma",), domain=(0.2, 5.0)),
    _s("i0", "g * i1(x)", "The modified Bessel function of the first kind, order 0.", namespace="torch",
       special=("i0",)),
    _s("i0e", "g * (i1e(x) - sgn(x) * y)", "i0(x) * exp(-|x|).", node="SpecialI0E"),
    _s("i1", f"g * where(abs(x) < 0.3, {_I1_NEAR}, i0(x) - y / where(abs(x) < 0.3, 1, x))",
       "The modified Bessel function of the first kind, order 1.", node="SpecialI1"),
    _s("i1e", f"g * where(abs(x) < 0.3, exp(-abs(x)) * {_I1_NEAR} - sgn(x) * y, i0e(x) - y * (sgn(x) + 1 / where(abs(x) < 0.3, 1, x)))",
       "i1(x) * exp(-|x|).", node="SpecialI1E"),
    _s("ndtr", "0.3989422804014327 * exp(-0.5 * x * x) * g", "The normal distribution function."),
    _s("ndtri", "2.5066282746310002 * exp(0.5 * y * y) * g", "The inverse of the normal distribution function.",
       domain=(0.1, 0.9), fast="ndtri_near(x)", fast_if="(x > 0.002) and (x < 0.998)", fast_by_block=True,
       fast_dtypes=("float64",), node="SpecialNdtri"),
    # the last form where erfcx overflows; operands of the branch that is not taken stay where every factor is finite
    _s("log_ndtr", f"g * where(x < -50, {_MILLS_FAR}, where(x < 1, 0.7978845608028654 / erfcx(minimum(maximum(x, -50), 1) * -0.7071067811865476),"
       " 0.3989422804014327 * exp(-0.5 * maximum(x, 1) * maximum(x, 1)) / ndtr(maximum(x, 1))))",
       "The logarithm of the normal distribution function.", node="SpecialLogNdtr"),
    _s("entr", "-(g * (1 + log(x)))", "The entropy -x * log(x), 0 at zero, -inf below.", domain=(0.1, 3.0), node="SpecialEntr"),
    Op("zeta", "zeta(a, b)", node="SpecialZeta", numbers="ab", fast="zeta_fast(a, b)", fast_if="zeta_is_fast(a, b)",
       db="-(g * (a * zeta(a + 1, b)))", dtypes=FLOAT, promote="float", namespace="special",
       method=False, inplace=False, domain=(1.5, 4.0), domain_b=(0.5, 3.0), source="DLMF 25.11.17",
       doc="Hurwitz's zeta function of `input` and `other`."),
    Op("igamma", "igamma(a, b)", numbers="", fast="igamma_fast(a, b)", fast_if="igamma_is_fast(a, b)",
       db="g * exp((a - 1) * log(b) - b - lgamma(a))", dtypes=FLOAT, domain=(0.3, 4.0),
       special=("gammainc",), source="DLMF 8.8.13", doc="The regularized lower incomplete gamma function."),
    Op("igammac", "igammac(a, b)", numbers="", fast="igammac_fast(a, b)", fast_if="igammac_is_fast(a, b)",
       db="-(g * exp((a - 1) * log(b) - b - lgamma(a)))", dtypes=FLOAT, domain=(0.3, 4.0),
       special=("gammaincc",), source="DLMF 8.8.14", doc="The regularized upper incomplete gamma function."),
    _bessel("j0", "first", 0),
    _bessel("j1", "first", 1),
    _bessel("y0", "second", 0, domain=(0.2, 9.0)),
    _bessel("y1", "second", 1, domain=(0.2, 9.0)),
    _s("modified_bessel_i0", None, "The modified Bessel function of the first kind, order 0.", "i0(x)", dtypes=SINGLE),
    _s("modified_bessel_i1", None, "The modified Bessel function of the first kind, order 1.", "i1(x)", dtypes=SINGLE),
    _s("modified_bessel_k0", None, "The modified Bessel function of the second kind, order 0.", dtypes=SINGLE,
       domain=(0.2, 9.0)),
    _s("modified_bessel_k1", None, "The modified Bessel function of the second kind, order 1.", dtypes=SINGLE,
       domain=(0.2, 9.0)),
    _s("scaled_modified_bessel_k0", None, "modified_bessel_k0(x) * exp(x).", dtypes=SINGLE, domain=(0.2, 9.0)),
    _s("scaled_modified_bessel_k1", None, "modified_bessel_k1(x) * exp(x).", dtypes=SINGLE, domain=(0.2, 9.0)),
    _s("spherical_bessel_j0", None, "The spherical Bessel function of order 0, sin(x) / x.", dtypes=SINGLE),
    _s("airy_ai", None, "The Airy function Ai.", dtypes=SINGLE),
    _polynomial("chebyshev_polynomial_t", "Chebyshev polynomial of the first kind"),
    _polynomial("chebyshev_polynomial_u", "Chebyshev polynomial of the second kind"),
    _polynomial("chebyshev_polynomial_v", "Chebyshev polynomial of the third kind"),
    _polynomial("chebyshev_polynomial_w", "Chebyshev polynomial of the fourth kind"),
    _polynomial("shifted_chebyshev_polynomial_t", "shifted Chebyshev polynomial of the first kind"),
    _polynomial("shifted_chebyshev_polynomial_u", "shifted Chebyshev polynomial of the second kind"),
    _polynomial("shifted_chebyshev_polynomial_v", "shifted Chebyshev polynomial of the third kind"),
    _polynomial("shifted_chebyshev_polynomial_w", "shifted Chebyshev polynomial of the fourth kind"),
    _polynomial("hermite_polynomial_h", "physicist's Hermite polynomial"),
    _polynomial("hermite_polynomial_he", "probabilist's Hermite polynomial"),
    _polynomial("laguerre_polynomial_l", "Laguerre polynomial"),
    _polynomial("legendre_polynomial_p", "Legendre polynomial"),
)
