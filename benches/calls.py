"""What programs do repeatedly, on about ten elements: the cost of a call, not of its arithmetic.

    python benches/calls.py [--torch-python PATH] [--only PATTERN] [--rounds 3]

Both libraries run at one thread in alternating processes; a ratio above 1 means that fasttensor is the faster.
"""
import argparse
import importlib
import json
import math
import os
import re
import subprocess
import sys
import time

SETUP = """
x, y, g = t.randn(10), t.randn(10), t.randn(10, requires_grad=True)
m, z, M, s = t.randn(4, 5), t.randn(4, 5), t.randn(4, 5, requires_grad=True), t.tensor(1.5)
i, b, tok, tgt = t.tensor([1, 3, 2]), x > 0, t.tensor([[1, 2, 3]]), t.tensor([0, 1, 2, 1])
img, q, seq3, small = t.randn(1, 3, 8, 8), t.randn(1, 2, 4, 8), t.randn(1, 3, 8), [t.randn(4) for _ in range(4)]
ln, emb, drop, dropt, relu, gelu = nn.LayerNorm(5), nn.Embedding(10, 5), nn.Dropout(0.1).eval(), nn.Dropout(0.1), nn.ReLU(), nn.GELU()
conv, bn, bnt, lin, gru = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(3).eval(), nn.BatchNorm2d(3), nn.Linear(5, 3), nn.GRUCell(5, 5)
mha = nn.MultiheadAttention(8, 2, batch_first=True).eval()
net, xin = nn.Sequential(*[nn.Linear(4, 4) for _ in range(20)]), t.randn(2, 4)
sgd, adam, sgdm = (t.optim.SGD(net.parameters(), lr=1e-6), t.optim.Adam(net.parameters(), lr=1e-6),
                   t.optim.SGD(net.parameters(), lr=1e-6, momentum=0.9))
net(xin).sum().backward()


def inplace():
    global x
    x += y


def loop():
    sgd.zero_grad()
    F.mse_loss(net(xin), xin).backward()
    sgd.step()


def nograd():
    with t.no_grad():
        pass
"""

