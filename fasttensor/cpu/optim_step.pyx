"""Optimizer steps over all parameters of a group in one call.

    plan = OptimPlan(params, ("adam", ("exp_avg", "exp_avg_sq"), ("step",)))
    rest = plan.step(optimizer.state, (lr, weight_decay, maximize, beta1, beta2, eps, 0.0), make_state, group)

The elements of all parameters are numbered through and cut into chunks, so that a hundred
small parameters share the threads as one large one does. One pass reads and writes each
array once. `rest` lists the parameters that the loops cannot take: half precision, other
devices, unlike strides.
"""
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc

from fasttensor._core.dtype cimport COMPLEX64, COMPLEX128, FLOAT32, FLOAT64
from fasttensor._core.parallel cimport parallel_for
from fasttensor._core.tensor cimport CPU, Tensor, contiguous, is_dense, same_shape, wrote
from fasttensor._core.storage cimport no_room

cdef extern from "optim_locate.h" nogil:
    Py_ssize_t ft_locate(const Py_ssize_t *start, Py_ssize_t n, Py_ssize_t element)

cdef extern from "optim_step.h" nogil:
    enum:
        N_COEFFICIENTS
        MAX_SCALARS
        MAX_STATES
        FT_N_OPTIMIZERS
    ctypedef void (*ft_coefficients)(const double *h, double *s, int fresh, double *c) noexcept
    ctypedef void (*ft_update)(void **p, Py_ssize_t n, const double *c) noexcept
    ctypedef struct ft_optimizer:
        const char *name
        int states
        int scalars
        ft_coefficients coefficients
        ft_update f32
        ft_update f64
    const ft_optimizer FT_OPTIMIZERS[]

cdef enum:
    SLOTS = 6           # parameter, gradient, MAX_STATES
    MAX_HYPER = 12
    GRAIN = 16384       # elements a chunk
    SMALL = 4096        # elements below which the GIL is kept

cdef struct Work:
    const ft_optimizer *rule
    Py_ssize_t n                # parameters taken
    void **ptr                  # [n][SLOTS]
    Py_ssize_t *start           # [n + 1] elements before each parameter
    double *coefficients        # [n][N_COEFFICIENTS]
    bint *wide                  # float64


