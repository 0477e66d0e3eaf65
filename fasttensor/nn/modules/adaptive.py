"""Softmax for very many classes."""
from collections import namedtuple

import fasttensor as ft

from .. import functional as F
from ..module import Module
from .container import ModuleList, Sequential
from .linear import Linear

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax whose rare classes live in clusters of smaller vectors: Grave et al., 2017.

    Classes are ordered by falling frequency; `cutoffs` are the first classes of the clusters.
    `forward(input, target)` gives (log-probability of each target, mean loss).

    >>> m = nn.AdaptiveLogSoftmaxWithLoss(16, 100, [10, 50])
    >>> m(torch.randn(8, 16), torch.randint(0, 100, (8,))).output.shape
    torch.Size([8])
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(cutoffs) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 \
                or len(set(cutoffs)) != len(cutoffs) or any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                             "where each value is between 1 and n_classes-1")
        like = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = cutoffs + [n_classes]
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **like)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            size = int(in_features // (div_value ** (i + 1)))
            self.tail.append(Sequential(Linear(in_features, size, bias=False, **like),
                                        Linear(size, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **like)))

    def reset_parameters(self):
        """Draw all weights anew."""
        self.head.reset_parameters()
        for a, b in self.tail:
            a.reset_parameters()
            b.reset_parameters()

    def forward(self, input_, target_):
        single = target_.dim() == 0
        if target_.dim() == 1:
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with size", input_.size())
        elif single:
            if input_.dim() != 1:
                raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with size", input_.size())
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if target.numel() and not (0 <= int(target.min()) and int(target.max()) < self.n_classes):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{int(target.min())}, {int(target.max())}] were found. ")
        head = F.log_softmax(self.head(input), dim=1)
        place = ft.where(target < self.cutoffs[0], target, 0)
        far = ft.zeros(target.shape[0], dtype=head.dtype, device=head.device)
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            inside = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            far = far.index_add(0, rows, inside.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1))
            place = place.index_fill(0, rows, self.cutoffs[0] + i)
        output = far + head.gather(1, place.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, :self.shortlist_size]]
        for i in range(self.n_clusters):
            inside = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(inside + head[:, self.shortlist_size + i].unsqueeze(1))
        return ft.cat(parts, 1)

    def log_prob(self, input):
        """Log-probabilities of all classes: (N, in_features) -> (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """The most probable class of each row."""
        head_output = self.head(input)
        output = ft.argmax(head_output, dim=1)
        far = output >= self.shortlist_size
        if not bool(far.any()):
            return output
        if bool(far.all()):
            return ft.argmax(self._get_full_log_prob(input, head_output), dim=1)
        full = self._get_full_log_prob(input[far], head_output[far])
        output[far] = ft.argmax(full, dim=1)
        return output