CASES = {
    "getitem_int": "x[3]", "getitem_slice": "m[:,1:3]", "getitem_none": "x[None]", "getitem_pair": "m[1,2]", "getitem_tensor": "x[i]",
    "getitem_mask": "x[b]", "getitem_list": "x[[1,2]]", "getitem_grad": "M[0]", "getitem_ell": "m[...,0]", "setitem_int": "x.__setitem__(3,1.0)",
    "setitem_slice": "m.__setitem__((slice(None),1),2.0)", "view": "x.view(2,5)", "view_neg": "m.view(-1)", "reshape": "x.reshape(5,2)",
    "permute": "m.permute(1,0)", "transpose": "m.transpose(0,1)", "T": "m.T", "t": "m.t()", "unsqueeze": "x.unsqueeze(0)", "squeeze": "x.squeeze()",
    "flatten": "m.flatten()", "expand": "x.expand(3,10)", "view_grad": "M.view(20)", "transpose_grad": "M.transpose(0,1)",
    "contiguous": "x.contiguous()", "contiguous_t": "m.t().contiguous()", "chunk": "m.chunk(2)", "split": "x.split(5)", "unbind": "m.unbind(0)",
    "narrow": "x.narrow(0,1,3)", "item": "s.item()", "float": "float(s)", "shape": "x.shape", "size": "m.size()", "size0": "m.size(0)",
    "len": "len(x)", "iterate": "list(small[0])", "numel": "x.numel()", "dim": "x.dim()", "dtype": "x.dtype", "device": "x.device",
    "requires_grad": "x.requires_grad", "tolist": "x.tolist()", "is_contig": "x.is_contiguous()", "bool": "bool(s>0)", "lt": "x<y",
    "eq_scalar": "x==1.0", "iadd": "inplace()", "add_": "x.add_(y)", "mul_scalar_": "x.mul_(1.0)", "sub_scalar": "x-1.0", "rsub": "1.0-x",
    "rdiv": "1.0/(x)", "pow2": "x**2", "neg": "-x", "add_alpha": "t.add(x,y,alpha=0.5)", "bcast": "m+small[0][0]", "bcast_row": "z+x[:5]",
    "int_add": "i+1", "add_0d": "x+s", "and_": "b&b", "where": "t.where(b,x,y)", "clamp": "x.clamp(min=0)", "clamp2": "x.clamp(-1,1)",
    "exp": "x.exp()", "sqrt": "b.float().sqrt()", "tanh_grad": "t.tanh(g)", "sum_dim": "m.sum(1)", "mean": "x.mean()",
    "mean_dim": "m.mean(-1,keepdim=True)", "max": "x.max()", "max_dim": "m.max(1)", "argmax": "m.argmax(1)", "argmax0": "x.argmax()",
    "std": "x.std()", "var_dim": "m.var(-1)", "norm": "x.norm()", "all": "b.all()", "any": "b.any()", "cumsum": "x.cumsum(0)", "sort": "x.sort()",
    "topk": "x.topk(3)", "prod": "x.prod()", "min2": "t.minimum(x,y)", "abs": "x.abs()", "masked_fill": "x.masked_fill(b,0.0)",
    "gather": "m.gather(1,tgt[:,None])", "index_select": "x.index_select(0,i)", "eq": "t.equal(x,y)", "allclose": "t.allclose(x,x)",
    "isnan": "t.isnan(x).any()", "cat": "t.cat([x,y])", "stack": "t.stack(small)", "stack1": "t.stack([x,y],1)", "zeros": "t.zeros(10)",
    "zeros2": "t.zeros(4,5)", "ones": "t.ones((2,3))", "randn": "t.randn(10)", "rand": "t.rand(10)", "arange": "t.arange(10)", "empty": "t.empty(10)",
    "full": "t.full((10,),2.0)", "zeros_like": "t.zeros_like(x)", "tensor_list": "t.tensor([1.0,2.0,3.0])", "tensor_scalar": "t.tensor(1.0)",
    "randint": "t.randint(0,10,(5,))", "eye": "t.eye(3)", "linspace": "t.linspace(0,1,5)", "randperm": "t.randperm(5)", "tril": "t.tril(m)",
    "new_zeros": "x.new_zeros(3)", "to_dtype": "x.to(t.float64)", "to_same": "x.to(t.float32)", "float_": "x.float()", "long": "x.long()",
    "half": "x.half()", "detach": "g.detach()", "clone": "x.clone()", "clone_grad": "g.clone()", "cpu": "x.cpu()", "numpy": "x.numpy()",
    "requires_": "x.detach().requires_grad_()", "data": "g.data", "copy_": "x.copy_(y)", "zero_": "y.clone().zero_()", "fill_": "small[0].fill_(1.0)",
    "matmul_op": "m@m.T", "mv": "m@x[:5]", "dot": "x[:5]@z[0]", "bmm": "t.bmm(q[0],q[0].transpose(1,2))", "einsum": "t.einsum('ij,kj->ik',m,z)",
    "mm": "t.mm(m,z.t())", "outer": "t.outer(x,x)", "addmm": "t.addmm(small[0],m,z.t())", "linear": "lin(m)", "layer_norm": "ln(m)",
    "embedding": "emb(tok)", "dropout_eval": "drop(x)", "dropout_train": "dropt(x)", "relu_mod": "relu(x)", "gelu_mod": "gelu(x)",
    "conv": "conv(img)", "bn_eval": "bn(img)", "bn_train": "bnt(img)", "cross_entropy": "F.cross_entropy(z,tgt)",
    "cross_entropy_grad": "F.cross_entropy(M,tgt)", "mse": "F.mse_loss(x,y)", "mse_grad": "F.mse_loss(g,y)", "softmax": "F.softmax(m,-1)",
    "log_softmax": "F.log_softmax(m,dim=1)", "F_relu": "F.relu(x)", "t_softmax": "m.softmax(-1)", "bce": "F.binary_cross_entropy_with_logits(x,y)",
    "nll": "F.nll_loss(z,tgt)", "l1": "F.l1_loss(x,y)", "sdpa": "F.scaled_dot_product_attention(q,q,q)", "max_pool": "F.max_pool2d(img,2)",
    "avg_pool": "F.avg_pool2d(img,2)", "adaptive": "F.adaptive_avg_pool2d(img,1)", "pad": "F.pad(m,(1,1))",
    "interpolate": "F.interpolate(img,scale_factor=2)", "one_hot": "F.one_hot(tgt,4)", "normalize": "F.normalize(m,dim=-1)",
    "smooth_l1": "F.smooth_l1_loss(x,y)", "kl": "F.kl_div(x,y,reduction='sum')", "cosine": "F.cosine_similarity(m,z)", "grucell": "gru(m)",
    "mha": "mha(seq3,seq3,seq3)", "params": "list(net.parameters())", "state": "net.state_dict()", "modcall20": "net(xin)",
    "train_mode": "net.train()", "nograd": "nograd()", "backward": "(g*g).sum().backward()", "grad": "t.autograd.grad((g*g).sum(),g)",
    "chain_bwd": "((g*2+1).tanh()*y).mean().backward()", "step_sgd": "sgd.step()", "step_adam": "adam.step()", "step_mom": "sgdm.step()",
    "zero_grad": "sgd.zero_grad(set_to_none=False)", "clip": "nn.utils.clip_grad_norm_(net.parameters(),1.0)", "train_loop": "loop()",
    "manual_seed": "t.manual_seed(0)", "is_tensor": "t.is_tensor(x)", "grad_attr": "g.grad", "repr": "repr(s)",
}


