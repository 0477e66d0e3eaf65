"""Random numbers: a seed gives PyTorch's bits; states move between the libraries; errors."""

import copy
import pickle
import zlib

import pytest
from helpers import assert_close, oracle

import fasttensor as torch

# crc32 of the bytes that PyTorch 2.13 computes after manual_seed(42).
EXACT = [
    ("rand(1000)", 3579030519),
    ("rand(1001, dtype=torch.float64)", 2644390669),
    ("rand(300, dtype=torch.float16)", 3224042952),
    ("rand(300, dtype=torch.bfloat16)", 3339507707),
    ("rand(7, dtype=torch.complex64)", 2297920764),
    ("randn(1000)", 2288653614),
    ("randn(16)", 2280516957),
    ("randn(4096, dtype=torch.bfloat16)", 394213748),
    ("randn(333, dtype=torch.float16)", 3081939844),
    ("randint(10, (1000,))", 2212740668),
    ("randint(-5, 2**40, (100,))", 1748814465),
    ("randint(0, 2**28, (50,))", 2554012151),
    ("randint(0, 2**28 - 1, (50,))", 3139978048),
    ("randint(0, 200, (999,), dtype=torch.uint8)", 1891089366),
    ("randint(0, 100, (50,), dtype=torch.float32)", 3351930337),
    ("randperm(1000)", 441664704),
    ("randperm(257, dtype=torch.int32)", 227910297),
    ("empty(1000).bernoulli_(0.3)", 1913396646),
    ("empty(1000, dtype=torch.bool).bernoulli_(0.5)", 198731499),
    ("bernoulli(torch.arange(500) / 500)", 2340799244),
    ("bernoulli(torch.arange(500).double() / 500)", 3068221255),
    ("empty(100, dtype=torch.int64).random_()", 2771240724),
    ("empty(100).random_()", 183794352),
    ("empty(100, dtype=torch.int64).random_(-2**63, None)", 757214765),
    ("empty(20, 30).t().uniform_(-2, 3)", 787297199),
    ("empty(6, 8)[:, ::2].uniform_()", 1454528178),
    ("nn.functional.dropout(torch.ones(1000), 0.3)", 1053299519),
    ("nn.functional.dropout2d(torch.ones(20, 7, 2, 2), 0.5)", 1847359982),
    ("multinomial(torch.arange(1., 101.), 300, replacement=True)", 4108612483),
]
# Values of PyTorch 2.13 after manual_seed(42), where the C library has a part in the last bits.
CLOSE = [
    (
        "randn(5)",
        [0.33669036626815796, 0.12880940735340118, 0.23446236550807953, 0.23033303022384644, -1.1228563785552979],
    ),
    (
        "randn(5, dtype=torch.float64)",
        [0.33669035438385886, 0.1288094051365897, 0.23446236336153173, 0.2303330279146119, -1.1228563767381703],
    ),
    (
        "randn(20, dtype=torch.float64)",
        [
            0.2995562877502637,
            0.24237779080894106,
            0.28320739441795323,
            -0.23294220898382634,
            -0.03720300727052493,
            1.0352472972512925,
            -0.010085521702337353,
            0.08948016046560357,
            0.038435238263354446,
            -0.11824373914203358,
            -1.744556661084211,
            -0.46946014308389283,
            0.39238484373268534,
            1.108461181451433,
            0.8651734647119074,
            0.855215961472287,
            0.2494118796915765,
            0.2615836907112959,
            -1.526543923410825,
            -0.33113931395169954,
        ],
    ),
    (
        "empty(3, 7).t()[1:].normal_(2, 3).reshape(-1)",
        [
            3.010071039199829,
            8.624604225158691,
            5.330871105194092,
            2.386428117752075,
            0.08600883185863495,
            -3.069396734237671,
            2.7033870220184326,
            3.3849716186523438,
            -0.966879665851593,
            2.6909990310668945,
            2.8020524978637695,
            4.873915195465088,
            -1.3685691356658936,
            3.6047141551971436,
            5.966405391693115,
            1.4410151243209839,
            4.42807149887085,
            4.451569080352783,
        ],
    ),
    (
        "empty(4).exponential_(2.0)",
        [0.029957007616758347, 0.03248806297779083, 0.06595838814973831, 0.027006475254893303],
    ),
    ("empty(4).cauchy_(1.0, 2.0)", [-9.82497501373291, -8.987401962280273, -3.8897485733032227, -10.997279167175293]),
    ("empty(4).log_normal_(0.5, 1.0)", [2.30871319770813, 1.8753764629364014, 2.0843610763549805, 2.0757718086242676]),
    ("empty(8).geometric_(0.2)", [13.0, 13.0, 10.0, 14.0, 3.0, 4.0, 1.0, 1.0]),
    ("poisson(torch.tensor([0.5, 3.0, 12.0, 100.0]))", [0.0, 1.0, 18.0, 87.0]),
    ("binomial(torch.tensor([5.0, 50.0, 100.0]), torch.tensor([0.5, 0.9, 0.3]))", [1.0, 48.0, 38.0]),
    (
        "normal(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 1.0, 10.0]))",
        [1.0336689949035645, 2.1288094520568848, 5.344623565673828],
    ),
    ("normal(2.0, 3.0, (4,))", [3.010071039199829, 2.386428117752075, 2.7033870220184326, 2.6909990310668945]),
    ("multinomial(torch.tensor([[1.0, 2.0, 3.0], [3.0, 0.5, 0.5]]), 2)", [[1, 2], [0, 2]]),
    ("_standard_gamma(torch.tensor([0.3, 1.0, 5.0]))", [1.2379944324493408, 0.8415495753288269, 1.1093965768814087]),
    (
        "nn.functional.rrelu(torch.tensor([-1.0, 2.0, -3.0]), training=True)",
        [-0.13711552321910858, 2.0, -0.41431885957717896],
    ),
    (
        "nn.functional.alpha_dropout(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5, True)",
        [1.6655988693237305, 2.5520036220550537, 3.438408374786377, 4.324813365936279],
    ),
]
STATE_AFTER_123 = 3893416076  # crc32 of PyTorch's get_rng_state()


