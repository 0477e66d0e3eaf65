"""Functions that draw from distributions with tensors as parameters."""
from fasttensor._core.construct import unwritten
from fasttensor._core.dispatch import backend
from fasttensor._core.dtype import DTYPES
from fasttensor._core.tensor import Tensor, description
from fasttensor.autograd.batched import all_samples, is_inside, spread_draws
from fasttensor.autograd.checks import int_of
from fasttensor.autograd.rule import apply
from fasttensor.autograd.rules import random as rules
from fasttensor.functional.common import give, need_out, refuse_shared
from fasttensor.functional.creation import empty, finish, must_be_tensor, need_pinning
from fasttensor.functional.numeric_info import finfo
from fasttensor.functional.rearranging import broadcast_tensors


def _drawn(rule, function, args, *parameters, out=None):
    made = apply(rule, function, args, *parameters)
    return made if out is None else give(out, made, "normal")


def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Normal numbers of given means and standard deviations: tensors of one size, or numbers.

    ``normal(mean, std)`` takes one or two tensors, ``normal(mean, std, size)`` two numbers.
    Raises RuntimeError for a negative standard deviation.

    >>> g = torch.manual_seed(0)
    >>> torch.normal(torch.tensor([1.0, 10.0]), 2.0)
    tensor([4.0820, 9.4131])
    """
    if pin_memory:
        need_pinning()
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() received an invalid combination of arguments: two numbers need a size")
        made = empty(size, out=out, dtype=dtype, device=device)
        made = spread_draws(made) if is_inside() else made
        made.normal_(mean, std, generator=generator)
        if out is None:
            unwritten(made)
        if requires_grad:
            made.requires_grad = True
        return made
    if size is not None or dtype is not None or device is not None or layout is not None:
        raise TypeError("normal(): the result has the tensors' size, dtype and device: 'size', 'dtype', 'layout' and 'device' go with two numbers")
    if isinstance(std, Tensor):
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.numel() and not std.is_meta and not bool((all_samples(std.detach()) >= 0).all()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    parameters = [x for x in (mean, std) if isinstance(x, Tensor)]
    if out is not None:
        refuse_shared("normal", out, (mean, std), True)
    return _drawn(rules.NormalDraw, _normal_of(mean, std), (generator,), *parameters, out=out)


def _normal_of(mean, std):
    def draw(*given):
        *tensors, generator = given
        mean_ = tensors[0] if isinstance(mean, Tensor) else mean
        std_ = tensors[-1] if isinstance(std, Tensor) else std
        first = tensors[0]
        made = first.new_empty((mean_ + std_).shape if len(tensors) == 2 else first.shape)
        backend(made).normal_(made, 0.0, 1.0 if isinstance(std, Tensor) else float(std), generator)
        if isinstance(std, Tensor):
            made = made * std_.detach()
        return made + (mean_.detach() if isinstance(mean, Tensor) else mean)
    return draw


def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones with the probabilities of ``input``, or of the number ``p``, and zeros; input's dtype.

    Raises RuntimeError for a probability outside [0, 1].

    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    must_be_tensor("bernoulli", input)

    def draw(probabilities, generator):
        made = probabilities.new_empty(probabilities.shape)      # contiguous, as in PyTorch
        if p is None:
            backend(made).bernoulli_tensor_(made, probabilities, generator)
        else:
            backend(made).bernoulli_(made, float(p), generator)
        return made
    if p is not None and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    made = _drawn(rules.Bernoulli, draw, (generator,), input)
    need_out("bernoulli", out)
    if out is not None:
        refuse_shared("bernoulli", out, (input,), True)
    return made if out is None else give(out, made.to(out.dtype), "bernoulli")


def poisson(input, generator=None):
    """Poisson numbers, each of the rate in ``input`` (floating point); shape and dtype are the rates'. RuntimeError for a negative rate.

    >>> torch.poisson(torch.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    must_be_tensor("poisson", input)
    return _drawn(rules.Poisson, backend(input).poisson, (generator,), input)


def binomial(count, prob, generator=None):
    """Binomial numbers of given counts and probabilities (floating point, both of one dtype, broadcast), drawn from the default generator.

    Raises RuntimeError where the dtypes differ.

    >>> torch.binomial(torch.tensor([10.0, 5.0]), torch.tensor([1.0, 0.0]))
    tensor([10.,  0.])
    """
    must_be_tensor("binomial", count, "count")
    must_be_tensor("binomial", prob, "prob")
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"binomial: expected count and prob of one dtype, got {description(count)} and {description(prob)}")
    if count.shape != prob.shape:
        shape = (count.detach() + prob.detach()).shape
        count, prob = count.expand(shape), prob.expand(shape)
    return _drawn(rules.Binomial, backend(count).binomial, (generator,), count, prob)


