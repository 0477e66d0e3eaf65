"""Cases of the structured operations, by family: "FAMILY/CASE" on small and ".large" on large operands, "~" for the gradient."""
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cases

# n elements, matrices of r x r, square systems of k x k, images of hw x hw and ch channels in batches of nb
SMALL = {"n": 100, "r": 10, "k": 8, "hw": 8, "ch": 2, "nb": 1, "nf": 16, "bins": 8, "deep": 4}
LARGE = {"n": 262_144, "r": 512, "k": 128, "hw": 64, "ch": 16, "nb": 8, "nf": 512, "bins": 100, "deep": 16}

OPERANDS = {
    "x": "t.randn(n)", "y": "t.randn(n)", "p": "t.rand(n)*0.9+0.05", "d": "t.randn(n,dtype=t.float64)", "h": "t.randn(n).half()",
    "e": "t.randn(n).bfloat16()", "c": "t.complex(t.randn(n),t.randn(n))", "z": "t.complex(d,d+1)", "b": "t.rand(n)<0.5",
    "i": "t.randint(0,100,(n,))", "i1": "t.randint(1,100,(n,))", "i_n": "t.randint(0,n,(n,))", "wide": "t.randint(0,1000000,(n,))",
    "i32": "i.int()", "i32p": "i1.int()", "i16": "i.short()", "i8": "(i%10).to(t.int8)", "u8": "i.byte()", "i8m": "i8.view(r,r)",
    "few_i": "t.randint(0,100,(20,))", "ordered": "i.sort()[0]", "halves": "t.tensor([0.25,0.5])", "m": "t.randn(r,r)", "m2": "t.randn(r,r)",
    "m3": "t.empty(r,r)", "dm": "d.view(r,r)", "hm": "h.view(r,r)", "em": "e.view(r,r)", "cm": "c.view(r,r)", "zm": "z.view(r,r)",
    "bm": "b.view(r,r)", "im": "i.view(r,r)", "pm": "p.view(r,r)", "pm2": "t.rand(r,r)*0.9+0.05", "sm": "pm*2-1", "ms": "m.sort(1)[0]",
    "ones_r": "t.rand(r)+0.5", "ir": "t.randint(0,r,(r,))", "im_r": "t.randint(0,r,(r,r))", "signs": "bm.float()*2-1",
    "edges": "t.linspace(-3,3,bins)", "pairs": "t.randn(n,2)", "runs": "t.full((n//4,),4)", "pieces": "[t.randn(n//10) for _ in range(10)]",
    "few": "t.randn(bins,bins)", "few_targets": "t.randint(0,bins,(bins,bins))", "few_counts": "t.randint(0,4,(n,))", "threes": "t.randn(n//3,3)",
    "threes2": "t.randn(n//3,3)", "near": "t.randn(bins*2,8)", "cube": "t.randn(5,8,8)", "rows": "t.randint(0,4,(n//4,4))",
    "table": "t.randn(r,32)", "bag_starts": "t.arange(0,n,4)", "numbers": "x.tolist()", "array": "x.numpy()", "halved": "F.max_pool2d(img,2)",
    "positions": "F.max_pool2d(img,2,return_indices=True)[1]", "q": "t.randn(k,k)+3*t.eye(k)", "q2": "t.randn(k,k)", "tall": "t.randn(2*k,k)",
    "spd": "q2@q2.t()+t.eye(k)", "v": "t.randn(deep*4,deep,deep)+2*t.eye(deep)", "few_v": "v[:4]", "q_v": "t.randn(deep,deep)",
    "spds": "v@v.mT+t.eye(deep)", "w_k": "t.randn(k//4,k//4)", "x_k": "t.randn(k//4)", "near_k": "t.randn(8,w_k.shape[1])",
    "img": "t.randn(nb,ch,hw,hw)", "channels": "t.randn(nb,4*ch,hw//2,hw//2)", "classes": "t.randint(0,ch,(nb,hw,hw))",
    "line": "t.randn(nb,ch,hw*hw)", "vol": "t.randn(nb,ch,deep,deep,deep)", "weight": "t.randn(ch,ch,3,3)", "line_w": "t.randn(ch,ch,3)",
    "vol_w": "t.randn(ch,ch,3,3,3)", "scale": "t.rand(ch)+0.5", "shift": "t.randn(ch)", "grid": "t.rand(nb,hw,hw,2)*2-1",
    "grid3": "t.rand(nb,deep,deep,deep,3)*2-1", "angles": "t.randn(nb,2,3)", "heads": "t.randn(nb,2,hw,16)",
    "steps": "t.randn(hw,nb,ch).log_softmax(-1)", "labels": "t.randint(1,ch,(nb,4))", "step_lengths": "t.full((nb,),hw)",
    "label_lengths": "t.full((nb,),4)", "tbc_w": "t.randn(3,ch,5)", "tbc_b": "t.randn(5)", "in_w": "t.randn(3*ch,ch)", "in_b": "t.randn(3*ch)",
    "state": "t.randn(nb,ch)", "hann": "t.hann_window(nf)", "spectrum": "t.stft(x,nf,return_complex=True,window=hann,pad_mode='constant')",
    "rnn_w1": "[t.randn(ch,ch),t.randn(ch,ch),t.randn(ch),t.randn(ch)]",
    "rnn_w3": "[t.randn(3*ch,ch),t.randn(3*ch,ch),t.randn(3*ch),t.randn(3*ch)]",
    "rnn_w4": "[t.randn(4*ch,ch),t.randn(4*ch,ch),t.randn(4*ch),t.randn(4*ch)]",
}
FLOATING = "x y p d m m2 dm pm sm q q2 spd v c cm img line vol heads table few near threes few_v channels w_k ones_r e em steps hm h z".split()


