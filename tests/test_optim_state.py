"""Optimizers: parameter groups, state_dict, hooks, options out of range."""
import copy
import io
import pickle

import pytest
from helpers import assert_close, oracle
from optim_problem import descend, start

import fasttensor as torch


def test_resume_gives_the_same_run():
    w = start()
    optimizer = torch.optim.Adam([w], lr=0.1)
    descend(optimizer, w, 3)
    saved, state = w.detach().clone(), copy.deepcopy(optimizer.state_dict())
    descend(optimizer, w, 3)
    v = saved.requires_grad_()
    other = torch.optim.Adam([v], lr=9.0)
    other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == 0.1
    descend(other, v, 3)
    assert v.tolist() == w.tolist()


def test_load_converts_to_the_parameters_dtype():
    w = start(torch.float32)
    optimizer = torch.optim.Adam([w])
    descend(optimizer, w, 1)
    v = start(torch.float64)
    other = torch.optim.Adam([v])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[v]["exp_avg"].dtype == torch.float64
    assert other.state[v]["step"].dtype == torch.float32
    descend(other, v, 1)


def test_load_keeps_text():
    w = start()
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    state = optimizer.state_dict()
    state["state"][0] = {"note": "text", "list": [1, 2]}
    optimizer.load_state_dict(state)
    assert optimizer.state[w] == {"note": "text", "list": [1, 2]}


def test_load_checks_groups():
    one = torch.optim.SGD([start()], lr=0.1)
    two = torch.optim.SGD([start(), start()], lr=0.1)
    with pytest.raises(ValueError, match="doesn't match the size"):
        one.load_state_dict(two.state_dict())
    groups = torch.optim.SGD([{"params": [start()]}, {"params": [start()]}], lr=0.1)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict(groups.state_dict())


def test_pickling():
    w = start()
    optimizer = torch.optim.RMSprop([w], lr=0.1)
    descend(optimizer, w, 1)
    other = pickle.loads(pickle.dumps(optimizer))
    assert other.param_groups[0]["alpha"] == 0.99
    own = other.param_groups[0]["params"][0]
    own.grad = torch.ones_like(own)
    other.step()


def test_hooks():
    w, seen = start(), []
    optimizer = torch.optim.SGD([w], lr=0.1)
    handles = [optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("pre")),
               optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post")),
               optimizer.register_state_dict_pre_hook(lambda o: seen.append("state")),
               optimizer.register_state_dict_post_hook(lambda o, s: seen.append("stated")),
               optimizer.register_load_state_dict_pre_hook(lambda o, s: seen.append("load")),
               optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))]
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["pre", "post", "state", "stated", "load", "loaded"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 6
    with torch.optim.optimizer.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("all")):
        optimizer.step()
    assert seen[6:] == ["all"]


def test_users_optimizer():
    class Plain(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with torch.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-group["lr"])

    w = start()
    before = w.detach().clone()
    optimizer = Plain([w], 0.5)
    w.sum().backward()
    optimizer.step()
    assert_close(w.detach(), before - 0.5)
    assert "lr: 0.5" in repr(optimizer)


def test_groups():
    a, b, c = start(), start(), start()
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": [c], "weight_decay": 0.1})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5, 0.1]
    for p in (a, b, c):
        p.grad = torch.ones_like(p)
    optimizer.step()
    assert_close(b.detach(), start().detach() - 0.5)
    assert_close(c.detach(), start().detach() - 0.1 * (1 + 0.1 * start().detach()))


def test_named_parameters():
    w = start()
    optimizer = torch.optim.SGD([("w", w)], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["w"]
    assert optimizer.param_groups[0]["params"][0] is w
    with pytest.raises(ValueError, match="names are missing"):
        torch.optim.SGD([("w", w), start()], lr=0.1)


def test_wrong_parameters():
    w = start()
    for bad, error in ((w, TypeError), ([], ValueError), ([1], TypeError), ([w * 2], ValueError),
                       ([{"params": {w}}], TypeError), ([{"params": [w]}, {"params": [w]}], ValueError)):
        with pytest.raises(error):
            torch.optim.SGD(bad, lr=0.1)


@pytest.mark.parametrize("name, options", [
    ("SGD", {"lr": -1}), ("SGD", {"momentum": -1}), ("SGD", {"nesterov": True}), ("Adam", {"betas": (1.0, 0.9)}),
    ("Adam", {"eps": -1}), ("Adam", {"lr": -1}), ("AdamW", {"weight_decay": -1}), ("RMSprop", {"alpha": -1}),
    ("Adadelta", {"rho": 2}), ("Rprop", {"etas": (1.0, 1.2)}), ("Adagrad", {"lr_decay": -1}), ("Muon", {"lr": -1}),
    ("Adafactor", {"d": 0.5}), ("Adam", {"lr": torch.ones(2)}), ("SparseAdam", {"eps": 0.0})])
def test_options_out_of_range(name, options):
    with pytest.raises(ValueError):
        getattr(torch.optim, name)([start()], **options)




@pytest.mark.parametrize("name, options", [("LBFGS", {"max_iter": 4}), ("Adam", {"amsgrad": True}), ("Rprop", {}), ("Adafactor", {})])
def test_files_go_both_ways(name, options):
    """A file of one library's optimizer, taken up by the other, gives the losses of staying."""
    pt = oracle()

    def problem(m):
        m.manual_seed(0)
        net = m.nn.Sequential(m.nn.Linear(6, 8), m.nn.Tanh(), m.nn.Linear(8, 2)).to(m.float64)
        return net, m.randn(16, 6).double(), m.randn(16, 2).double(), getattr(m.optim, name)(net.parameters(), **options)

    def run(m, net, x, y, optimizer, steps=5):
        def closure():
            optimizer.zero_grad()
            loss = m.nn.functional.mse_loss(net(x), y)
            loss.backward()
            return loss
        return [optimizer.step(closure).item() for _ in range(steps)]

    for one, other in ((pt, torch), (torch, pt)):
        begun = problem(one)
        run(one, *begun)
        taken = problem(other)
        for theirs, ours in ((begun[0], taken[0]), (begun[3], taken[3])):
            file = io.BytesIO()
            one.save(theirs.state_dict(), file)
            file.seek(0)
            ours.load_state_dict(other.load(file))
        assert run(other, *taken) == pytest.approx(run(one, *begun), rel=1e-9)