def _standard_gamma(input, generator=None):
    """Gamma numbers of the shapes in ``input`` and scale 1, with gradients."""
    must_be_tensor("_standard_gamma", input)
    return _drawn(rules.StandardGamma, backend(input).standard_gamma, (generator,), input)


def _sample_dirichlet(input, generator=None):
    """Dirichlet numbers of the concentrations along the last dimension of ``input``, with gradients."""
    must_be_tensor("_sample_dirichlet", input)
    info = finfo(input.dtype)

    def draw(alpha, generator):
        # float64, since small concentrations give Gamma numbers that float32 cannot hold
        gammas = backend(alpha).standard_gamma(alpha.double(), generator)
        # rounding may give 0 or 1, where densities and gradients are infinite
        return (gammas / gammas.sum(-1, True)).to(alpha.dtype).clamp(info.tiny, 1 - info.eps / 2)
    return _drawn(rules.Dirichlet, draw, (generator,), input)


def _same_shapes(op, *tensors):
    for x in tensors:
        must_be_tensor(op, x)
    return broadcast_tensors(*tensors)


def _standard_gamma_grad(self, output):
    """The derivative of Gamma numbers ``output`` by their shapes ``self``."""
    return apply(rules.StandardGammaGrad, *_same_shapes("_standard_gamma_grad", self, output))


def _dirichlet_grad(x, alpha, total):
    """The derivative of Beta numbers ``x`` by their parameter ``alpha``, of the sum ``total`` of both parameters, over 1 - x."""
    return apply(rules.DirichletGrad, *_same_shapes("_dirichlet_grad", x, alpha, total))


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn by the weights in ``input``: a vector, or one distribution a row; int64.

    Args: ``num_samples`` a row; with ``replacement`` an index may come several times. Without, and with fewer positive weights than samples,
    indices of weight zero follow, in an order that is not random. Raises RuntimeError for weights that are negative, infinite or all zero, and
    without ``replacement`` for more samples than weights.

    >>> torch.multinomial(torch.tensor([0.0, 3.0, 0.0]), 1)
    tensor([1])
    """
    must_be_tensor("multinomial", input)
    if not 0 < input.ndim <= 2:
        raise RuntimeError(f"prob_dist must be 1 or 2 dim: multinomial got {description(input)}")
    if not input.is_floating_point():
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    need_out("multinomial", out)
    num_samples = int_of(num_samples, "multinomial", "num_samples", 2)
    if out is not None and out.dtype is not DTYPES["int64"]:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype}")
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: cannot sample n_sample <= 0 samples, got num_samples={num_samples} for {description(input)}")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(f"multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement:"
                           f" num_samples={num_samples}, {description(input)}")
    if input.shape[-1] > 1 << 24:
        raise RuntimeError(f"multinomial: number of categories cannot exceed 2^24, got {input.shape[-1]}")
    return finish(backend(input).multinomial(input.detach(), num_samples, replacement, generator), out)


__all__ = ["normal", "bernoulli", "poisson", "binomial", "multinomial", "_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad"]
METHODS = {"bernoulli": bernoulli, "multinomial": multinomial}
NN_FUNCTIONAL = []
