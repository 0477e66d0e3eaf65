"""The backward sweep.

One depth-first pass counts, for each node, how many consumers will send it a gradient; then nodes run,
latest first, once all of theirs have. Accumulators and counts live in the nodes and leaves
themselves: no dictionary is touched. Gradients go to the leaves' `grad`, or, for `grad()`, to the
inputs that were asked for.
"""
from fasttensor._core.tensor cimport Tensor, Node, describe
from fasttensor._core.dispatch cimport grad_enabled, set_grad_enabled_flag, set_inside, dispatching, dispatches, hook as core_hook
from fasttensor._core.dual cimport dual_on, hidden, set_hidden
from fasttensor.autograd.recording cimport edge, anomaly, is_node
from fasttensor.autograd.watching cimport watching, begin, finish
from fasttensor.autograd.heap cimport Heap, push, pop, clear
from fasttensor.autograd.accumulate cimport (
    release, run_hooks, summed, before_node, after_node, check_anomaly, explain_error, accumulate_grad, fitting, check_seed)

cdef unsigned long _run = 0
cdef Sweep _current = None                  # the innermost run
cdef unsigned long _floor = 0               # the next run leaves out nodes up to this number

include "engine_lock.pxi"
include "engine_taken.pxi"


cdef class Sweep:
    """One run of the engine."""
    cdef unsigned long id
    cdef unsigned long floor    # nodes up to this number are left out: they cannot lead to an input made after them
    cdef list visited           # nodes and leaves of this run
    cdef list outer             # state of nodes that an outer run is in the middle of
    cdef bint keep, create, selective, accumulate
    cdef bint hide              # recorded for tangents only
    cdef dict captured          # (id of Node, output) or id of leaf -> position in `results`
    cdef list results
    cdef Heap heap

    def __dealloc__(self):
        clear(&self.heap)

    cdef bint enter(self, object item) except -1:
        """Mark as seen in this run; False when it was already."""
        cdef Node node
        cdef Tensor leaf
        if is_node(item):
            node = item
            if node.visit == self.id:
                return False
            if node.visit:
                self.outer.append((node, node.visit, node.pending, node.needed, node.grad))
            node.visit, node.pending, node.needed, node.grad = self.id, 0, False, None
        else:
            leaf = item
            if leaf.visit == self.id:
                return False
            if leaf.visit:
                self.outer.append((leaf, leaf.visit, leaf.pending, leaf.needed, leaf.acc))
            leaf.visit, leaf.pending, leaf.needed, leaf.acc = self.id, 0, False, None
        self.visited.append(item)
        return True

    cdef discover(self, list roots):
        """Count consumers, depth first and without recursion."""
        cdef list stack = []
        cdef Node node
        for item in roots:
            if self.enter(item) and is_node(item):
                stack.append(item)
        while stack:
            node = stack.pop()
            for e in node.inputs:
                if e is None or self.floor and self.left_out(e):
                    continue
                if self.enter(e) and is_node(e):
                    stack.append(e)
                if is_node(e):
                    (<Node>e).pending += 1
                else:
                    (<Tensor>e).pending += 1

    cdef bint left_out(self, object e) noexcept:
        return is_node(e) and (<Node>e).seq <= self.floor

    cdef find_needed(self, list roots):
        """With selected inputs: which nodes lead to one of them. Inputs are judged before their consumers;
        sequence numbers do not tell which those are, since a view's node may be made late."""
        cdef Node node
        cdef Tensor leaf
        cdef list stack = [(item, False) for item in roots if is_node(item)]
        cdef set seen = set()
        for item in self.visited:
            if not is_node(item):
                leaf = item
                leaf.needed = id(leaf) in self.captured
        while stack:
            item, inputs_done = stack.pop()
            node = item
            if not inputs_done:
                if id(node) in seen:
                    continue
                seen.add(id(node))
                stack.append((node, True))
                for e in node.inputs:
                    if is_node(e) and id(e) not in seen and not self.left_out(e):
                        stack.append((e, False))
                continue
            node.needed = self.leads_on(node)
            if not node.needed:
                for k in range(node.n_outputs):
                    if (id(node), k) in self.captured:
                        node.needed = True
                        break

    cdef add(self, object item, int nr, object g):
        """Add a gradient to what an edge's target has received so far."""
        cdef Node node
        cdef Tensor leaf
        cdef list parts
        cdef object got
        if is_node(item):
            node = item
            if node.n_outputs == 1:
                got, node.grad = node.grad, None
                node.grad = g if got is None else summed(<Tensor>got, <Tensor>g, self.create)
            else:
                parts = node.grad
                if parts is None:
                    parts = [None] * node.n_outputs
                    node.grad = parts
                got, parts[nr] = parts[nr], None
                parts[nr] = g if got is None else summed(<Tensor>got, <Tensor>g, self.create)
        else:
            leaf = item
            got, leaf.acc = leaf.acc, None
            leaf.acc = g if got is None else summed(<Tensor>got, <Tensor>g, self.create)

    cdef finish_leaf(self, Tensor leaf):
        """A leaf has all of its gradient: run its hooks and keep it."""
        got = leaf.acc
        leaf.acc = None
        if got is None:
            return
        if leaf.meta is not None:
            got = run_hooks(leaf.meta.get("hooks"), got, "the hook of a leaf")
        if self.captured is not None and id(leaf) in self.captured:
            self.results[self.captured[id(leaf)]] = got
        if self.accumulate and (not self.selective or leaf.needed):
            # not in one expression: its temporary would count as a second holder, and every gradient would be copied
            if self.hide:
                accumulate_grad(leaf, got.detach(), False)
            else:
                accumulate_grad(leaf, got, self.create)
            if leaf.meta is not None:
                for hook in list((leaf.meta.get("post_hooks") or {}).values()):
                    hook(leaf)

    cdef send(self, Node node, object grads):
        """Hand a node's input gradients on."""
        cdef Py_ssize_t i, n = len(node.inputs)
        cdef object e, g
        cdef bint many = type(grads) is tuple
        cdef int nr
        cdef Node target
        cdef Tensor leaf
        if many and len(<tuple>grads) < n:
            raise RuntimeError(f"{node.label} returned {len(<tuple>grads)} gradients for {n} inputs")
        for i in range(n):
            e = (<list>node.inputs)[i]
            if e is None or self.floor and self.left_out(e):
                continue
            g = ((<tuple>grads)[i] if many else grads) if grads is not None else None
            if not many and n > 1 and i > 0:
                g = None
            nr = node.nrs[i] if node.nrs is not None else 0
            if g is not None:
                g = fitting(node, i, <Tensor?>g, e, nr)
            if is_node(e):
                target = e
                if g is not None:
                    self.add(target, nr, g)
                target.pending -= 1
                if target.pending == 0:
                    push(&self.heap, target)
            else:
                leaf = e
                if g is not None:
                    self.add(leaf, 0, g)
                leaf.pending -= 1
                if leaf.pending == 0:
                    self.finish_leaf(leaf)

    cdef run_node(self, Node node):
        cdef object g = node.grad, grads = None
        cdef int k
        cdef object key
        node.grad = None
        if node.extra is not None and g is not None:
            g = before_node(node, g)
        if self.captured is not None and g is not None:
            for k in range(node.n_outputs):
                key = (id(node), k)
                if key in self.captured:
                    part = g if node.n_outputs == 1 else (<list>g)[k]
                    if part is not None:
                        self.results[self.captured[key]] = part
        if self.selective and not node.needed:
            g = None
        elif self.selective and not self.leads_on(node):
            g = None
        if g is not None:
            if node.n_outputs > 1:
                g = tuple(<list>g)
            grads = taken_over(node, g) if dispatching() or holds_wrapper(g) else watched_run(node, g) if watching else node.run(node, g)
            if anomaly:
                check_anomaly(node, grads)
            if node.extra is not None:
                grads = after_node(node, grads, g)
        self.send(node, grads)
        if not self.keep and g is not None:
            release(node)

    cdef bint leads_on(self, Node node):
        """Whether an input of the node is needed, and not only the node's own output."""
        for e in node.inputs:
            if e is not None and not (self.floor and self.left_out(e)) and ((<Node>e).needed if is_node(e) else (<Tensor>e).needed):
                return True
        return False

    cdef execute(self, list roots, list seeds):
        cdef Node node
        cdef Py_ssize_t i
        self.discover(roots)
        if self.selective:
            self.find_needed(roots)
        for i in range(len(roots)):
            item = roots[i]
            self.add(item, seeds[i][1], seeds[i][0])
        done = set() if len(roots) > 1 else None
        for item in roots:
            if done is not None:
                if id(item) in done:
                    continue
                done.add(id(item))
            if is_node(item):
                if (<Node>item).pending == 0:
                    push(&self.heap, <Node>item)
            elif (<Tensor>item).pending == 0:
                self.finish_leaf(<Tensor>item)
        while self.heap.n:
            node = pop(&self.heap)
            self.run_node(node)

    cdef leave(self):
        """Clear this run's marks, and give an outer run its own back."""
        cdef Node node
        cdef Tensor leaf
        for item in self.visited:
            if is_node(item):
                node = item
                node.visit, node.grad = 0, None
            else:
                leaf = item
                leaf.visit, leaf.acc = 0, None
        for item, visit, pending, needed, grad in self.outer:
            if is_node(item):
                node = item
                node.visit, node.pending, node.needed, node.grad = visit, pending, needed, grad
            else:
                leaf = item
                leaf.visit, leaf.pending, leaf.needed, leaf.acc = visit, pending, needed, grad


