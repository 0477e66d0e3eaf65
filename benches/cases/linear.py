"""Matrix products, decompositions, equations, Fourier transforms."""

CASES = {
    "products": {
        "mm": "m.mm(m2)", "mm.transposed": "m.mm(m2.t())", "mm.float64": "dm.mm(dm)", "mm.bfloat16": "em.mm(em)", "mm.float16": "hm.mm(hm)",
        "mm.int64": "im[:100,:100].mm(im[:100,:100])", "mm.complex64": "cm.mm(cm)", "matmul": "m@m2", "matmul.batch": "v@v",
        "matmul.broadcast": "v@q_v", "bmm": "v.bmm(v)", "mv": "m.mv(ones_r)", "dot": "x.dot(y)", "dot.float64": "d.dot(d)", "vdot": "c.vdot(c)",
        "inner": "t.inner(m,m2)", "outer": "t.outer(ones_r,ones_r)", "ger": "t.ger(ones_r,ones_r)", "addmm": "t.addmm(m,m,m2)",
        "addmv": "t.addmv(ones_r,m,ones_r)", "addr": "t.addr(m,ones_r,ones_r)", "addbmm": "t.addbmm(v[0],v,v)", "baddbmm": "t.baddbmm(v,v,v)",
        "_addmm_activation": "t._addmm_activation(m[0],m,m2)", "linear": "F.linear(m,m2,ones_r)", "linear.thin": "F.linear(m[:1],m2,ones_r)",
        "bilinear": "F.bilinear(near,near,cube)", "einsum": "t.einsum('bij,bjk->bik',v,v)", "einsum.sum": "t.einsum('ij,ij->i',m,m2)",
        "einsum.outer": "t.einsum('i,j->ij',ones_r,ones_r)", "kron": "t.kron(q[:8,:8],q)", "tensordot": "t.tensordot(v,v,([1,2],[1,2]))",
        "chain_matmul": "t.chain_matmul(q,q,q)", "multi_dot": "L.multi_dot([near,near.t(),near])", "vecdot": "L.vecdot(m,m2)",
        "matrix_power": "L.matrix_power(q,5)", "linalg.matmul": "L.matmul(q,q)",
    },
    "linalg": {
        "cholesky": "L.cholesky(spd)", "cholesky.batch": "L.cholesky(spds)", "cholesky_ex": "L.cholesky_ex(spd)",
        "torch.cholesky": "t.cholesky(spd)", "cholesky_solve": "t.cholesky_solve(q,spd)", "cholesky_inverse": "t.cholesky_inverse(spd)",
        "qr": "L.qr(q)", "qr.batch": "L.qr(v)", "torch.qr": "t.qr(q)", "geqrf": "t.geqrf(q)", "lu": "L.lu(q)", "torch.lu": "t.lu(q)",
        "lu_factor": "L.lu_factor(q)", "lu_factor_ex": "L.lu_factor_ex(v)", "lu_unpack": "t.lu_unpack(*L.lu_factor(q))",
        "lu_solve": "L.lu_solve(*L.lu_factor(q),q)", "ldl_factor": "L.ldl_factor(spd)", "ldl_factor_ex": "L.ldl_factor_ex(spd)",
        "ldl_solve": "L.ldl_solve(*L.ldl_factor(spd),q)", "svd": "L.svd(q)", "torch.svd": "t.svd(q)", "svd.batch": "L.svd(few_v)",
        "svdvals": "L.svdvals(q)", "eig": "L.eig(q)", "eigvals": "L.eigvals(q)", "eigh": "L.eigh(spd)", "eigh.batch": "L.eigh(spds)",
        "eigvalsh": "L.eigvalsh(spd)", "det": "L.det(q)", "det.batch": "t.det(v)", "slogdet": "L.slogdet(q)", "logdet": "t.logdet(spd)",
        "inv": "L.inv(q)", "inv.batch": "L.inv(v)", "inv_ex": "L.inv_ex(q)", "inverse": "t.inverse(q)", "inv.float64": "L.inv(q.double())",
        "inv.complex64": "L.inv(q.cfloat())", "solve": "L.solve(q,q2)", "solve.batch": "L.solve(v,v)", "solve.vector": "L.solve(q,q[0])",
        "solve_ex": "L.solve_ex(q,q2)", "solve_triangular": "L.solve_triangular(q,q2,upper=True)", "triangular_solve": "t.triangular_solve(q2,q)",
        "lstsq": "L.lstsq(tall,tall)", "pinv": "L.pinv(q)", "pinverse": "t.pinverse(q)", "matrix_rank": "L.matrix_rank(q)", "cond": "L.cond(q)",
        "matrix_exp": "L.matrix_exp(q*0.01)", "matrix_exp.batch": "t.matrix_exp(v*0.1)",
        "householder_product": "L.householder_product(*t.geqrf(q))", "orgqr": "t.orgqr(*t.geqrf(q))", "ormqr": "t.ormqr(*t.geqrf(q),q)",
        "tensorinv": "L.tensorinv(q.view(2,k//2,2,k//2))", "tensorsolve": "L.tensorsolve(q.view(2,k//2,k),q[0].view(2,k//2))",
        "svd_lowrank": "t.svd_lowrank(tall,2)", "pca_lowrank": "t.pca_lowrank(tall,2)", "lobpcg": "t.lobpcg(spd,1,niter=5)",
    },
    "fft": {
        "fft": "R.fft(c)", "fft.rows": "R.fft(cm)", "fft.columns": "R.fft(cm,dim=0)", "fft.float32": "R.fft(m)", "fft.complex128": "R.fft(zm)",
        "fft.odd": "R.fft(cm,n=3*r//4+1)", "fft2": "R.fft2(cm)", "fftn": "R.fftn(m)", "ifft": "R.ifft(cm)", "ifft2": "R.ifft2(cm)",
        "ifftn": "R.ifftn(cm)", "rfft": "R.rfft(m)", "rfft.vector": "R.rfft(x)", "rfft.float64": "R.rfft(dm)", "rfft.batch": "R.rfft(v)",
        "rfft2": "R.rfft2(m)", "rfftn": "R.rfftn(v)", "irfft": "R.irfft(cm)", "irfft2": "R.irfft2(cm)", "irfftn": "R.irfftn(cm)",
        "hfft": "R.hfft(cm)", "hfft2": "R.hfft2(cm)", "hfftn": "R.hfftn(cm)", "ihfft": "R.ihfft(m)", "ihfft2": "R.ihfft2(m)",
        "ihfftn": "R.ihfftn(m)", "fftshift": "R.fftshift(m)", "ifftshift": "R.ifftshift(m)",
        "stft": "t.stft(x,nf,return_complex=True,window=hann,pad_mode='constant')", "istft": "t.istft(spectrum,nf,window=hann)",
    },
}

GRADIENTS = """mm mm.transposed mm.float64 matmul matmul.batch bmm mv dot addmm baddbmm linear bilinear einsum cholesky qr lu_factor svd eigh det
    slogdet inv solve solve.batch solve_triangular pinv matrix_exp fft.rows fft2 rfft irfft""".split()
