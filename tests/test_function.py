"""Operations that users write: autograd.Function and its ctx."""
import pytest

import fasttensor as torch
from helpers import assert_close, oracle


def leaf(*values):
    return torch.tensor(values if len(values) != 1 else values[0], requires_grad=True, dtype=torch.float64)


def test_function_with_ctx():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * x * factor

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return 2 * x * ctx.factor * g, None

    x = leaf(1.0, 2.0)
    y = Scaled.apply(x, 3.0)
    assert y.grad_fn.name() == "ScaledBackward"
    y.sum().backward()
    assert_close(x.grad, [6.0, 12.0])
    assert torch.autograd.gradgradcheck(lambda t: Scaled.apply(t, 2.0), (leaf(0.3, 0.4),))


def test_function_outputs_dirty_and_non_differentiable():
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            indices = (x > 0).to(torch.int64)
            ctx.mark_non_differentiable(indices)
            return x * 2, x * 3, indices

        @staticmethod
        def backward(ctx, a, b, c):
            assert b.tolist() == [0.0, 0.0]
            return 2 * a + 3 * b

    x = leaf(1.0, -1.0)
    a, b, i = Split.apply(x)
    assert not i.requires_grad
    a.sum().backward()
    assert_close(x.grad, [2.0, 2.0])

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0, 2.0)
    y = x.clone()
    z = Doubled.apply(y)
    assert z is y
    z.sum().backward()
    assert_close(x.grad, [2.0, 2.0])


def test_function_errors_are_clear():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(leaf(1.0), leaf(2.0)).sum().backward()
    with pytest.raises(RuntimeError, match="should not be instantiated"):
        Wrong()


IN_PLACE = {
    "clamp_": (-0.3, 0.3), "clamp_min_": (0.0,), "clamp_max_": (0.0,), "nan_to_num_": (), "logit_": (0.1,), "cumprod_": (0,), "float_power_": (2.0,),
    "igamma_": (torch.tensor([0.5, 1.5]).double(),), "scatter_reduce_": (0, torch.tensor([0, 0]), torch.tensor([0.5, 2.0]).double(), "prod"),
    "index_reduce_": (0, torch.tensor([1]), torch.tensor([2.0]).double(), "amax"), "round_": (), "renorm_": (2, 0, 0.5), "rrelu_": (),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_methods_have_the_gradients_of_their_functions(name):
    x = torch.tensor([0.25, 0.75], dtype=torch.float64, requires_grad=True)
    shape = (2, 1) if name == "renorm_" else (2,)

    def out(y):
        function = getattr(y, name[:-1], None) or getattr(torch.nn.functional, name[:-1])
        return function(*IN_PLACE[name]) if hasattr(y, name[:-1]) else function(y)

    def into(y):
        return getattr(y, name)(*IN_PLACE[name]) if hasattr(y, name) else getattr(torch.nn.functional, name)(y)

    expected, = torch.autograd.grad(out((x * 1).reshape(shape)).sum(), x)
    found, = torch.autograd.grad(into((x * 1).reshape(shape)).sum(), x)
    assert found.tolist() == expected.tolist()


def with_names(m):
    class Scaled(m.autograd.Function):
        @staticmethod
        def forward(x, n=3):
            return x * n

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.n = inputs[1]

        @staticmethod
        def vjp(ctx, g):
            return g * ctx.n, None

    class Old(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, n=3):
            ctx.n = n
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g * ctx.n, None

    class Both(Old):
        @staticmethod
        def vjp(ctx, g):
            return g, None

    found = []
    for call in (lambda x: Scaled.apply(x), lambda x: Scaled.apply(x, n=4), lambda x: Scaled.apply(n=5, x=x), lambda x: Old.apply(x, n=6),
                 lambda x: Old.apply(x)):
        x = m.ones(1, requires_grad=True)
        call(x).sum().backward()
        found.append(x.grad.item())
    for call in (lambda: Scaled.apply(m.ones(1), q=1), lambda: Both.apply(m.ones(1, requires_grad=True)).sum().backward()):
        try:
            call()
        except (TypeError, RuntimeError) as error:
            found.append(type(error).__name__)
    return found


def test_named_arguments_defaults_and_vjp():
    kept = [3.0, 4.0, 5.0, 6.0, 3.0, "TypeError", "RuntimeError"]
    assert with_names(torch) == kept == with_names(oracle())


def test_variables_of_old_programs():
    def case(m):
        V, base = m.autograd.Variable, m.ones(2)
        x = V(base, requires_grad=True)
        (x * 2).sum().backward()
        base[0] = 5
        plain = V(x * 2)
        return (isinstance(base, V), isinstance(x, V), isinstance(3, V), x.tolist(), x.grad.tolist(), x.is_leaf, plain.requires_grad, V().shape == (0,),
                type(x) is m.Tensor)

    assert case(torch) == case(oracle()) == (True, True, False, [5, 1], [2, 2], True, False, True, True)
    with pytest.raises(RuntimeError, match="floating point"):
        torch.autograd.Variable(torch.arange(2), requires_grad=True)
