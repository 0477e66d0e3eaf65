"""Rows: activation functions of neural networks."""

from .dtypes import FLOAT, INT
from .op import Op

ROWS = (
    Op("relu", "where(x < 0, 0, x)", dx="where(y > 0, g, 0)", int_expr="maximum(x, 0)", dtypes=INT + FLOAT,
       out=False, doc="Zero below zero, the input above."),
    Op("_gelu_erf", "0.5 * x * (1 + erf(x * 0.7071067811865476))",
       dx="g * (0.5 * (1 + erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * exp(-0.5 * x * x))",
       doc="The Gaussian error linear unit, by the error function."),
    Op("_gelu_tanh", "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
       dx="g * (0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"
          " + 0.5 * x * (1 - square(tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))"
          " * 0.7978845608028654 * (1 + 0.134145 * x * x))",
       doc="The Gaussian error linear unit, by its approximation with tanh."),
    Op("silu", "x * sigmoid(x)", dx="g * (sigmoid(x) * (1 + x * (1 - sigmoid(x))))", namespace="nn.functional",
       method=False, out=False, doc="The sigmoid linear unit, x * sigmoid(x)."),
)
