"""The base of all transforms, and the transforms that are made of others."""
import fasttensor as torch

from . import constraints
from .utils import _sum_rightmost, lazy_property

__all__ = ["Transform", "ComposeTransform", "IndependentTransform", "ReshapeTransform", "identity_transform"]


def _enough_dims(shape, needed):
    if len(shape) < needed:
        raise ValueError("Too few dimensions on input")


class Transform:
    """A differentiable map of points, often invertible, that knows the logarithm of its Jacobian's determinant.

    A subclass sets ``domain``, ``codomain`` and, where it holds, ``bijective`` and ``sign`` (+1 for increasing maps), and defines
    ``_call(x)``, ``_inverse(y)`` and ``log_abs_det_jacobian(x, y)``. With ``cache_size=1`` the last point and its image are kept, so that
    the inverse of an image is its very point: exact, and with its history. Raises ValueError for other sizes than 0 and 1.

    >>> import fasttensor as torch
    >>> t = torch.distributions.ExpTransform()
    >>> t.inv(t(torch.tensor([1.0, 2.0])))
    tensor([1., 2.])
    """

    bijective = False

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv = None
        if cache_size:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        # the inverse refers back to this object; it is made again when asked for
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self):
        """The number of dimensions of a point, where the domain's and the codomain's are the same."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self):
        """The inverse map."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        """+1 where the map increases, -1 where it decreases."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size=1):
        """This map with another cache size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __call__(self, x):
        if not self._cache_size:
            return self._call(x)
        if self._cached_x_y[0] is not x or x is None:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        if self._cached_x_y[1] is not y or y is None:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} does not implement a forward map")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} does not implement an inverse")

    def log_abs_det_jacobian(self, x, y):
        """log |dy / dx| at point ``x`` with image ``y``, of shape ``x.shape`` less the dimensions of a point."""
        raise NotImplementedError(f"{type(self).__name__} does not implement log_abs_det_jacobian")

    def __repr__(self):
        return type(self).__name__ + "()"

    def forward_shape(self, shape):
        """The shape of the image of a tensor of ``shape``."""
        return shape

    def inverse_shape(self, shape):
        """The shape of a tensor whose image has ``shape``."""
        return shape


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return dict(self.__dict__)      # here the map belongs to the state

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self):
        return f"_InverseTransform({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Maps one after another, the first of ``parts`` first.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import ComposeTransform
    >>> from fasttensor.distributions import AffineTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(torch.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, parts, cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def _end(self, first, last, own, far, ordered):
        """The region at one end of the chain, widened to the dimensions that some part along the way needs."""
        region = getattr(first, own)
        dims = getattr(last, far).event_dim
        for part in ordered:
            here = getattr(part, own).event_dim
            dims = max(dims + here - getattr(part, far).event_dim, here)
        extra = dims - region.event_dim
        return constraints.independent(region, extra) if extra else region

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        return self._end(self.parts[0], self.parts[-1], "domain", "codomain", reversed(self.parts))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        return self._end(self.parts[-1], self.parts[0], "codomain", "domain", self.parts)

    @lazy_property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        total, dims = None, self.domain.event_dim
        for part, a, b in zip(self.parts, points, points[1:]):
            term = _sum_rightmost(part.log_abs_det_jacobian(a, b), dims - part.domain.event_dim)
            total = term if total is None else total + term
            dims += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        inside = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {inside}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last ``reinterpreted_batch_ndims`` batch dimensions belong to the point: the log determinant is summed over them.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import IndependentTransform
    >>> t = IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> t.log_abs_det_jacobian(torch.tensor([1.0, 2.0]), None)
    tensor(3.)
    """

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        _enough_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        _enough_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Points of shape ``in_shape`` as points of shape ``out_shape``; ValueError where the numbers of elements differ.

    >>> import fasttensor as torch
    >>> from fasttensor.distributions import ReshapeTransform
    >>> ReshapeTransform((2, 3), (6,))(torch.zeros(4, 2, 3)).shape
    torch.Size([4, 6])
    """

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"in_shape, out_shape have different numbers of elements: {tuple(in_shape)} and {tuple(out_shape)}")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x):
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape, old, new):
    """`shape` with `new` in place of the `old` at its end."""
    _enough_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {old} but got {shape[cut:]}")
    return shape[:cut] + new
