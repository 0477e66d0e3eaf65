"""Messages between processes: pickles whose large buffers travel in blocks of shared memory.

The memory of tensors and numpy arrays is copied once, by the sender, into one block; the receiver maps it. A batch that
`default_collate` stacks in a worker lies in a block of its own from the beginning. Blocks are nameless, so that nothing is left
behind by a process that was killed; a worker fills those again that the receiver is done with, since fresh memory costs more
than the copy.
"""
import array
import io
import os
import pickle
import socket
import struct
import threading
from multiprocessing.reduction import ForkingPickler

from fasttensor._core import construct
from fasttensor._core.sharing import Mapped
from fasttensor._core.storage import Storage, make_storage, storage_over
from fasttensor._core.tensor import Tensor, description

__all__ = ["keep_blocks", "pack", "receive", "room", "send"]

INLINE = 1 << 15        # bytes up to which copying through the socket is cheaper than mapping
OWN_BLOCK = 1 << 18     # bytes from which a stacked batch gets a block of its own
KEPT = 16               # blocks that a worker keeps, and that one message has at most
ALIGNMENT = HEAD = 64   # the content of a block begins behind a head, see Mapped
HEADER = struct.Struct("<QII")


class Block:
    """A nameless file of shared memory: filled by this process, then shown by another until that says it is done."""

    def __init__(self, length):
        self.length, self.taken, self.sent, self.sent_before, self.mapped = length, True, False, False, None
        self.fd = os.memfd_create("fasttensor-batch")
        os.ftruncate(self.fd, HEAD + length)

    def __del__(self):
        if hasattr(self, "fd"):
            os.close(self.fd)

    def is_free(self):
        return not self.taken and not (self.mapped is not None and self.mapped.in_use) and (not self.sent or os.pread(self.fd, 1, 0) == b"\1")

    def write(self, place, view):
        if self.sent_before:
            self.memory()[place:place + view.nbytes] = view
            return
        # Fresh memory is not mapped for this: the file takes its pages faster.
        while view.nbytes:
            written = os.pwrite(self.fd, view, HEAD + place)
            place, view = place + written, view[written:]

    def memory(self):
        if self.mapped is None:
            self.mapped = Mapped(self.fd, self.length, False)
        return memoryview(self.mapped)


class Blocks:
    """The last blocks of a worker."""

    def __init__(self):
        self.process, self.blocks, self.lock = os.getpid(), [], threading.Lock()

    def take(self, nbytes):
        """A block that nobody looks at; whoever takes it sets `taken` to False once it is in use."""
        with self.lock:
            return self._take(nbytes)

    def _take(self, nbytes):
        for block in self.blocks:
            if nbytes <= block.length <= 4 * nbytes and block.is_free():
                block.sent_before, block.taken, block.sent = block.sent, True, False
                return block
        if len(self.blocks) >= KEPT // 2:       # sizes have changed
            self.blocks = [b for b in self.blocks if not b.is_free()][1 - KEPT:]
        self.blocks.append(Block(nbytes))
        return self.blocks[-1]

    def find(self, store):
        """The block that a storage of `room` shows, None for other memory."""
        address = store.data_ptr()
        for block in self.blocks:
            if block.mapped is not None and not block.sent and block.mapped.address() == address:
                return block
        return None


_kept = None


def keep_blocks():
    """Called by a worker when it begins."""
    global _kept
    _kept = Blocks()


def room(samples):
    """An uninitialised tensor in shared memory for these samples along a new first dimension.

    None where they are small, unlike each other or not in plain memory, and where this process is no worker.
    """
    first = samples[0]
    if _kept is None or type(first) is not Tensor or _kept.process != os.getpid():
        return None
    shape, dtype = first.shape, first.dtype
    nbytes = len(samples) * first.numel() * first.itemsize
    if nbytes < OWN_BLOCK or any(type(x) is not Tensor or x.shape != shape or x.dtype is not dtype or not x.is_cpu or x.requires_grad for x in samples):
        return None
    try:
        block = _kept.take(nbytes)
        store = storage_over(block.memory()[:nbytes])
    except (OSError, MemoryError):
        return None
    block.taken = False
    strides = [1]
    for size in reversed(shape):
        strides.insert(0, size * strides[0])
    return construct.over_storage(store, dtype, (len(samples), *shape), tuple(strides))


