"""Every layer against PyTorch: representation, state, results and gradients."""

import pytest

import fasttensor as torch
from fasttensor import nn
from helpers import assert_close, from_oracle, oracle

X2, X3, X4, X5 = (2, 6), (2, 6, 7), (2, 6, 7, 8), (2, 4, 5, 6, 7)
# constructor text, shapes of the inputs
LAYERS = [
    ("Identity()", X2), ("Linear(7, 4)", X3), ("Linear(6, 4, bias=False)", X2), ("Bilinear(6, 5, 3)", X2, (2, 5)), ("Flatten()", X4),
    ("Unflatten(1, (2, 3))", X4), ("Conv1d(6, 4, 3, stride=2)", X3), ("Conv1d(6, 4, 3, padding='same')", X3),
    ("Conv2d(6, 4, (3, 2), padding=1, groups=2)", X4), ("Conv2d(6, 4, 3, padding=2, padding_mode='reflect')", X4),
    ("Conv3d(4, 2, 3)", X5), ("ConvTranspose1d(6, 4, 3, stride=2)", X3),
    ("ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1)", X4),
    ("ConvTranspose3d(4, 2, 2)", X5), ("MaxPool1d(2)", X3), ("MaxPool2d(3, stride=2, padding=1)", X4), ("MaxPool3d(2)", X5),
    ("AvgPool1d(2)", X3), ("AvgPool2d(3, padding=1, count_include_pad=False)", X4), ("AvgPool3d(2, divisor_override=3)", X5),
    ("LPPool1d(2, 3)", X3), ("LPPool2d(2, 3)", X4), ("AdaptiveAvgPool1d(3)", X3), ("AdaptiveAvgPool2d((None, 2))", X4),
    ("AdaptiveAvgPool3d(2)", X5), ("AdaptiveMaxPool1d(3)", X3), ("AdaptiveMaxPool2d(3)", X4), ("BatchNorm1d(6)", X2),
    ("BatchNorm1d(6, momentum=None)", X3), ("BatchNorm2d(6, affine=False)", X4), ("BatchNorm3d(4, track_running_stats=False)", X5),
    ("InstanceNorm1d(6, affine=True)", X3), ("InstanceNorm2d(6, track_running_stats=True)", X4), ("LayerNorm(6)", X2),
    ("LayerNorm((6, 7), bias=False)", X3), ("GroupNorm(2, 6)", X4), ("RMSNorm(7)", X3), ("LocalResponseNorm(3)", X4),
    ("ReLU()", X2), ("ReLU6()", X2), ("Hardtanh(-0.5, 0.7)", X2), ("Threshold(0.1, 3)", X2), ("Sigmoid()", X2), ("Tanh()", X2),
    ("Hardsigmoid()", X2), ("Hardswish()", X2), ("SiLU()", X2), ("Mish()", X2), ("SELU()", X2), ("ELU(0.7)", X2), ("CELU(0.7)", X2),
    ("GLU()", X2), ("GELU()", X2), ("GELU('tanh')", X2), ("Hardshrink()", X2), ("Softshrink()", X2), ("LeakyReLU(0.2)", X2),
    ("LogSigmoid()", X2), ("Softplus(2, 1)", X2), ("PReLU(6)", X4), ("Softsign()", X2), ("Tanhshrink()", X2), ("Softmax(1)", X4),
    ("LogSoftmax(1)", X3), ("Softmin(1)", X3), ("Softmax2d()", X4), ("ZeroPad2d((1, 2, 0, 1))", X4), ("ConstantPad1d(2, 3.5)", X3),
    ("ReflectionPad2d(2)", X4), ("ReplicationPad3d(1)", X5), ("CircularPad1d(2)", X3), ("PixelShuffle(2)", (2, 8, 3, 3)),
    ("PixelUnshuffle(2)", (2, 2, 4, 4)), ("ChannelShuffle(3)", X4), ("Upsample(scale_factor=2)", X4),
    ("Upsample(size=(5, 9), mode='bilinear')", X4), ("UpsamplingBilinear2d(scale_factor=2)", X4), ("Fold((4, 5), 2)", (2, 12, 12)),
    ("Unfold((2, 3))", X4), ("PairwiseDistance()", X2, X2), ("CosineSimilarity()", X2, X2), ("L1Loss()", X2, X2), ("MSELoss()", X2, X2),
    ("SmoothL1Loss(beta=0.5)", X2, X2), ("HuberLoss(delta=0.5)", X2, X2), ("KLDivLoss(reduction='batchmean', log_target=True)", X2, X2),
    ("PoissonNLLLoss()", X2, X2), ("TripletMarginLoss()", X2, X2, X2), ("Dropout(0.0)", X2),
]


@pytest.mark.parametrize("text, shapes", [(c[0], c[1:]) for c in LAYERS], ids=[c[0] for c in LAYERS])
@pytest.mark.parametrize("training", [True, False])
def test_layer(text, shapes, training):
    pt = oracle()
    pt.manual_seed(0)
    theirs = eval("nn." + text, {"nn": pt.nn}).train(training)
    ours = eval("nn." + text, {"nn": nn}).train(training)
    assert repr(ours) == repr(theirs)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(from_oracle(dict(state)))
    inputs = [pt.randn(s, requires_grad=True) for s in shapes]
    mine = [from_oracle(t) for t in inputs]
    expected, actual = theirs(*inputs), ours(*mine)
    assert_close(actual, expected)
    for name, value in theirs.state_dict().items():
        assert_close(ours.state_dict()[name], value, what=name)
    g = pt.randn_like(expected)
    expected.backward(g)
    actual.backward(from_oracle(g))
    for a, b in zip(mine, inputs):
        assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-3)
    for (name, p), q in zip(ours.named_parameters(), theirs.named_parameters()):
        assert_close(p.grad, q[1].grad, atol=2e-4, rtol=1e-3, what=name)


