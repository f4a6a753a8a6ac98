"""Several ranks: processes that run one module together, each on a device of its own."""

import ctypes as c
import os
import typing
import weakref

from . import _abi
from .tensor import Device


class Communicator:
    """This process as one of the ranks of a mesh, for `hk.load(..., comm=)`.

    `mesh` is the module's ("tp=2"). Ranks of one machine meet in `id_file`, a path that does
    not exist yet and that all give, with their `rank` of `world`; without it they are started
    by mpirun. `native`, on GPUs: the addresses of the caller's ncclComm_t, one for each axis.
    `shared_bytes`, on GPUs of one machine: memory of each rank that the kernels of the others write,
    so that a sum over ranks and what follows are one launch; see docs/parallel.md.
    What is wrong with any rank is an exception on every rank, at the latest after `timeout_ms`.
    """

    def __init__(self, device: Device, mesh: str, *, rank: int = 0, world: int = 0,
                 id_file: str | os.PathLike | None = None, engine: str | None = None,
                 native: typing.Sequence[int] = (), timeout_ms: int = 0, shared_bytes: int = 0):
        self.device, self.mesh = device, mesh
        natives = (c.c_void_p * max(len(native), 1))(*native)
        options = _abi.CommOptions(c.sizeof(_abi.CommOptions), rank, world, timeout_ms, mesh.encode(),
                                   engine.encode() if engine else None,
                                   os.fsencode(id_file) if id_file else None,
                                   natives if native else None, len(native), shared_bytes)
        self._handle = _abi.make("hk_comm_open", device._handle, c.byref(options))
        weakref.finalize(self, _close, device, self._handle)
        self.rank = _abi.lib().hk_comm_rank(self._handle)
        self.world = _abi.lib().hk_comm_world(self._handle)

    def check(self) -> None:
        """Raises what is known to be wrong with any rank; does not wait."""
        _abi.check(_abi.lib().hk_comm_check(self._handle))

    def wait(self, stream: int | None = None, timeout_ms: int = 30000) -> None:
        """Waits until the stream is idle and all ranks have made this one's calls."""
        _abi.check(_abi.lib().hk_comm_wait(self._handle, self.device._handle, stream, timeout_ms))


def _close(_device: Device, handle: int) -> None:
    _abi.lib().hk_comm_close(handle)
