"""Rows: activation functions of neural networks, and the elementwise parts of losses."""

from .dtypes import COMPLEX, FLOAT, INT, NUMERIC
from .op import Op

BOTH = ("torch", "nn.functional")


def _act(name, expr, dx, doc, **more):
    more.setdefault("namespace", "nn.functional")
    if more["namespace"] == "nn.functional":
        more.update(method=False)
    return Op(name, expr, dx=dx, doc=doc, out=False, inplace_flag=True, **more)


def _loss(name, expr, da, db, doc, **more):
    return Op(name, expr, da=da, db=db, doc=doc, args=("input", "target", "weight")[: 3 if "dc" in more else 2],
              out=False, inplace=False, **more)


_TANH = "tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))"
# In gradients whose other branch is taken far out, operands stay where every factor is finite: there tanh is 1 to the last digit.
_NEAR = "minimum(maximum(x, -30), 30)"
_TANH_NEAR = _TANH.replace("x", _NEAR)
_TANH_SOFTPLUS = "tanh(log1p(exp(minimum(x, 50))))"
_FALLING = "where(x < 0, x, -x)"
_BELOW = "where(x >= 0, 0, x)"      # NaN stays

ROWS = (
    _act("relu", "where(x < 0, 0, x)", "where(y <= 0, 0, g)", "Zero below zero, the input above.",
         int_expr="maximum(x, 0)", dtypes=INT + FLOAT, namespace=BOTH,
         refuses={"bool": "Boolean inputs not supported for relu: use the mask itself"}, second="ThresholdBackward"),
    _act("relu6", "where(x < 0, 0, where(x > 6, 6, x))", "where((x <= 0) or (x >= 6), 0, g)",
         "The input between 0 and 6.", node="Hardtanh", int_expr="minimum(maximum(x, 0), 6)", dtypes=INT + FLOAT, second="HardtanhBackward",
         refuses={"bool": "Bool inputs not supported for hardtanh: use the mask itself"}),
    _act("hardtanh", "where(x < min_val, min_val, where(x > max_val, max_val, x))",
         "where((x <= min_val) or (x >= max_val), 0, g)", "The input between `min_val` and `max_val`.",
         params={"min_val": -1.0, "max_val": 1.0}, param_fits="dtype",
         check=("not min_val > max_val", "ValueError", "min_val {min_val} cannot be larger than max_val {max_val}"),
         dtypes=("int8", "int16", "int32", "int64") + FLOAT, second="HardtanhBackward",
         refuses={"bool": "Bool inputs not supported for hardtanh: use the mask itself"}),
    _act("leaky_relu", "where(x > 0, x, x * negative_slope)", "where(x > 0, g, g * negative_slope)",
         "The input above zero, times `negative_slope` below.", params={"negative_slope": 0.01}, param_fits="computing", second="LeakyReluBackward"),
    _act("elu", "where(x > 0, x, alpha * expm1(x))", f"where(x > 0, g, g * (alpha * exp({_BELOW})))",
         "The input above zero, `alpha` * (exp(x) - 1) below.", params={"alpha": 1.0}, param_fits="computing"),
    _act("selu", "where(x > 0, 1.0507009873554805 * x, 1.7580993408473766 * expm1(x))",
         f"where(x > 0, 1.0507009873554805 * g, g * (1.7580993408473766 * exp({_BELOW})))",
         "elu with the scale and slope that keep mean 0 and variance 1.", namespace=BOTH, node="Elu",
         source="Klambauer et al., Self-Normalizing Neural Networks"),
    _act("celu", "where(x > 0, x, alpha * expm1(x / alpha))", f"where(x > 0, g, g * exp({_BELOW} / alpha))",
         "elu with a slope of 1 at zero for every `alpha`.", params={"alpha": 1.0}, param_fits="computing", namespace=BOTH,
         check=("alpha != 0", "RuntimeError", "ZeroDivisionError: alpha cannot be 0")),
    _act("_normal_cdf", "_normal_cdf(x)", "g * (0.3989422804014327 * exp(-0.5 * x * x))",
         "The normal distribution function, to the absolute accuracy that an activation needs."),
    _act("_gelu_erf", "x * _normal_cdf(x)", "g * (_normal_cdf(x) + x * (0.3989422804014327 * exp(-0.5 * x * x)))",
         "The Gaussian error linear unit, by the error function.", node="Gelu", source="Hendrycks and Gimpel, arXiv 1606.08415"),
    _act("_gelu_tanh", f"0.5 * x * (1 + {_TANH})",
         f"g * (0.5 * (1 + {_TANH_NEAR}) + 0.5 * {_NEAR} * (1 - square({_TANH_NEAR}))"
         f" * (0.7978845608028654 * (1 + 0.134145 * {_NEAR} * {_NEAR})))",
         "The Gaussian error linear unit, by its approximation with tanh.", node="Gelu",
         source="Hendrycks and Gimpel, arXiv 1606.08415"),
    _act("silu", "x * sigmoid(x)", "g * (sigmoid(x) * (1 + x * (1 - sigmoid(x))))", "x * sigmoid(x).", dtypes=FLOAT + COMPLEX),
    _act("mish", "x * tanh(log1p(exp(x)))",
         f"g * ({_TANH_SOFTPLUS} + x * sigmoid(x) * (1 - square({_TANH_SOFTPLUS})))",
         "x * tanh(softplus(x)).", source="Misra, arXiv 1908.08681"),
    Op("softplus", "where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)",
       dx="where(x * beta > threshold, g, g * sigmoid(x * beta))", params={"beta": 1.0, "threshold": 20.0}, param_fits="computing",
       namespace="nn.functional", method=False, inplace=False, out="same",
       doc="log(1 + exp(`beta` * x)) / `beta`, the input itself above `threshold`."),
    Op("softsign", "x / (1 + abs(x))", dx="g / square(1 + abs(x))",
       complex_dx="g / (1 + abs(x)) - sgn(x) * (real(conj(g) * x) / ((1 + abs(x)) * (1 + abs(x))))",
       dtypes=FLOAT + COMPLEX, namespace="nn.functional", promote="float",
       method=False, inplace=False, out=False, doc="x / (1 + |x|)."),
    Op("tanhshrink", "tanhshrink(x)", complex_expr="x - tanh(x)", dx="g * square(tanh(x))", dtypes=FLOAT + COMPLEX,
       namespace="nn.functional", promote="float",
       method=False, inplace=False, out=False, doc="x - tanh(x)."),
    Op("logsigmoid", "logsigmoid(x)", dx=f"g * (where(x < 0, 1, exp({_FALLING})) / (1 + exp({_FALLING})))",
       namespace="nn.functional", method=False, inplace=False, out="same", node="LogSigmoid", doc="log(sigmoid(x)), without overflow on the way."),
    _act("hardsigmoid", "minimum(maximum(x + 3, 0), 6) * 0.16666666666666666", "where((x > -3) and (x < 3), g * 0.16666666666666666, 0)",
         "(x + 3) / 6 between 0 and 1.", second="HardsigmoidBackward"),
    _act("hardswish", "x * minimum(maximum(x + 3, 0), 6) * 0.16666666666666666",
         "where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g))", "x * hardsigmoid(x)."),
    Op("hardshrink", "where((x >= -lambd) and (x <= lambd), 0, x)", dx="where((x >= -lambd) and (x <= lambd), 0, g)",
       params={"lambd": 0.5}, param_fits="dtype", namespace=BOTH, inplace=False,
       doc="Zero from -`lambd` to `lambd`, the input elsewhere.", second="HardshrinkBackward"),
    Op("softshrink", "where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))",
       dx="where((x >= -lambd) and (x <= lambd), 0, g)", params={"lambd": 0.5}, param_fits="dtype", namespace="nn.functional",
       check=("lambd >= 0", "RuntimeError",
              "lambd must be greater or equal to 0, but found to be {lambd} for input dtype {getattr(input, 'dtype', type(input))}."),
       method=False, inplace=False, doc="The input moved by `lambd` towards zero.", second="SoftshrinkBackward"),
    _act("threshold", "where(x <= threshold, value, x)", "where(x <= threshold, 0, g)",
         "`value` where the input is at most `threshold`.", params={"threshold": None, "value": None}, param_fits="computing dtype",
         dtypes=INT + FLOAT, namespace=BOTH, second="ThresholdBackward"),
    Op("_prelu", "where(a > 0, a, b * a)", da="where(a > 0, g, b * g)", db="where(a > 0, 0, a * g)", out=False,
       args=("input", "weight"), node="PreluKernel", doc="The input above zero, times `weight` below.", second="PreluKernelBackward"),
    Op("_masked_scale", "where(b, a * scale, 0)", da="where(b, g * scale, 0)", complex_da="where(b, g * scale, 0)",
       dtypes=FLOAT + COMPLEX, mask="b",
       params={"scale": 1.0}, args=("input", "mask"), doc="`input` * `scale` where `mask`, zero elsewhere: dropout."),
    Op("_mul_scale", "a * b * scale", da="g * b * scale", db="g * a * scale", dtypes=NUMERIC, params={"scale": 1.0},
       doc="`input` * `other` * `scale`."),
    _loss("_squared_error", "(a - b) * (a - b)", "g * 2 * (a - b)", "g * 2 * (b - a)", "The squared error.", node="MseLoss"),
    _loss("_absolute_error", "abs(a - b)", "g * sgn(a - b)", "g * sgn(b - a)", "The absolute error."),
    _loss("_huber", "where(abs(a - b) <= delta, 0.5 * (a - b) * (a - b), delta * (abs(a - b) - 0.5 * delta))",
          "g * where(abs(a - b) <= delta, a - b, delta * sgn(a - b))",
          "g * where(abs(a - b) <= delta, b - a, delta * sgn(b - a))",
          "Huber's loss.", params={"delta": 1.0}, source="Huber 1964", node="HuberLoss"),
    _loss("_smooth_l1", "where(abs(a - b) < beta, 0.5 * (a - b) * (a - b) / beta, abs(a - b) - 0.5 * beta)",
          "where(abs(a - b) < beta, g * (a - b) / beta, g * sgn(a - b))",
          "where(abs(a - b) < beta, g * (b - a) / beta, g * sgn(b - a))", "The smooth absolute error.",
          params={"beta": 1.0}, source="Girshick, Fast R-CNN", node="SmoothL1Loss"),
    _loss("_bce", "-(b * maximum(log(a), -100) + (1 - b) * maximum(log1p(-a), -100))",
          "g * (a - b) / where((1 - a) * a < 1e-12, 1e-12, (1 - a) * a)", "g * (log1p(-a) - log(a))",
          "Binary cross entropy, its logarithms at least -100.", domain=(0.1, 0.9), node="BinaryCrossEntropy"),
    _loss("_bce_logits", "(1 - b) * a - logsigmoid(a)", "g * (sigmoid(a) - b)", "-(g * a)",
          "Binary cross entropy of the sigmoid of the input.", node="BinaryCrossEntropyWithLogits"),
    _loss("_bce_logits_weighted", "(1 - b) * a - ((c - 1) * b + 1) * logsigmoid(a)",
          "g * ((c * b + 1 - b) * sigmoid(a) - c * b)", "-(g * (a + (c - 1) * logsigmoid(a)))",
          "Binary cross entropy of the sigmoid of the input, `weight` on its positive part.",
          dc="-(g * (b * logsigmoid(a)))", node="BinaryCrossEntropyWithLogits"),
    _loss("_kl_div", "xlogy(b, b) - a * b", "-(g * b)", "where(b == 0, 0, g * (log(b) + 1 - a))",
          "target * (log(target) - input).", domain_b=(0.1, 0.9)),
    _loss("_kl_div_log", "exp(b) * (b - a)", "-(g * exp(b))", "g * (exp(b) * (b - a + 1))",
          "exp(target) * (target - input)."),
    _loss("_margin_ranking", "maximum(c * (b - a) + margin, 0)", "where(c * (b - a) + margin >= 0, -(g * c), 0)",
          "where(c * (b - a) + margin >= 0, g * c, 0)", "max(0, -target * (input1 - input2) + margin).", params={"margin": 0.0},
          dc="where(c * (b - a) + margin >= 0, g * (b - a), 0)"),
    _loss("_soft_margin", "-logsigmoid(a * b)", "-(g * (b * sigmoid(-(a * b))))", "-(g * (a * sigmoid(-(a * b))))",
          "log(1 + exp(-input * target)).", node="SoftMarginLoss"),
)