def crc(x):
    return zlib.crc32(x.contiguous().view(torch.uint8).numpy().tobytes())


@pytest.mark.parametrize("text, expected", EXACT, ids=[row[0] for row in EXACT])
@pytest.mark.parametrize("threads", [1, 2])
def test_bits(text, expected, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(42)
    assert crc(eval("torch." + text)) == expected


@pytest.mark.parametrize("text, expected", CLOSE, ids=[row[0] for row in CLOSE])
def test_values(text, expected):
    torch.manual_seed(42)
    got = eval("torch." + text)
    assert_close(got, torch.tensor(expected, dtype=got.dtype), 1e-5, 1e-5)


def fills(t):
    """In-place draws by name, in the order in which the mixed test calls them."""
    return [
        lambda x: x.uniform_(-1, 2),
        lambda x: x.normal_(1, 2),
        lambda x: x.exponential_(),
        lambda x: x.bernoulli_(0.3),
        lambda x: x.cauchy_(),
        lambda x: x.log_normal_(),
        lambda x: x.geometric_(0.4),
        lambda x: x.random_(),
        lambda x: x.random_(50),
        lambda x: x.random_(-7, 7),
    ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_mixed_sequences_against_pytorch(dtype):
    other = oracle()

    def run(t, as_list):
        t.manual_seed(9)
        out = []
        for n in (1, 5, 16, 17, 700):
            for fill in fills(t):
                x = t.empty(n, 3, dtype=getattr(t, dtype))
                out.append(fill(x).float().tolist())
                out.append(fill(t.zeros(3, n, dtype=getattr(t, dtype)).t()).float().tolist())
                out.append(fill(t.zeros(n, 4, dtype=getattr(t, dtype))[:, ::2]).float().tolist())
        return out, t.get_rng_state().tolist()

    ours, theirs = run(torch, None), run(other, None)
    assert ours[1] == theirs[1]
    assert all(a == b for a, b in zip(ours[0], theirs[0]))


def test_states_move_both_ways():
    other = oracle()
    torch.manual_seed(5)
    torch.randn(3)  # leaves a second normal of a pair behind
    other.set_rng_state(other.tensor(torch.get_rng_state().tolist(), dtype=other.uint8))
    assert torch.randn(2).tolist() == other.randn(2).tolist()
    other.rand(700)
    torch.set_rng_state(torch.tensor(other.get_rng_state().tolist(), dtype=torch.uint8))
    assert torch.rand(700).tolist() == other.rand(700).tolist()


def test_state_layout():
    torch.manual_seed(123)
    state = torch.get_rng_state()
    assert state.dtype is torch.uint8 and state.shape == (5056,) and crc(state) == STATE_AFTER_123
    assert torch.initial_seed() == 123


def test_generator():
    g = torch.Generator().manual_seed(7)
    first = torch.rand(5, generator=g)
    assert g.initial_seed() == 7 and str(g.device) == "cpu"
    saved = g.get_state()
    a = torch.randn(20, generator=g)
    g.set_state(saved)
    assert torch.equal(torch.randn(20, generator=g), a)
    twin = g.clone_state()
    assert torch.equal(torch.rand(3, generator=g), torch.rand(3, generator=twin))
    copied = pickle.loads(pickle.dumps(g))
    assert torch.equal(torch.rand(3, generator=g), torch.rand(3, generator=copied))
    torch.manual_seed(7)
    assert torch.equal(torch.rand(5), first)
    assert torch.Generator().initial_seed() == 67280421310721
    assert g.seed() == g.initial_seed() and torch.seed() == torch.initial_seed()
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
    assert torch.manual_seed(3) is torch.default_generator


def test_fork_rng():
    torch.manual_seed(1)
    expected = torch.rand(4)
    torch.manual_seed(1)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        torch.rand(1000)
    assert torch.equal(torch.rand(4), expected)


def test_bad_states():
    g = torch.Generator()
    with pytest.raises(RuntimeError, match="size"):
        g.set_state(torch.zeros(5, dtype=torch.uint8))
    with pytest.raises(TypeError):
        g.set_state(torch.zeros(5056))
    with pytest.raises(RuntimeError, match="Invalid"):
        g.set_state(torch.zeros(5056, dtype=torch.uint8))
    with pytest.raises(ValueError):
        torch.manual_seed(2**64)
    with pytest.raises(TypeError, match="Generator"):
        torch.rand(2, generator=3)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: torch.randint(5, 5, (2,)), RuntimeError, "less than"),
        (lambda: torch.randint(300, (2,), dtype=torch.uint8), RuntimeError, "out of bounds"),
        (lambda: torch.randint(5), TypeError, "randint"),
        (lambda: torch.empty(2).uniform_(2, 1), RuntimeError, "from"),
        (lambda: torch.empty(2).normal_(0, -1), RuntimeError, "std"),
        (lambda: torch.empty(2).exponential_(-1), RuntimeError, "lambda"),
        (lambda: torch.empty(2).geometric_(1.5), RuntimeError, "p"),
        (lambda: torch.empty(2).cauchy_(0, 0), RuntimeError, "sigma"),
        (lambda: torch.empty(2).log_normal_(0, 0), RuntimeError, "std"),
        (lambda: torch.empty(2).bernoulli_(1.5), RuntimeError, r"\[0, 1\]"),
        (lambda: torch.bernoulli(torch.tensor([2.0])), RuntimeError, "0, 1"),
        (lambda: torch.randn(2, dtype=torch.int64), RuntimeError, "not implemented"),
        (lambda: torch.empty(2, dtype=torch.int64).exponential_(), RuntimeError, "floating"),
        (lambda: torch.randperm(-1), RuntimeError, "non-negative"),
        (lambda: torch.randperm(300, dtype=torch.uint8), RuntimeError, "greater"),
        (lambda: torch.poisson(torch.tensor([-1.0])), RuntimeError, "non-negative"),
        (lambda: torch.normal(torch.zeros(2), -1.0), RuntimeError, "std"),
        (lambda: torch.multinomial(torch.tensor([0.5, -1.0]), 1), RuntimeError, "0"),
        (lambda: torch.multinomial(torch.zeros(3), 1), RuntimeError, "sum"),
        (lambda: torch.multinomial(torch.ones(3), 4), RuntimeError, "n_sample"),
        (lambda: torch.nn.functional.dropout(torch.ones(2), 1.5), ValueError, "between 0 and 1"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_multinomial_never_gives_an_item_of_probability_zero():
    weights = torch.tensor([0.0, 1.0, 0.0, 2.0, 0.0])
    assert set(torch.multinomial(weights, 5000, replacement=True).tolist()) == {1, 3}
    assert set(torch.multinomial(weights, 2).tolist()) == {1, 3}


def test_draws_without_replacement_go_on_with_weights_of_zero():
    torch.manual_seed(3)
    assert torch.multinomial(torch.tensor([0.0, 1.0, 0.0, 2.0, 0.0, 0.0]), 6).tolist() == [3, 1, 4, 5, 2, 0]
    torch.manual_seed(3)
    assert torch.multinomial(torch.eye(70)[3], 20).tolist() == [3, 43, 52, 51, 50, 49, 48, 47, 46, 45, 44, 53, 42, 41, 40, 39, 38, 37, 36, 63]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n, draws", [(5, 5), (300, 3), (3000, 40), (3000, 2900), (70000, 70000)])
def test_order_of_draws_without_replacement_against_pytorch(dtype, n, draws):
    """Equal quotients too, which half precision has many of."""
    drawn = []
    for t in (oracle(), torch):
        weights = (t.arange(2 * n).reshape(2, n) * 7 % 5).to(getattr(t, dtype))
        t.manual_seed(n + draws)
        drawn.append(t.multinomial(weights, draws).tolist())
    assert drawn[0] == drawn[1]


def test_in_place_fills_and_gradients():
    x = torch.ones(4, requires_grad=True)
    y = (x * 2).normal_()
    assert y.grad_fn.name() == "NormalBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 4
    with pytest.raises(RuntimeError, match="leaf"):
        x.uniform_()
    with pytest.raises(RuntimeError):
        torch.ones(1).expand(5).uniform_()


def test_dropout():
    x = torch.ones(1000, requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    assert set(y.tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    y.backward(torch.full((1000,), 3.0))
    assert torch.equal(x.grad, y.detach() * 3)
    assert torch.nn.functional.dropout(x, 0.25, training=False) is x
    assert torch.nn.functional.dropout(x, 1.0).sum().item() == 0
    z = torch.nn.functional.dropout(torch.tensor([float("nan"), float("inf")]), 0.999999)
    assert z.isnan().tolist() == [True, True]
    channels = torch.nn.functional.dropout1d(torch.ones(50, 3), 0.5)
    assert all(len(set(row)) == 1 for row in channels.tolist())
    w = torch.randn(6, dtype=torch.float64, requires_grad=True)

    def same_mask(v):
        torch.manual_seed(3)
        return torch.nn.functional.dropout(v, 0.5)

    assert torch.autograd.gradcheck(same_mask, (w,)) and torch.autograd.gradgradcheck(same_mask, (w,))


def test_results_do_not_depend_on_threads():
    def draw():
        torch.manual_seed(11)
        return [
            torch.randn(100_003),
            torch.rand(70_000, dtype=torch.float64),
            torch.nn.functional.dropout(torch.ones(300_001), 0.1),
            torch.empty(50_000).exponential_(),
        ]

    torch.set_num_threads(1)
    one = draw()
    torch.set_num_threads(4)
    assert all(torch.equal(a, b) for a, b in zip(one, draw()))


def test_copies_of_the_default_generator_are_separate():
    g = copy.deepcopy(torch.default_generator)
    a = torch.rand(3, generator=g)
    assert torch.equal(torch.rand(3), a)
