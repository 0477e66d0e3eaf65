"""The tests of `torch.library.opcheck`."""
import fasttensor as torch

__all__ = ["check"]


def check(operator, args, kwargs, test_utils, raise_exception):
    """{test: "SUCCESS" or its error}; without `raise_exception` errors are returned."""
    tests = {"test_schema": _schema, "test_autograd_registration": _gradient, "test_faketensor": _fake}
    wanted = tests if test_utils is None else [test_utils] if isinstance(test_utils, str) else test_utils
    found = {}
    for name in wanted:
        try:
            tests.get(name, _runs)(operator, args, kwargs)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            found[name] = error
    return found


def _copied(values):
    if isinstance(values, torch.Tensor):
        return values.detach().clone().requires_grad_(values.requires_grad)
    return type(values)(map(_copied, values)) if isinstance(values, (list, tuple)) else values


def _runs(operator, args, kwargs):
    operator(*_copied(args), **kwargs)


def _schema(operator, args, kwargs):
    mine = _copied(args)
    with torch.no_grad():
        operator(*mine, **kwargs)
    for argument, before, after in zip(operator.schema.arguments, args, mine):
        if isinstance(before, torch.Tensor) and not argument.is_write and not torch.equal(torch.nan_to_num(before), torch.nan_to_num(after)):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated: name it in mutates_args")


def _gradient(operator, args, kwargs):
    mine = _copied(args)
    tensors = [t for t in mine if isinstance(t, torch.Tensor) and t.requires_grad]
    if not tensors:
        return
    out = operator(*mine, **kwargs)
    if all(t.dtype == torch.float64 for t in tensors):
        torch.autograd.gradcheck(lambda *given: operator(*given, **kwargs), mine)
    else:
        sum(t.sum() for t in (out if isinstance(out, (tuple, list)) else (out,)) if t.requires_grad).backward()


def _fake(operator, args, kwargs):
    if operator.fake is None:
        raise RuntimeError(f"{operator.qualname}: there was no fake impl registered: use register_fake to add one")
    move = lambda v, to: v.detach().to(to) if isinstance(v, torch.Tensor) else type(v)(move(x, to) for x in v) if isinstance(v, (list, tuple)) else v  # noqa: E731
    with torch.no_grad():
        real, fake = operator(*_copied(args), **kwargs), operator.fake(*move(args, "meta"), **kwargs)
    pairs = zip(real, fake) if isinstance(real, (tuple, list)) else [(real, fake)]
    for a, b in pairs:
        if isinstance(a, torch.Tensor) and (a.shape != b.shape or a.dtype != b.dtype):
            raise RuntimeError(f"{operator.qualname}: the fake function gives {tuple(b.shape)} of {b.dtype}, the operator {tuple(a.shape)} of {a.dtype}")