def work(library, pattern):
    """Nanoseconds of each case, or the error that it raised."""
    t = importlib.import_module(library)
    names = {"t": t, "nn": t.nn, "F": importlib.import_module(library + ".nn.functional")}
    t.set_num_threads(1)
    t.manual_seed(0)
    exec(SETUP, names)
    found = {}
    for name, source in CASES.items():
        if not re.search(pattern, name):
            continue
        try:
            run = eval("lambda: " + source, names)
            for _ in range(5):
                run()
            begin = time.perf_counter()
            run()
            inner = max(1, int(1e-3 / max(time.perf_counter() - begin, 1e-7)))
            best, end = math.inf, time.perf_counter() + 0.03
            while time.perf_counter() < end:
                begin = time.perf_counter()
                for _ in range(inner):
                    run()
                best = min(best, (time.perf_counter() - begin) / inner)
            found[name] = best * 1e9
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"[:80]
    return found


def main():
    parser = argparse.ArgumentParser(description="Cost of small calls against PyTorch.")
    parser.add_argument("--torch-python", default=sys.executable, metavar="PATH", help="an interpreter that has PyTorch")
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.work, options.only)))
        return
    best = {"torch": {}, "fasttensor": {}}
    for _ in range(options.rounds):
        for library, python in (("torch", options.torch_python), ("fasttensor", sys.executable)):
            command = [python, os.path.abspath(__file__), "--work", library, "--only", options.only]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            for name, cost in json.loads(done.stdout.splitlines()[-1]).items():
                old = best[library].get(name)
                best[library][name] = min(old, cost) if isinstance(old, float) and isinstance(cost, float) else cost
    ratios = []
    for name, ours in best["fasttensor"].items():
        theirs = best["torch"][name]
        if isinstance(ours, float) and isinstance(theirs, float):
            ratios.append((theirs / ours, name, theirs, ours))
        else:
            print(f"{name:20} {theirs} | {ours}")
    for ratio, name, theirs, ours in sorted(ratios):
        print(f"{name:20} {theirs:9.0f} ns {ours:9.0f} ns {ratio:7.2f}")
    if ratios:
        print(f"geometric mean {math.exp(sum(math.log(r[0]) for r in ratios) / len(ratios)):.2f},"
              f" below 1: {sum(r[0] < 1 for r in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    main()
