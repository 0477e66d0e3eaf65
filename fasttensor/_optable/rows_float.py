"""Rows: exponentials, logarithms, trigonometry, rounding."""

from .dtypes import COMPLEX, FLOAT, INT
from .op import Op

FC = FLOAT + COMPLEX

ROWS = (
    Op("exp", "exp(x)", dx="g * y", dtypes=FC, promote="float", doc="The exponential function."),
    Op("log", "log(x)", dx="g / x", dtypes=FC, promote="float", domain=(0.1, 3.0), doc="The natural logarithm."),
    Op("sin", "sin(x)", dx="g * cos(x)", dtypes=FC, promote="float", doc="The sine, of radians."),
    Op("cos", "cos(x)", dx="-(g * sin(x))", dtypes=FC, promote="float", doc="The cosine, of radians."),
    Op("tanh", "tanh(x)", dx="g * (1 - y * y)", dtypes=FC, promote="float", doc="The hyperbolic tangent."),
    Op("erf", "erf(x)", dx="1.1283791670955126 * exp(-(x * x)) * g", promote="float", namespace=("torch", "special"),
       doc="The error function."),
    Op("sigmoid", "sigmoid(x)", dx="g * ((1 - y) * y)", dtypes=FC, promote="float", doc="The logistic function."),
)