def _reduce_tensor(x):
    if x.requires_grad and not x.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
                           f"boundaries. If you just want to transfer the data, call detach() on the tensor before serializing ({description(x)}).")
    made = x.__reduce_ex__(5)
    if x.is_cpu and 2 * x.numel() * x.itemsize < x.untyped_storage().nbytes():
        # A row of a large table: the table stays here.
        table, start = x.untyped_storage(), x.storage_offset() * x.itemsize
        if x.is_contiguous() and not memoryview(table).readonly:
            return made[0], (table[start:start + x.numel() * x.itemsize], made[1][1], 0, *made[1][3:])
        return x.detach().clone().requires_grad_(x.requires_grad).__reduce_ex__(5)
    return made


class _Pickler(ForkingPickler):
    def __init__(self, file):
        super().__init__(file, 5, True, self.keep)
        self.dispatch_table = {**self.dispatch_table, Storage: self.reduce_storage, Tensor: _reduce_tensor}
        self.buffers, self.own, self.found = [], [], {}

    def reduce_storage(self, store):
        if not store.nbytes():
            return make_storage, (0,)
        buffer = pickle.PickleBuffer(store)
        block = None if _kept is None else _kept.find(store)
        if block is not None:
            self.found[id(buffer)] = block
        return storage_over, (buffer,)

    def keep(self, buffer):
        """False for a buffer that does not go into the pickle."""
        view, block = buffer.raw(), self.found.pop(id(buffer), None)
        if view.nbytes < INLINE:
            return True
        if block is None or block in self.own or len(self.own) == KEPT - 1:
            self.buffers.append(view)
        else:
            block.taken = True          # until it is sent: its tensor may be gone before that
            self.own.append(block)
            self.buffers.append((block, view.nbytes))
        return False


def pack(message):
    """The pickle of a message, and its large buffers: views, or blocks and sizes."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(message)
        return file.getbuffer(), pickler.buffers
    except BaseException:
        for block in pickler.own:
            block.taken = False
        raise
    finally:
        # The pickler refers to itself: what it held would stay, with its memory and open files, until the next collection.
        pickler.clear_memo()
        pickler.buffers = pickler.own = pickler.found = None


def send(connection, packed):
    """Send what `pack` gave through a socket. A block whose tensor the caller still holds is copied: it may change."""
    content, buffers = packed
    blocks, lengths, places, copies, held, end = [], [], [], [], [], 0
    for buffer in buffers:
        if isinstance(buffer, tuple):
            block, size = buffer
            if not block.mapped.in_use:
                places += (len(blocks), 0, size)
                blocks.append(block)
                lengths.append(size)
                continue
            held.append(block)
            buffer = block.memory()[:size]
        places += (KEPT, end, buffer.nbytes)
        copies.append((end, buffer))
        end += -(-buffer.nbytes // ALIGNMENT) * ALIGNMENT
    if copies:
        block = (_kept or Blocks()).take(end)
        for place, view in copies:
            block.write(place, view)
        for other in held:
            other.taken = False
        places[::3] = [len(blocks) if number == KEPT else number for number in places[::3]]
        blocks.append(block)
        lengths.append(end)
    head = HEADER.pack(len(content), len(buffers), len(blocks)) + array.array("Q", lengths + places).tobytes()
    if blocks:
        for block in blocks:
            block.taken, block.sent = False, True
            os.pwrite(block.fd, b"\0", 0)
        done = connection.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [block.fd for block in blocks]))])
        head = head[done:]
    connection.sendall(head)
    connection.sendall(content)


def _mapped(fd, size, known):
    """A block that came. One that comes again is still mapped: its pages need not be found again."""
    if known is None:
        return Mapped(fd, size, True)
    # While a block is mapped its number is not given to another. It may hold more than this time.
    status = os.fstat(fd)
    number = status.st_ino
    block = known.pop(number, None)
    if block is None:
        block = Mapped(fd, status.st_size - HEAD, True)
        while len(known) >= KEPT:
            del known[next(iter(known))]
    known[number] = block
    return block


def receive(connection, known=None):
    """The next message; EOFError where the other end is closed. `known` holds the last blocks of the connection."""
    head, extra, _, _ = connection.recvmsg(HEADER.size, socket.CMSG_SPACE(4 * KEPT))
    fds = array.array("i")
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[:len(data) - len(data) % 4])
    try:
        if not head:
            raise EOFError
        head += _exactly(connection, HEADER.size - len(head))
        length, buffers, blocks = HEADER.unpack(head)
        numbers = array.array("Q", bytes(_exactly(connection, 8 * (blocks + 3 * buffers))))
        content = _exactly(connection, length)
        if len(fds) < blocks:
            raise RuntimeError("DataLoader: too many files are open to receive a batch: raise the limit (ulimit -n)")
        memory = [memoryview(_mapped(fd, size, known)) for fd, size in zip(fds, numbers)]
        places = iter(numbers[blocks:])
        views = [memory[number][place:place + size] for number, place, size in zip(places, places, places)]
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
