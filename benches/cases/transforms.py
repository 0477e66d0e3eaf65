"""Function transforms: batching and derivatives of functions."""

CASES = {
    "transforms": {
        "vmap": "A.vmap(lambda a: a.sin().sum())(m)", "vmap.matmul": "A.vmap(lambda a: a@a)(v)", "vmap.dot": "A.vmap(t.dot)(m,m2)",
        "vmap.softmax": "A.vmap(lambda a: t.softmax(a,0))(m)", "grad": "A.grad(lambda a: a.sin().sum())(x)", "vjp": "A.vjp(t.sin,x)[1](y)",
        "jvp": "A.jvp(t.sin,(x,),(y,))", "grad.samples": "A.vmap(A.grad(lambda a: (a*a).sum()))(m)",
        "grad.layer": "A.vmap(A.grad(lambda w,a: (w@a).tanh().sum()),in_dims=(None,0))(w_k,near_k)",
        "jacrev": "A.jacrev(lambda a: (w_k@a).tanh())(x_k)", "jacfwd": "A.jacfwd(lambda a: (w_k@a).tanh())(x_k)",
        "hessian": "A.hessian(lambda a: (w_k@a).tanh().sum())(x_k)", "jacrev.batch": "A.vmap(A.jacrev(lambda a: (w_k@a).tanh()))(near_k)",
        "jacfwd.batch": "A.vmap(A.jacfwd(lambda a: (w_k@a).tanh()))(near_k)",
        "hessian.batch": "A.vmap(A.hessian(lambda a: (w_k@a).tanh().sum()))(near_k)", "jacrev.elements": "A.jacrev(t.sin)(x_k)",
        "functional.jacobian": "G.jacobian(lambda a: (w_k@a).tanh(),x_k)", "functional.hessian": "G.hessian(lambda a: (w_k@a).tanh().sum(),x_k)",
    },
}

GRADIENTS = []
