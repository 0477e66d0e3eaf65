"""What all losses share: reductions and the shapes of input and target."""
import warnings

from fasttensor._core.tensor import description

BY_NUMBER = ("none", "mean", "sum")


def reduction_of(name, reduction, size_average=None, reduce=None):
    """ "none", "mean" or "sum", also from the older flags or PyTorch's internal numbers."""
    if size_average is not None or reduce is not None:
        how = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{how}' instead.", stacklevel=3)
        return how
    if isinstance(reduction, int) and 0 <= reduction < 3:
        return BY_NUMBER[reduction]
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3)
        return "mean"
    if reduction not in BY_NUMBER:
        raise ValueError(f"{name}(): {reduction} is not a valid value for reduction: use 'none', 'mean' or 'sum'")
    return reduction


def reduced(loss, how):
    return loss.mean() if how == "mean" else loss.sum() if how == "sum" else loss


def broadcast_pair(name, input, target):
    """input and target of one shape; PyTorch warns where they differ, since that is mostly a mistake."""
    if input.shape == target.shape:
        return input, target
    warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to"
                  " incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=4)
    return broadcast(name, input, target)


def need_common_shape(name, *tensors):
    """RuntimeError that names the loss, in place of one of its parts, unless the shapes broadcast."""
    shape = tensors[0].shape
    for t in tensors:
        if t.shape != shape:
            break
    else:
        return
    rank = max(t.ndim for t in tensors)
    for i in range(-rank, 0):
        if len({t.size(i) for t in tensors if -i <= t.ndim} - {1}) > 1:
            raise RuntimeError(f"{name}(): the shapes of {' and '.join(description(t) for t in tensors)} do not broadcast")


def broadcast(name, input, target):
    """Two tensors expanded to their common shape."""
    shape = []
    for i in range(-max(input.ndim, target.ndim), 0):
        a = input.size(i) if -i <= input.ndim else 1
        b = target.size(i) if -i <= target.ndim else 1
        if a != b and 1 not in (a, b):
            raise RuntimeError(f"{name}(): the shapes of {description(input)} and {description(target)} do not broadcast")
        shape.append(b if a == 1 else a)
    return input.expand(shape), target.expand(shape)


def same_dtype(name, input, other, argument):
    if other.dtype is not input.dtype:
        raise RuntimeError(f"{name}(): expected {argument} of dtype {input.dtype.name} but found {description(other)} for input {description(input)}")