@pytest.mark.parametrize("text, target", [
    ("CrossEntropyLoss(label_smoothing=0.1)", "classes"), ("CrossEntropyLoss()", "probabilities"), ("NLLLoss()", "classes"),
    ("MultiMarginLoss()", "classes"), ("MultiLabelSoftMarginLoss()", "bits"), ("BCEWithLogitsLoss()", "bits"),
    ("SoftMarginLoss()", "signs"), ("HingeEmbeddingLoss()", "signs"), ("LinearCrossEntropyLoss(6, 6)", "classes")])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss(text, target, reduction):
    pt = oracle()
    pt.manual_seed(0)
    text = text[:-1] + ("" if text.endswith("()") else ", ") + f"reduction={reduction!r})"
    theirs, ours = eval("nn." + text, {"nn": pt.nn}), eval("nn." + text, {"nn": nn})
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    x = pt.randn(5, 6, requires_grad=True)
    t = {"classes": lambda: pt.randint(0, 6, (5,)), "probabilities": lambda: pt.rand(5, 6).softmax(1),
         "bits": lambda: (pt.rand(5, 6) > 0.5).float(), "signs": lambda: (pt.rand(5, 6) > 0.5).float() * 2 - 1}[target]()
    y = from_oracle(x)
    expected, actual = theirs(x, t), ours(y, from_oracle(t))
    assert_close(actual, expected)
    expected.sum().backward()
    actual.sum().backward()
    assert_close(y.grad, x.grad)


def test_embedding_layers():
    pt = oracle()
    theirs, ours = pt.nn.Embedding(10, 4, padding_idx=2), nn.Embedding(10, 4, padding_idx=2)
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    i = pt.tensor([[1, 2, 2], [9, 1, 0]])
    expected, actual = theirs(i), ours(from_oracle(i))
    assert_close(actual, expected)
    expected.sum().backward()
    actual.sum().backward()
    assert_close(ours.weight.grad, theirs.weight.grad)
    frozen = nn.Embedding.from_pretrained(torch.ones(3, 2))
    assert not frozen.weight.requires_grad and float(frozen(torch.tensor([1])).sum()) == 2


def test_adaptive_softmax():
    pt = oracle()
    pt.manual_seed(0)
    theirs = pt.nn.AdaptiveLogSoftmaxWithLoss(16, 50, [5, 20])
    ours = nn.AdaptiveLogSoftmaxWithLoss(16, 50, [5, 20])
    ours.load_state_dict(from_oracle(dict(theirs.state_dict())))
    x, t = pt.randn(12, 16), pt.randint(0, 50, (12,))
    a, b = ours(from_oracle(x), from_oracle(t)), theirs(x, t)
    assert_close(a.output, b.output)
    assert_close(a.loss, b.loss)
    assert_close(ours.log_prob(from_oracle(x)), theirs.log_prob(x))
    assert ours.predict(from_oracle(x)).tolist() == theirs.predict(x).tolist()


def test_cross_map_lrn():
    x = torch.randn(2, 5, 2, 3)
    windows = [x[:, max(0, c - 1):c + 2].square().sum(1) for c in range(5)]
    expected = x * (1 + 0.3 / 3 * torch.stack(windows, 1)) ** -0.75
    assert_close(nn.CrossMapLRN2d(3, alpha=0.3)(x), expected.tolist())


def test_dropout_trains_and_rests():
    m = nn.Dropout(0.5)
    x = torch.ones(1000)
    y = m(x)
    assert set(y.tolist()) == {0.0, 2.0}
    assert torch.equal(m.eval()(x), x)


def test_max_unpool():
    pool, unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
    x = torch.arange(16.0).view(1, 1, 4, 4)
    assert unpool(*pool(x)).flatten().tolist() == [0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15]


@pytest.mark.parametrize("act, error", [
    (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError), (lambda: nn.Dropout(2), ValueError), (lambda: nn.BatchNorm2d(3)(torch.zeros(2, 3)), ValueError),
    (lambda: nn.GroupNorm(2, 3), ValueError), (lambda: nn.MultiheadAttention(5, 2), AssertionError),
    (lambda: nn.Linear(3, 4)(torch.zeros(2, 5)), RuntimeError), (lambda: nn.Embedding(3, 2)(torch.tensor([3])), IndexError),
    (lambda: nn.ConvTranspose2d(2, 2, 3)(torch.zeros(1, 2, 4, 4), output_size=(20, 20)), ValueError),
    (lambda: nn.Unflatten(1, 3), TypeError), (lambda: nn.Embedding(3, 2, padding_idx=4), AssertionError),
    (lambda: nn.TransformerEncoderLayer(4, 2, activation="x"), RuntimeError), (lambda: nn.Hardtanh(1, 0), AssertionError),
    (lambda: nn.Hardtanh(1, 1), AssertionError)])
def test_errors(act, error):
    with pytest.raises(error):
        act()


def test_every_public_name_of_pytorch_is_there():
    pt = oracle()
    skipped = {"common_types", "intrinsic", "qat", "quantizable", "quantized"}
    assert [n for n in dir(pt.nn) if n[0] != "_" and n not in skipped and not hasattr(nn, n)] == []


def test_encoder_takes_a_layer_of_pytorch():
    reference = oracle()
    layer = reference.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()
    mine = nn.TransformerEncoder(layer, 2).eval()
    theirs = reference.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(3, 5, 8)
    with torch.no_grad(), reference.no_grad():
        assert_close(mine(x), from_oracle(theirs(reference.from_numpy(x.numpy()))), what="encoder")