cdef void update_range(void *context, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Work *work = <Work *>context
    cdef Py_ssize_t low = ft_locate(work.start, work.n, begin), first, count
    cdef void *at[SLOTS]
    cdef int j, size
    while begin < end:
        first = begin - work.start[low]
        count = (end if end < work.start[low + 1] else work.start[low + 1]) - begin
        size = 8 if work.wide[low] else 4
        for j in range(2 + work.rule.states):
            at[j] = <char *>work.ptr[low * SLOTS + j] + first * size
        if count > 0:
            (work.rule.f64 if work.wide[low] else work.rule.f32)(at, count, work.coefficients + low * N_COEFFICIENTS)
        begin += count
        low += 1


cdef inline bint alike(Tensor p, Tensor t) noexcept:
    """Whether plain loops may walk both: same dtype, shape and strides, no holes."""
    cdef int i
    if t.dev != CPU or t.code != p.code or not same_shape(p, t):
        return False
    if p.contig and t.contig:
        return True
    for i in range(p.rank):
        if p.steps[i] != t.steps[i] and p.sizes[i] > 1:
            return False
    return is_dense(p)


cdef inline object lookup(object d, object key):
    # Cython's `dict` would refuse subclasses, and the optimizer's state is a defaultdict.
    cdef PyObject *found = PyDict_GetItemWithError(d, key)
    return None if found == NULL else <object>found


# How often PyTorch's step writes to a state, as its versions count: once but for these, a factor and a sum apart.
cdef frozenset TWICE = frozenset(("exp_avg_sq", "square_avg", "acc_delta", "exp_inf", "step_size", "momentum_buffer"))


cdef int parameter_writes(str kernel, object group) except -1:
    """How often PyTorch's step writes to a parameter: the decay is a write of its own, NAdam adds twice, ASGD scales first."""
    if group.get("fused"):
        return 1            # which PyTorch does not count at all
    decays = group.get("weight_decay") and group.get("decoupled_weight_decay")
    return (2 if kernel == "nadam" or kernel == "asgd" and not group.get("foreach") else 1) + (1 if decays else 0)


cdef class OptimPlan:
    """The buffers of one parameter group's steps."""
    cdef list params
    cdef tuple kernel
    cdef tuple states
    cdef tuple scalars
    cdef set repeated           # positions of parameters that came before: their steps must not run at once
    cdef Py_ssize_t capacity
    cdef Work work
    cdef list scalar_tensors
    cdef list taken
    cdef int times[MAX_STATES]      # writes to each state

    def __cinit__(self, list params, tuple kernel):
        cdef Py_ssize_t i, n = len(params)
        cdef bytes name = kernel[0].encode()
        self.params = params
        self.kernel = kernel
        self.states = kernel[1]
        self.scalars = kernel[2]
        self.capacity = n
        self.repeated = set()
        seen = set()
        for i in range(n):
            if id(params[i]) in seen:
                self.repeated.add(i)
            seen.add(id(params[i]))
        self.work.rule = NULL
        for i in range(FT_N_OPTIMIZERS):
            if FT_OPTIMIZERS[i].name == name:
                self.work.rule = &FT_OPTIMIZERS[i]
        if self.work.rule == NULL:
            raise ValueError(f"optimizer step: there is no kernel {kernel[0]!r}")
        if len(self.states) != self.work.rule.states or len(self.scalars) != self.work.rule.scalars:
            raise ValueError(f"optimizer step: kernel {kernel[0]!r} has {self.work.rule.states} states and "
                             f"{self.work.rule.scalars} scalars, not {kernel[1]} and {kernel[2]}")
        for i in range(len(self.states)):
            self.times[i] = 2 if self.states[i] in TWICE else 1
        n = max(n, 1)
        self.work.ptr = <void **>malloc(n * SLOTS * sizeof(void *))
        self.work.start = <Py_ssize_t *>malloc((n + 1) * sizeof(Py_ssize_t))
        self.work.coefficients = <double *>malloc(n * N_COEFFICIENTS * sizeof(double))
        self.work.wide = <bint *>malloc(n * sizeof(bint))
        if (self.work.ptr == NULL or self.work.start == NULL or self.work.coefficients == NULL
                or self.work.wide == NULL):
            raise no_room(f"optimizer step: no memory to list {n} parameters")

    def __dealloc__(self):
        free(self.work.ptr)
        free(self.work.start)
        free(self.work.coefficients)
        free(self.work.wide)

    def serves(self, params, tuple kernel):
        """Whether the plan was made for this list, of this length, and this kernel."""
        return params is self.params and len(self.params) == self.capacity and kernel == self.kernel

    def step(self, state, tuple hyper, make_state, group):
        """Runs the kernel over all parameters that have a gradient.

        state: the optimizer's, by parameter; make_state(p, group) makes a missing entry.
        hyper: lr, weight_decay, maximize, then the kernel's own options, all floats.
        Returns the list of parameters that were not taken.
        """
        cdef double h[MAX_HYPER]
        cdef Py_ssize_t i, n = len(self.params), taken = 0, total = 0, before
        cdef Tensor p, g, t
        cdef object own
        cdef list rest = [], keep = [], scalars = [], written = [], fresh = []
        cdef object entry
        cdef int j, writes = parameter_writes(self.kernel[0], group)
        cdef bint ok, new, fused = bool(group.get("fused")), sgd = self.kernel[0] == "sgd_momentum"
        if not isinstance(state, dict):
            raise TypeError(f"optimizer step: state must be a dict, not {type(state).__name__}")
        if len(hyper) > MAX_HYPER:
            raise ValueError(f"optimizer step: {len(hyper)} options, at most {MAX_HYPER}")
        for j in range(<int>len(hyper)):
            h[j] = hyper[j]
        for i in range(n):
            p = self.params[i]
            if p.grad_ is None:
                continue
            g = p.grad_
            ok = p.dev == CPU and FLOAT32 <= p.code <= COMPLEX128 and (p.store is None or not p.store.read_only) and (
                not self.repeated or i not in self.repeated)
            if ok and not alike(p, g):
                ok = p.contig and g.dev == CPU and g.code == p.code and same_shape(p, g)
                if ok:
                    g = contiguous(g)
                    keep.append(g)
            if not ok:
                rest.append(p)
                continue
            new = False
            if self.work.rule.states + self.work.rule.scalars > 0:
                entry = lookup(state, p)
                own = entry if isinstance(entry, dict) else None
                if own is not None:
                    for entry in self.states:
                        if lookup(own, entry) is None:
                            new = True
                    for entry in self.scalars:
                        if lookup(own, entry) is None:
                            new = True
                if own is None or new:
                    new = True
                    own = make_state(p, group)
                before = len(written)
                for j in range(self.work.rule.states):
                    t = lookup(own, self.states[j])
                    if not alike(p, t):
                        ok = False
                        break
                    self.work.ptr[taken * SLOTS + 2 + j] = t.ptr
                    # a new buffer of SGD is the first gradient's copy, not written to
                    for _ in range(1 if fused else 0 if sgd and new else self.times[j]):
                        written.append(t)
                if ok:
                    for entry in self.scalars:
                        t = lookup(own, entry)
                        if t.dev != CPU or t.count != 1 or (t.code != FLOAT32 and t.code != FLOAT64):
                            ok = False
                            break
                        scalars.append(t)
                if not ok:
                    del written[before:]
                    if new and self.work.rule.scalars == 0:
                        # only SGD's state starts otherwise when it is made by Tensor operations
                        own.clear()
                    del scalars[taken * self.work.rule.scalars:]
                    rest.append(p)
                    continue
            self.work.ptr[taken * SLOTS] = p.ptr
            self.work.ptr[taken * SLOTS + 1] = g.ptr
            self.work.start[taken] = total
            self.work.wide[taken] = p.code == FLOAT64 or p.code == COMPLEX128
            total += p.count * (2 if p.code >= COMPLEX64 else 1)
            for _ in range(writes):
                written.append(p)
            fresh.append(new)
            taken += 1
        # Counters advance only now: an error above leaves every state as it was.
        self.work.n = taken
        self.work.start[taken] = total
        for i in range(taken):
            self.coefficients(i, h, scalars, fresh[i])
        if total >= SMALL:
            with nogil:
                parallel_for(total, GRAIN, update_range, &self.work)
        elif total > 0:
            update_range(&self.work, 0, total)
        for t in written:
            wrote(t)
        return rest

    cdef int coefficients(self, Py_ssize_t i, const double *h, list scalars, bint fresh) except -1:
        cdef double s[MAX_SCALARS]
        cdef int j, count = self.work.rule.scalars
        cdef Tensor t
        for j in range(count):
            t = scalars[i * count + j]
            s[j] = (<double *>t.ptr)[0] if t.code == FLOAT64 else (<float *>t.ptr)[0]
        self.work.rule.coefficients(h, s, fresh, self.work.coefficients + i * N_COEFFICIENTS)
        for j in range(count):
            t = scalars[i * count + j]
            if t.code == FLOAT64:
                (<double *>t.ptr)[0] = s[j]
            else:
                (<float *>t.ptr)[0] = <float>s[j]
            wrote(t)
        return 0


def drop_grads(list params):
    """p.grad = None for each."""
    cdef Tensor p
    for p in params:
        p.grad_ = None
