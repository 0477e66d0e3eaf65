"""Sorting, searching, sets; masks."""

CASES = {
    "sorting": {
        "sort": "x.sort()", "sort.row": "m.sort(1)", "sort.column": "m.sort(0)", "sort.descending": "m.sort(1,descending=True)",
        "sort.stable": "im.sort(dim=1,stable=True)", "sort.int64": "wide.sort()", "sort.float64": "dm.sort(1)", "sort.uint8": "u8.sort()",
        "sort.bool": "b.sort()", "sort.float16": "hm.sort(1)", "sort.int32": "i32.sort()", "argsort": "m.argsort(1)", "msort": "m.msort()",
        "topk": "m.topk(5)", "topk.one": "m.topk(1)", "topk.half": "m.topk(r//2)", "topk.vector": "x.topk(10)",
        "topk.unsorted": "m.topk(5,sorted=False)", "topk.int64": "wide.topk(10)", "kthvalue": "m.kthvalue(4)", "median": "x.median()",
        "median.dim": "m.median(1)", "median.float64": "dm.median(1)", "median.int64": "im.median(1)", "nanmedian": "m.nanmedian(1)",
    },
    "searching": {
        "unique": "i.unique()", "unique.inverse": "i.unique(return_inverse=True,return_counts=True)", "unique.float32": "x.unique()",
        "unique.unsorted": "t.unique(wide,sorted=False)", "unique.dim": "rows.unique(dim=0)", "unique.bool": "b.unique()",
        "unique_consecutive": "ordered.unique_consecutive()", "unique_consecutive.inverse": "ordered.unique_consecutive(return_inverse=True)",
        "isin": "t.isin(i,few_i)", "isin.many": "t.isin(wide,i)", "searchsorted": "t.searchsorted(edges,x)",
        "searchsorted.rows": "t.searchsorted(ms,m)", "searchsorted.int64": "t.searchsorted(ordered,i)", "bucketize": "t.bucketize(x,edges)",
        "bucketize.right": "t.bucketize(m,edges,right=True)", "nonzero": "b.nonzero()", "nonzero.matrix": "bm.nonzero()",
        "nonzero.tuple": "bm.nonzero(as_tuple=True)", "nonzero.sparse": "(m>2.5).nonzero()", "argwhere": "bm.argwhere()",
        "nonzero_static": "t.nonzero_static(b,size=20)", "where.one": "t.where(bm)", "combinations": "t.combinations(few[0])",
        "cartesian_prod": "t.cartesian_prod(few[0],few[1])",
    },
    "masking": {
        "masked_fill": "m.masked_fill(bm,0.0)", "masked_fill.row": "m.masked_fill(bm[0],0.0)", "masked_fill.int64": "im.masked_fill(bm,0)",
        "masked_fill.float64": "dm.masked_fill(bm,0.0)", "masked_scatter": "m.masked_scatter(bm,m2)", "masked_select": "m.masked_select(bm)",
        "masked_select.int64": "i.masked_select(b)", "getitem.mask": "m[bm]", "getitem.mask_rows": "m[bm[0]]",
        "setitem.mask": "m.__setitem__(bm,1.0)", "where": "t.where(bm,m,m2)", "where.scalar": "t.where(bm,m,0.0)", "where.int64": "t.where(b,i,0)",
        "tril": "m.tril()", "triu": "m.triu(1)", "tril.batch": "v.tril()", "tril.float64": "dm.tril()", "masked.sum": "(m*bm).sum(1)",
        "masked.amax": "m.masked_fill(bm,float('-inf')).amax(1)",
    },
}

GRADIENTS = """sort sort.row topk kthvalue median median.dim masked_fill masked_select masked_scatter getitem.mask where tril triu""".split()
