"""Elementwise calls that are not rows of the table by themselves: broadcasting, mixed types, in-place forms, random numbers."""

CASES = {
    "broadcasting": {
        "add.column": "m+ones_r[:,None]", "mul.column": "m*ones_r[:,None]", "outer": "ones_r[:,None]*ones_r", "div.row": "m/ones_r",
        "sub.transposed": "m-m2.t()", "maximum.row": "t.maximum(m,ones_r)", "where.row": "t.where(bm,m,ones_r)", "pow.scalar": "m**3",
        "pow.half": "pm**0.5", "rsub": "1.0-m", "add.scalar": "m+1.5", "mul.scalar": "m*2", "gt.scalar": "m>0.5", "eq": "im==3",
        "div.scalar": "m/3.0", "rpow": "2.0**m", "clamp.scalar": "m.clamp(-1,1)", "addcmul": "t.addcmul(m,m,m2,value=0.5)",
        "lerp.scalar": "t.lerp(m,m2,0.3)", "strided": "m[:,::2]*m2[:,::2]", "float_power": "t.float_power(pm,2)", "mvlgamma": "t.mvlgamma(pm+3,2)",
        "multigammaln": "S.multigammaln(pm+3,2)", "frexp": "t.frexp(m)", "positive": "+m", "true_divide": "t.true_divide(m,m2)",
        "div.trunc": "t.div(m,m2,rounding_mode='trunc')", "div.floor": "t.divide(m,m2,rounding_mode='floor')", "nan_to_num": "t.nan_to_num(m)",
        "logit": "t.logit(p,1e-3)", "special.logit": "S.logit(p)", "fix": "t.fix(m)", "arctan2": "t.arctan2(m,m2)", "clip": "t.clip(m,0.0)",
        "prelu": "F.prelu(img,table[0,:2].expand(2)[:1])", "glu": "F.glu(m)", "gelu": "F.gelu(m)", "gammainc": "S.gammainc(p,p)",
        "gammaincc": "S.gammaincc(p,p)", "threshold": "F.threshold(m,0.1,0.0)",
    },
    "mixed_types": {
        "add.int64": "i+i", "mul.int64": "i*i", "add.int32": "i32+i32", "mul.int8": "i8*i8", "add.uint8": "u8+u8", "add.int16": "i16+i16",
        "floor_divide.int64": "i_n//i1", "floor_divide.int32": "i32//i32p", "remainder.int64": "i_n%i1", "remainder.int32": "i32%i32p",
        "fmod.int64": "t.fmod(i_n,i1)", "floor_divide.scalar": "i_n//7", "remainder.scalar": "i_n%10",
        "div.trunc.int64": "t.div(i_n,i1,rounding_mode='trunc')", "floor_divide.float32": "m//m2", "div.int64": "i/i1",
        "remainder.float32": "m%m2", "pow.int64": "i**2", "int+float": "i+x", "float+double": "x+d", "half+float": "h+x", "bool*float": "b*x",
        "and.bool": "b&b", "xor.int64": "i^i1", "shift.int64": "i<<2", "lt.int64": "i<i1", "add.float16": "h+h", "mul.float16": "h*h",
        "add.bfloat16": "e+e", "mul.bfloat16": "e*e", "exp.bfloat16": "e.exp()", "tanh.float16": "h.tanh()", "gelu.bfloat16": "F.gelu(e)",
        "silu.bfloat16": "F.silu(e)", "sigmoid.float16": "h.sigmoid()", "add.complex64": "c+c", "mul.complex64": "c*c", "div.complex64": "c/c",
        "abs.complex64": "c.abs()", "angle.complex64": "c.angle()", "exp.complex64": "c.exp()", "log.complex64": "c.log()",
        "sqrt.complex64": "c.sqrt()", "mul.complex128": "z*z", "exp.complex128": "z.exp()", "pow.complex64": "c**2", "mul.real": "c*2.0",
        "abs.int64": "i.abs()", "neg.int64": "-i", "minimum.int64": "t.minimum(i,i1)", "clamp.int64": "i.clamp(2,5)", "gcd.int64": "t.gcd(i_n,i1)",
        "popular.tanh.complex64": "c.tanh()", "sin.complex64": "c.sin()",
    },
    "in_place": {
        "add_": "m.add_(m2,alpha=1e-6)", "mul_": "m.mul_(1.0)", "div_": "m.div_(1.0)", "clamp_": "m.clamp_(-2,2)", "fill_": "m.fill_(1.0)",
        "zero_": "m.zero_()", "relu_": "m.relu_()", "sigmoid_": "m.sigmoid_()", "addcmul_": "m.addcmul_(m2,m2,value=1e-6)",
        "addcdiv_": "m.addcdiv_(m2,m2,value=1e-6)", "lerp_": "m.lerp_(m2,0.1)", "masked_fill_": "m.masked_fill_(bm,1.0)",
        "add_.row": "m.add_(ones_r,alpha=1e-6)", "add_.int64": "i.add_(1)", "index_add_": "m.index_add_(0,ir,m2)",
        "scatter_add_": "m.scatter_add_(1,im_r,m2)", "out": "t.add(m,m2,out=m3)", "out.exp": "t.exp(m,out=m3)", "out.sum": "t.sum(m,1,out=ones_r)",
    },
    "random": {
        "rand": "t.rand(r,r)", "randn": "t.randn(r,r)", "randint": "t.randint(0,100,(r,r))", "randperm": "t.randperm(n)",
        "rand_like": "t.rand_like(m)", "randn_like": "t.randn_like(m)", "randint_like": "t.randint_like(m,10)",
        "rand.float64": "t.rand(r,r,dtype=t.float64)", "randn.float64": "t.randn(r,r,dtype=t.float64)",
        "randn.bfloat16": "t.randn(r,r,dtype=t.bfloat16)", "normal": "t.normal(m,pm)", "normal.scalar": "t.normal(0.0,1.0,(r,r))",
        "bernoulli": "t.bernoulli(pm)", "poisson": "t.poisson(pm)", "binomial": "t.binomial(pm*5//1+3,pm)", "multinomial": "t.multinomial(pm,3)",
        "multinomial.replacement": "t.multinomial(p[:r],r,replacement=True)", "uniform_": "m.uniform_()", "normal_": "m.normal_()",
        "log_normal_": "m.log_normal_()", "cauchy_": "m.cauchy_()", "exponential_": "m.exponential_()", "geometric_": "m.geometric_(0.3)",
        "random_": "i.random_(0,10)", "bernoulli_": "m.bernoulli_(0.3)", "dropout": "F.dropout(m,0.5,True)",
        "alpha_dropout": "F.alpha_dropout(m,0.5,True)", "feature_alpha_dropout": "F.feature_alpha_dropout(img,0.5,True)",
        "dropout1d": "F.dropout1d(m,0.5,True)", "dropout2d": "F.dropout2d(img,0.5,True)", "dropout3d": "F.dropout3d(vol,0.5,True)",
        "feature_dropout": "t.feature_dropout(img,0.5,True)", "native_dropout": "t.native_dropout(m,0.5,True)", "rrelu": "F.rrelu(m,0.1,0.3,True)",
        "manual_seed": "t.manual_seed(3)", "_standard_gamma": "t._standard_gamma(pm)", "_standard_gamma_grad": "t._standard_gamma_grad(pm,pm2)",
        "_sample_dirichlet": "t._sample_dirichlet(pm)", "_dirichlet_grad": "t._dirichlet_grad(pm/pm.sum(1,True),pm,pm.sum(1,True).expand(r,r))",
    },
    "special_polynomials": {name: f"S.{name}(sm,3)" for name in """chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v
        chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w""".split()},
}

GRADIENTS = """add.column mul.column outer div.row where.row pow.scalar pow.half lerp.scalar prelu glu gelu dropout logit
    mul.complex64 exp.complex64 abs.complex64 float+double""".split()
