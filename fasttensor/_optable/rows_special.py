"""Rows: special functions. Sources of the gradients are the recurrences of the NIST Digital Library (DLMF)."""

from .dtypes import FLOAT, SINGLE
from .op import Op


def _s(name, dx, doc, expr=None, **more):
    more.setdefault("namespace", "special")
    if more["namespace"] == "special":
        more.update(method=False, inplace=False)
    return Op(name, expr or f"{name}(x)", dx=dx, dtypes=more.pop("dtypes", FLOAT), promote="float", doc=doc, **more)


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
    _s("erfcx", "(2 * x * y - 1.1283791670955126) * g", "exp(x * x) * erfc(x), without overflow on the way.", node="SpecialErfcx"),
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
    _s("i1", "g * where(x == 0, 0.5, i0(x) - y / where(x == 0, 1, x))", "The modified Bessel function of the first kind, order 1.", node="SpecialI1"),
    _s("i1e", "g * where(x == 0, 0.5, i0e(x) - y * (sgn(x) + 1 / where(x == 0, 1, x)))", "i1(x) * exp(-|x|).", node="SpecialI1E"),
    _s("ndtr", "0.3989422804014327 * exp(-0.5 * x * x) * g", "The normal distribution function."),
    _s("ndtri", "2.5066282746310002 * exp(0.5 * y * y) * g", "The inverse of the normal distribution function.",
       domain=(0.1, 0.9), fast="ndtri_near(x)", fast_if="(x > 0.002) and (x < 0.998)", fast_by_block=True,
       fast_dtypes=("float64",), node="SpecialNdtri"),
    _s("log_ndtr", "0.7978845608028654 / erfcx(x * -0.7071067811865476) * g",
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