def case_names():
    names = []
    for family, sources in cases.CASES.items():
        for case in sources:
            names += [f"{family}/{case}", f"{family}/{case}.large"]
            if case in cases.GRADIENTS:
                names += [f"{family}/~{case}", f"{family}/~{case}.large"]
    return names


def _names_in(code):
    """The global names of a code object, those of lambdas in it included."""
    found = set(code.co_names)
    for inner in code.co_consts:
        if hasattr(inner, "co_names"):
            found |= _names_in(inner)
    return found


def _fill(source, names):
    """Makes the operands that `source` names, and those that they name."""
    code = compile("lambda: " + source, source, "eval")
    for name in sorted(_names_in(code)):
        if name in OPERANDS and name not in names:
            names[name] = eval(_fill(OPERANDS[name], names), names)()
    return code


def build(name, t, sizes=None):
    """The zero-argument callable that a case times."""
    family, case = name.split("/", 1)
    sizes = sizes or (LARGE if case.endswith(".large") else SMALL)
    case = case.removesuffix(".large")
    gradient, case = case.startswith("~"), case.removeprefix("~")
    source = cases.CASES[family][case]
    names = {"t": t, "F": importlib.import_module(t.__name__ + ".nn.functional"), "L": t.linalg, "S": t.special, "R": t.fft, **sizes}
    if family == "transforms":
        names["A"], names["G"] = (importlib.import_module(t.__name__ + part) for part in (".func", ".autograd.functional"))
    code = _fill(source, names)
    if not gradient:
        forward = eval(code, names)

        def run():
            with t.no_grad():
                return forward()
        return forward if family == "transforms" else run
    wanted = [names[operand].requires_grad_() for operand in FLOATING if operand in _names_in(code)]
    result = eval(code, names)()
    results = [y for y in (result if isinstance(result, (tuple, list)) else [result]) if y.requires_grad]
    seeds = [t.ones_like(y) for y in results]
    return lambda: t.autograd.grad(results, wanted, seeds, retain_graph=True, allow_unused=True)