cdef object watched_run(Node node, object g):
    """A node's backward that listeners are told of."""
    cdef object token = begin(node.label, (node, g)), grads = None
    try:
        grads = node.run(node, g)
    except Exception:
        if anomaly:
            explain_error(node)
        raise
    finally:
        finish(token, grads)
    return grads


def selecting():
    """Whether the innermost run of the engine computes the gradients of given inputs only."""
    return _current is not None and _current.selective


cdef object sweep(list outputs, list gradients, bint keep, bint create, object inputs, bint accumulate, str name, bint allow_unused):
    global _run, _current, _floor
    cdef Sweep s, outer
    cdef bint was_hidden = hidden(), hide = False
    cdef int inside
    cdef Tensor t
    cdef list roots = [], seeds = []
    cdef bint before
    if dual_on():       # gradients are dual numbers too
        hide = not create
        keep = create = True
    for t, g in zip(outputs, gradients):
        e = edge(t)
        if e is None:
            raise RuntimeError(f"{name}: element {len(roots)} of tensors ({describe(t)}) does not require grad and does not have a grad_fn")
        roots.append(e)
        seeds.append(check_seed(t, g, name))
    lock()
    try:
        _run += 1
        s = Sweep.__new__(Sweep)
        s.floor, _floor, s.hide = _floor, 0, hide
        if hide:
            set_hidden(True)
        s.id, s.visited, s.outer, s.keep, s.create, s.accumulate = _run, [], [], keep, create, accumulate
        if inputs is not None:
            s.selective, s.captured, s.results = True, {}, [None] * len(inputs)
            for i, t in enumerate(inputs):
                e = edge(t)
                if e is None:
                    raise RuntimeError(f"{name}: One of the differentiated Tensors ({describe(t)}) does not require grad")
                s.captured[id(e) if e is t else (id(e), t.nr)] = i
        before = grad_enabled()
        set_grad_enabled_flag(create)
        outer, _current = _current, s
        inside = set_inside(1)
        try:
            s.execute(roots, seeds)
        finally:
            set_inside(inside)
            _current = outer
            set_grad_enabled_flag(before)
            set_hidden(was_hidden)
            s.leave()
    finally:
        unlock()
    if inputs is None:
        return None
    if accumulate:
        for i, t in enumerate(inputs):
            if t.node is not None and s.results[i] is not None:
                before = grad_enabled()
                set_grad_enabled_flag(create)
                try:
                    accumulate_grad(t, s.results[i], create)
                finally:
                    set_grad_enabled_flag(before)
        return None
    for i, t in enumerate(inputs):      # the same tensor asked for twice
        e = edge(t)
        key = id(e) if e is t else (id(e), t.nr)
        s.results[i] = s.results[s.captured[key]]
        if s.results[i] is None and not allow_unused:
            raise RuntimeError(f"{name}: One of the differentiated Tensors (number {i}, {describe(t)}) appears to not have been used in"
                               " the graph. Set allow_unused=True if this is the desired behavior.")
    return s.results


def products_above(list outputs, list inputs, list gradients, unsigned long floor, bint create):
    """Gradients of outputs by inputs that were made after node number `floor`: older history is not visited."""
    global _floor
    _floor = floor
    try:
        return sweep(outputs, gradients, True, create, inputs, False, "jvp", True)
    finally:
        _floor = 0
