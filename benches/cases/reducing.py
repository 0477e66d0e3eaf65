"""Reductions, norms of vectors, running sums, statistics, softmax."""

CASES = {
    "reduction": {
        "sum": "x.sum()", "sum.row": "m.sum(1)", "sum.column": "m.sum(0)", "sum.middle": "v.sum(1)", "sum.all_but_one": "img.sum((0,2,3))",
        "sum.float64": "d.sum()", "sum.float16": "h.sum()", "sum.bfloat16": "e.sum(0)", "sum.int64": "i.sum()", "sum.int32": "i32.sum()",
        "sum.uint8": "u8.sum()", "sum.bool": "b.sum()", "sum.complex64": "c.sum()", "sum.transposed": "m.t().sum(1)", "nansum": "m.nansum(1)",
        "mean": "x.mean()", "mean.row": "m.mean(1)", "mean.column": "m.mean(0)", "mean.bfloat16": "e.mean()", "nanmean": "m.nanmean(1)",
        "prod": "x.prod()", "prod.row": "m.prod(1)", "prod.int64": "im.prod(1)", "amax": "m.amax(1)", "amax.column": "m.amax(0)",
        "amin": "m.amin((0,1))", "amax.float64": "dm.amax(1)", "amax.int64": "im.amax(1)", "amax.float16": "hm.amax(1)", "max": "x.max()",
        "max.dim": "m.max(1)", "max.column": "m.max(0)", "max.int64": "im.max(1)", "min": "m.min()", "min.dim": "m.min(1)",
        "min.float64": "dm.min(1)", "max.bfloat16": "em.max(1)", "aminmax": "m.aminmax()", "aminmax.dim": "t.aminmax(m,dim=1)",
        "argmax": "x.argmax()", "argmax.dim": "m.argmax(1)", "argmin": "m.argmin(0)", "argmax.int64": "im.argmax(1)", "any": "b.any()",
        "any.dim": "bm.any(1)", "all": "b.all()", "all.dim": "bm.all(0)", "any.float32": "(m>9).any(1)", "count_nonzero": "b.count_nonzero()",
        "count_nonzero.dim": "m.count_nonzero(1)", "logsumexp": "m.logsumexp(1)", "logsumexp.column": "m.logsumexp(0)",
        "logsumexp.float64": "S.logsumexp(dm,1)", "sum_to_size": "m.sum_to_size(1,r)", "std": "x.std()", "std.dim": "m.std(1)", "var": "m.var()",
        "var.column": "m.var(0)", "var.float64": "dm.var(1)", "var_mean": "t.var_mean(m,1)", "std_mean": "t.std_mean(m,0)",
        "var.complex64": "cm.var(1)", "equal": "t.equal(x,x+0)", "allclose": "t.allclose(x,x)", "isclose": "t.isclose(x,y)", "trace": "m.trace()",
    },
    "norm": {
        "norm": "x.norm()", "norm.row": "m.norm(dim=1)", "norm.one": "m.norm(1,dim=0)", "norm.inf": "L.norm(m,float('inf'))",
        "norm.three": "m.norm(3,dim=1)", "vector_norm": "L.vector_norm(x)", "vector_norm.float64": "L.vector_norm(dm,dim=1)",
        "vector_norm.complex64": "L.vector_norm(cm,dim=1)", "matrix_norm": "L.matrix_norm(m)", "matrix_norm.nuclear": "L.matrix_norm(q,'nuc')",
        "matrix_norm.two": "L.matrix_norm(q,2)", "frobenius_norm": "t.frobenius_norm(m,(0,1))", "nuclear_norm": "t.nuclear_norm(q)",
        "norm_except_dim": "t.norm_except_dim(m,2,0)", "renorm": "m.renorm(2,0,1.0)", "dist": "t.dist(x,y)", "normalize": "F.normalize(m,dim=1)",
        "cosine_similarity": "F.cosine_similarity(m,m2)", "pairwise_distance": "F.pairwise_distance(m,m2)", "cdist": "t.cdist(near,near)",
        "cdist.one": "t.cdist(near,near,p=1)", "cdist.many": "t.cdist(m,m2)", "pdist": "F.pdist(near)",
    },
    "cumulative": {
        "cumsum": "x.cumsum(0)", "cumsum.row": "m.cumsum(1)", "cumsum.column": "m.cumsum(0)", "cumsum.int64": "im.cumsum(1)",
        "cumsum.bool": "bm.cumsum(1)", "cumsum.float64": "dm.cumsum(1)", "cumsum.float16": "hm.cumsum(1)", "cumprod": "m.cumprod(1)",
        "cumprod.column": "m.cumprod(0)", "cummax": "m.cummax(1)", "cummin": "m.cummin(0)", "cummax.int64": "im.cummax(1)",
        "logcumsumexp": "m.logcumsumexp(1)", "logcumsumexp.column": "m.logcumsumexp(0)", "diff": "m.diff()", "diff.column": "m.diff(dim=0)",
        "trapezoid": "t.trapezoid(m)", "trapz": "t.trapz(m,dx=0.5)", "cumulative_trapezoid": "t.cumulative_trapezoid(m)",
        "gradient": "t.gradient(m)",
    },
    "softmax": {
        "softmax": "F.softmax(m,1)", "softmax.column": "F.softmax(m,0)", "softmax.float64": "F.softmax(dm,1)",
        "softmax.bfloat16": "F.softmax(em,1)", "softmax.channels": "F.softmax(img,1)", "log_softmax": "F.log_softmax(m,1)",
        "log_softmax.column": "F.log_softmax(m,0)", "softmin": "F.softmin(m,1)", "gumbel_softmax": "F.gumbel_softmax(m,dim=1)",
        "masked.softmax": "t.softmax(m.masked_fill(bm,float('-inf')),1)",
    },
    "statistics": {
        "quantile": "m.quantile(0.3)", "quantile.dim": "m.quantile(halves,1)", "nanquantile": "m.nanquantile(0.3,1)", "mode": "im.mode(1)",
        "cov": "t.cov(few)", "corrcoef": "t.corrcoef(few)", "cross": "L.cross(threes,threes2)", "vander": "t.vander(few[0])",
        "linalg.vander": "L.vander(few[0])", "histc": "x.histc(100,-3,3)", "histogram": "t.histogram(x,50,range=(-3.0,3.0))",
        "histogram.edges": "t.histogram(x,edges)", "histogramdd": "t.histogramdd(threes,[8,8,8])", "bincount": "i.bincount()",
        "bincount.weights": "i.bincount(p)", "bincount.wide": "wide.bincount()",
    },
}

GRADIENTS = """sum sum.row sum.column sum.middle sum.float64 nansum mean mean.row nanmean prod prod.row amax amax.column max max.dim
    min.dim logsumexp logsumexp.column std std.dim var var.column var.float64 var_mean norm norm.row norm.one vector_norm
    vector_norm.float64 matrix_norm renorm dist normalize cosine_similarity pairwise_distance cdist cdist.one pdist cumsum cumsum.row
    cumsum.column cumsum.float64 cumprod cummax logcumsumexp diff trapezoid softmax softmax.column softmax.float64 softmax.channels
    log_softmax log_softmax.column quantile nanquantile cov cross""".split()
