"""Messages between processes: pickles whose large buffers travel as one block of shared memory.

The memory of tensors and numpy arrays is copied once, by the sender; the receiver maps it. The block is nameless, so that
nothing is left behind by a process that was killed.
"""
import array
import io
import os
import pickle
import socket
import struct
from multiprocessing.reduction import ForkingPickler

from fasttensor._core.sharing import Mapped
from fasttensor._core.storage import Storage, make_storage, storage_over
from fasttensor._core.tensor import Tensor, description

__all__ = ["pack", "receive", "send"]

INLINE = 1 << 15        # bytes up to which copying through the socket is cheaper than mapping
ALIGNMENT = 64
HEADER = struct.Struct("<QI")


def _reduce_storage(store):
    return (storage_over, (pickle.PickleBuffer(store),)) if store.nbytes() else (make_storage, (0,))


def _reduce_tensor(x):
    if x.requires_grad and not x.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
                           f"boundaries. If you just want to transfer the data, call detach() on the tensor before serializing ({description(x)}).")
    if x.is_cpu and 2 * x.numel() * x.itemsize < x.untyped_storage().nbytes():
        # A row of a large table: the table stays here.
        x = x.detach().clone().requires_grad_(x.requires_grad)
    return x.__reduce_ex__(5)


_REDUCERS = {Storage: _reduce_storage, Tensor: _reduce_tensor}


class _Pickler(ForkingPickler):
    def __init__(self, file, keep):
        super().__init__(file, 5, True, keep)
        self.dispatch_table = {**self.dispatch_table, **_REDUCERS}


def pack(message):
    """The pickle of a message, and its large buffers."""
    buffers = []

    def keep(buffer):
        view = buffer.raw()
        if view.nbytes < INLINE:
            return True
        buffers.append(view)
        return False
    file = io.BytesIO()
    _Pickler(file, keep).dump(message)
    return file.getbuffer(), buffers


def _places(sizes):
    """Where buffers of these sizes begin in the block, and the block's length."""
    places, end = [], 0
    for size in sizes:
        places.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return places, end


def send(connection, packed):
    """Send what `pack` gave through a socket."""
    content, buffers = packed
    sizes = [b.nbytes for b in buffers]
    head = HEADER.pack(len(content), len(sizes)) + array.array("Q", sizes).tobytes()
    if not buffers:
        connection.sendall(head)
        return connection.sendall(content)
    fd = os.memfd_create("fasttensor-batch")
    try:
        places, total = _places(sizes)
        os.ftruncate(fd, total)
        for place, view in zip(places, buffers):
            while view.nbytes:
                written = os.pwrite(fd, view, place)
                place, view = place + written, view[written:]
        done = connection.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        connection.sendall(head[done:])
        connection.sendall(content)
    finally:
        os.close(fd)


def receive(connection):
    """The next message; EOFError where the other end is closed."""
    head, extra, _, _ = connection.recvmsg(HEADER.size, socket.CMSG_SPACE(4))
    fds = array.array("i")
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[:len(data) - len(data) % 4])
    try:
        if not head:
            raise EOFError
        head += _exactly(connection, HEADER.size - len(head))
        length, count = HEADER.unpack(head)
        sizes = array.array("Q", bytes(_exactly(connection, 8 * count)))
        content = _exactly(connection, length)
        views = []
        if count:
            places, total = _places(sizes)
            block = memoryview(Mapped(fds[0], total))
            views = [block[place:place + size] for place, size in zip(places, sizes)]
    finally:
        for fd in fds:
            os.close(fd)
    return pickle.loads(content, buffers=views)


def _exactly(connection, count):
    content = bytearray(count)
    view = memoryview(content)
    while view.nbytes:
        got = connection.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return content
