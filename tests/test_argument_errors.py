"""Arguments that are missing, unknown or of a wrong type raise, with PyTorch's exception types; nothing of it is ignored or crashes."""
import pytest

import fasttensor as torch

F = torch.nn.functional
X = torch.tensor([[1.5, 0.5], [0.25, 2.0]])

TYPE_ERRORS = {
    "softmax without dim": lambda: torch.softmax(X), "method softmax without dim": lambda: X.softmax(), "dim=None": lambda: torch.log_softmax(X, None),
    "special.softmax": lambda: torch.special.softmax(X), "dropout without p": lambda: torch.dropout(X), "range without end": lambda: torch.range(1),
    "frobenius_norm": lambda: torch.frobenius_norm(X), "sum_to_size": lambda: X.sum_to_size(), "multi_dot of one tensor": lambda: torch.linalg.multi_dot(X),
    "names": lambda: torch.zeros(2, names=("a",)), "names of rand": lambda: torch.rand(2, names=("a",)), "new_zeros": lambda: X.new_zeros(1, bogus=1),
    "normal's dtype": lambda: torch.normal(X, dtype=torch.float64), "keepdim of 1": lambda: X.sum(0, 1), "mean": lambda: torch.mean(X, 0, 1),
    "max": lambda: X.max(0, 1), "any": lambda: X.any(0, 1), "std's unbiased": lambda: X.std(0, 1), "quantile": lambda: X.quantile(0.5, 0, 1),
    "sort": lambda: X.sort(0, 1), "unique's sorted": lambda: X.unique(0), "qr": lambda: torch.qr(X, 0), "dim of True": lambda: X.sum(True),
    "softmax of True": lambda: F.softmax(X, True), "chunk": lambda: X.chunk(1.5), "split": lambda: X.split(1.5), "rot90": lambda: torch.rot90(X, 1.5),
    "polygamma": lambda: X.polygamma(1.5), "randint_like": lambda: torch.randint_like(X, 1.5), "~": lambda: ~X, "is_conj": lambda: torch.is_conj(1.5),
    "positive": lambda: torch.positive(1.5), "alpha_dropout": lambda: F.alpha_dropout(1.5), "std_mean(out=)": lambda: torch.std_mean(X, out=X),
}


TYPE_ERRORS |= {
    f"{name} of a number": lambda name=name: getattr(F, name)(X, 2) for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "kl_div", "poisson_nll_loss", "soft_margin_loss",
        "cross_entropy", "nll_loss", "multi_margin_loss", "multilabel_margin_loss", "hinge_embedding_loss", "cosine_similarity",
        "pairwise_distance", "prelu", "grid_sample")}
TYPE_ERRORS |= {
    "triplet_margin_loss": lambda: F.triplet_margin_loss(X, [1], X), "dist": lambda: torch.dist(X, 1), "linalg.cross": lambda: torch.linalg.cross(X, 1.5),
    "put_": lambda: X.clone().put_(1, X), "masked_scatter_": lambda: X.clone().masked_scatter_(1, X), "take_along_dim": lambda: X.take_along_dim([1]),
    "slice_scatter": lambda: X.slice_scatter(5), "topk": lambda: X.topk(torch.int8), "max_pool2d": lambda: F.max_pool2d(X[None], X),
    "fft's n": lambda: torch.fft.fft(X, torch.ones(1)), "fft's n of True": lambda: torch.fft.rfft(X, True), "fftn's s": lambda: torch.fft.fftn(X, X[0]),
    "irfft's dim": lambda: torch.fft.irfft(X, 2, torch.ones(1)), "multigammaln": lambda: torch.special.multigammaln(X, X),
    "polygamma of a tensor": lambda: X.polygamma(X[0, 0]),
}


@pytest.mark.parametrize("call", TYPE_ERRORS.values(), ids=TYPE_ERRORS)
def test_type_errors(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("name", ["diagonal", "flatten", "squeeze", "squeeze_", "item", "cpu", "long", "double", "contiguous", "detach", "view", "reshape",
                                  "expand", "permute", "transpose", "t", "unsqueeze", "select", "narrow", "zero_", "fill_", "retain_grad", "resize_",
                                  "register_hook", "data_ptr", "is_contiguous", "numel", "dim", "clone", "to", "type", "unfold", "as_strided",
                                  "storage_offset"])
@pytest.mark.parametrize("value", [None, "a", [1.5], 2.5], ids=str)
def test_methods_of_other_objects(name, value):
    with pytest.raises((TypeError, AttributeError)):
        getattr(torch.Tensor, name)(value)


def test_operands_that_are_no_tensors():
    for name in ("expand_as", "view_as", "reshape_as", "type_as"):
        with pytest.raises(TypeError):
            getattr(X, name)(None)


@pytest.mark.parametrize(("kind", "call"), [
    (RuntimeError, lambda: X.gather(1, torch.tensor([[5]]))), (RuntimeError, lambda: X.scatter(1, torch.tensor([[5]]), 1.0)),
    (RuntimeError, lambda: X.index_add(0, torch.tensor([5]), X[:1])), (IndexError, lambda: X.index_select(0, torch.tensor([5]))),
    (RuntimeError, lambda: X.clamp()), (NotImplementedError, lambda: F.gelu(torch.tensor([1]))), (NotImplementedError, lambda: X & X),
    (NotImplementedError, lambda: X << 1), (RuntimeError, lambda: torch.eye(2, layout=torch.sparse_coo)), (ValueError, lambda: float(X)),
    (ValueError, lambda: int(torch.tensor([]))), (RuntimeError, X.item)], ids=range(12))
def test_types_of_other_errors(kind, call):
    with pytest.raises(kind) as caught:
        call()
    assert caught.type is kind


def test_huge_counts_end():
    assert torch.diff(X, 2 ** 62).shape == (2, 0) and torch.diff(X, 3, prepend=X, append=X).shape == (2, 3)
    with pytest.raises(ValueError, match="too large"):
        torch.mvlgamma(X, 2 ** 70)


def test_in_place_forms_refuse_what_the_dtype_cannot_hold():
    with pytest.raises(RuntimeError, match="float32 can't be cast.*int8"):
        torch.zeros(2, dtype=torch.int8).logit_()


def test_isin_promotes():
    assert torch.isin(torch.tensor([1.5, 2.0]), torch.tensor([1, 2, 3], dtype=torch.int8)).tolist() == [False, True]


def test_what_stays_accepted():
    assert F.softmax(X, 1).shape == F.dropout(X).shape == (2, 2)
    with pytest.warns(UserWarning, match="Implicit dimension"):
        F.softmax(X)
    assert torch.softmax(X, 0, torch.float64).dtype == X.softmax(dim=0, dtype=torch.float64).dtype == torch.float64
    numpy = pytest.importorskip("numpy")
    assert X.sum(0, numpy.bool_(True)).shape == (1, 2)
    assert torch.nan_to_num(torch.tensor([complex("nan")])).item() == 0
