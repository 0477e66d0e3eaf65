"""Maps of points with their Jacobians: of single numbers, of vectors and matrices, and maps made of maps."""
from ._transform import ComposeTransform, IndependentTransform, ReshapeTransform, Transform, _InverseTransform, identity_transform  # noqa: F401
from ._transforms_scalar import (AbsTransform, AffineTransform, CumulativeDistributionTransform, ExpTransform, PowerTransform,
                                 SigmoidTransform, SoftplusTransform, TanhTransform, _clipped_sigmoid)  # noqa: F401 - libraries call it
from ._transforms_vector import (CatTransform, CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform, SoftmaxTransform,
                                 StackTransform, StickBreakingTransform)

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
           "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
           "SigmoidTransform", "SoftplusTransform", "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform",
           "identity_transform"]
