"""Rules of modules that programs rarely meet: kept values, and the same under PyTorch."""
import inspect
import warnings

import pytest
from helpers import oracle

import fasttensor


def error(function, *args, **kwargs):
    """(type's name, text) of what a call raises, under PyTorch's name."""
    try:
        function(*args, **kwargs)
    except Exception as found:
        return type(found).__name__, str(found).replace("fasttensor", "torch")
    return None


def unused_output(torch):
    class Two(torch.nn.Module):
        def forward(self, x, y):
            return 2 * x, 3 * y

    seen, net = [], Two()
    net.register_full_backward_pre_hook(lambda module, grads: seen.append([g if g is None else g.tolist() for g in grads]))
    net.register_full_backward_hook(lambda module, inputs, outputs: seen.append([g.tolist() for g in inputs]))
    x, y = (torch.ones(1, requires_grad=True) for _ in range(2))
    net(x, y)[0].backward()
    return seen, x.grad.tolist(), y.grad.tolist()


def without_inputs(torch):
    net = torch.nn.Linear(1, 1)
    net.register_full_backward_hook(lambda *_: None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        net(torch.ones(1)).backward()
    return [(w.category.__name__, str(w.message)[:100]) for w in found]


def kinds_of_global_hooks(torch):
    place = torch.nn.modules.module
    with place.register_module_full_backward_hook(lambda *_: None):
        return error(place.register_module_backward_hook, lambda *_: None)


def silenced(torch):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ValueError("inside")

    def hook(*_):
        raise KeyError("hook")

    net = Fails()
    net.register_forward_hook(hook, always_call=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert error(net, 1) == ("ValueError", "inside")
    return [str(w.message) for w in found]


def loads(torch):
    nn = torch.nn
    net = nn.Linear(2, 1)
    net.register_load_state_dict_post_hook(lambda *_: 3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nn.Linear(1, 1, bias=False, device="meta").load_state_dict({"weight": torch.ones(1, 1)})
    return (error(net.load_state_dict, net.state_dict()), error(nn.Linear(2, 1).load_state_dict, nn.LazyLinear(1).state_dict()),
            str(found[0].message))


def lazy(torch):
    weight = torch.nn.LazyLinear(1).weight
    return [error(getattr(weight, name))[0] for name in ("numel", "dim", "detach", "exp", "zero_", "tolist")], weight.half().dtype.itemsize


def moves(torch):
    net = torch.nn.Linear(1, 1)
    return (error(net.to, torch.float64, torch.float32)[0], error(net.to, "cpu", torch.float64, 3)[0],
            error(torch.nn.Linear(1, 1, device="meta").to, "cpu"), error(net.to_empty, "cpu"))


def assigned(torch):
    net = torch.nn.Module()
    net.p, net.m = torch.nn.Parameter(torch.ones(1)), torch.nn.ReLU()
    return error(setattr, net, "p", torch.ones(1)), error(setattr, net, "m", torch.ones(1).long()), error(net.register_parameter, "q", torch.ones(1))


def small(torch):
    nn, pack = torch.nn, torch.nn.utils.rnn.pack_padded_sequence
    packed = pack(torch.arange(6.0).view(3, 2), torch.tensor([3.0, 1.0]))
    return (nn.ModuleList([nn.ReLU()]).insert(0, nn.Tanh()), packed.batch_sizes.tolist(), nn.Module.__module__.replace("fasttensor", "torch"),
            hasattr(nn.Module, "T_destination"))


KEPT = {
    unused_output: ([[[1.0], None], [[2.0], [0.0]]], [2.0], [0.0]),
    without_inputs: [("UserWarning", "Full backward hook is firing when gradients are computed with respect to module outputs since no inp")],
    kinds_of_global_hooks: ("RuntimeError", "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use "
                            "only one of them."),
    silenced: ["module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in forward: 'hook'"],
    loads: (("AssertionError", "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
             "incompatible_keys need to be modified, it should be done inplace."),
            ("RuntimeError", "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
             "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
             "accessing their attributes."),
            "for weight: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. (Did "
            "you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module instead of "
            "copying them in place?)"),
    lazy: (["ValueError"] * 6, 2),
    moves: ("TypeError", "TypeError",
            ("NotImplementedError", "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
             "torch.nn.Module.to() when moving module from meta to a different device."),
            ("TypeError", "Module.to_empty() takes 1 positional argument but 2 were given")),
    assigned: (("TypeError", "cannot assign 'torch.FloatTensor' as parameter 'p' (torch.nn.Parameter or None expected)"),
               ("TypeError", "cannot assign 'torch.LongTensor' as child module 'm' (torch.nn.Module or None expected)"),
               ("TypeError", "cannot assign 'torch.FloatTensor' object to parameter 'q' (torch.nn.Parameter or None required)")),
    small: (None, [2, 1, 1], "torch.nn.modules.module", True),
}


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.__name__)
def test_kept(case):
    assert case(fasttensor) == KEPT[case]


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.__name__)
def test_as_pytorch(case):
    assert case(oracle()) == KEPT[case]


def test_global_hooks_of_the_old_kind():
    nn, seen = fasttensor.nn, []
    with nn.modules.module.register_module_backward_hook(lambda module, inputs, outputs: seen.append((type(module).__name__, len(inputs)))):
        nn.Sequential(nn.Linear(1, 1), nn.Tanh())(fasttensor.ones(1, 1)).sum().backward()
    assert seen == [("Tanh", 1), ("Sequential", 1), ("Linear", 3)] and inspect.isfunction(nn.Module.to)


def test_a_default_distance_is_a_module():
    kept = "TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)"
    loss = fasttensor.nn.TripletMarginWithDistanceLoss()
    assert repr(loss) == kept == repr(oracle().nn.TripletMarginWithDistanceLoss())
    a, b, c = fasttensor.randn(3, 4, 2, generator=fasttensor.Generator().manual_seed(1))
    assert loss(a, b, c).item() == pytest.approx(fasttensor.nn.TripletMarginLoss()(a, b, c).item())
