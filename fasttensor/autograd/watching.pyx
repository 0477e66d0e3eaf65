"""Where a profiler and anomaly mode listen to operations, and what autocast switches on.

`watching` is 0 in ordinary runs, and a test of it is all that an operation then pays. Listeners have
`before(name, inputs)`, whose answer `after(token, result)` receives; `result` is None where the operation
raised.
"""
cdef extern from *:
    """
    static __thread int ft_announced = 0;
    """
    int ft_announced

cdef tuple _listeners = ()


cdef bint announced() noexcept nogil:
    """Whether the call that asks is the one that was just announced: it runs as if nobody listened."""
    global ft_announced
    cdef bint known = ft_announced
    ft_announced = 0
    return known


cdef void announce(bint on) noexcept nogil:
    global ft_announced
    ft_announced = on


cdef object begin(str name, tuple inputs):
    cdef tuple heard = _listeners
    return [(listener, listener.before(name, inputs)) for listener in heard]


cdef bint finish(object token, object result) except False:
    for listener, known in reversed(<list>token):
        listener.after(known, result)
    return True


def listen(listener):
    """Tell `listener` of every operation from now on."""
    global _listeners, watching, routing
    _listeners += (listener,)
    watching += 1
    routing += 1


def stop_listening(listener):
    """Undo `listen`."""
    global _listeners, watching, routing
    if listener in _listeners:
        _listeners = tuple([other for other in _listeners if other is not listener])
        watching -= 1
        routing -= 1


def listened():
    """Whether somebody listens."""
    return len(_listeners) > 0


def route_operators(bint on):
    """Send the operators that have a compiled short cut through the public functions, as often as it is undone."""
    global routing
    routing += 1 if on else -1


def operation(str name, function, tuple args, dict kwargs):
    """``function(*args, **kwargs)``, announced under `name`."""
    cdef object token = begin(name, args + tuple(kwargs.values()) if kwargs else args)
    cdef object result = None
    try:
        result = function(*args, **kwargs)
    finally:
        finish(token, result)
    return result
