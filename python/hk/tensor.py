"""Devices and tensors in their memory."""

import ctypes as c
import operator
import typing
import weakref

from . import _abi, _dlpack, _dtypes
from .errors import InvalidArgument, OutOfMemory


class Device:
    """A device: "host", "hip:N" or "cuda:N". `threads` (host): 0 is one per core."""

    def __init__(self, spec: str = "host", *, threads: int = 0, debug_memory: bool = False):
        if threads < 0:
            raise InvalidArgument(f"expected threads to be 0 (one per core) or more, got {threads}")
        if not isinstance(spec, str):
            raise InvalidArgument("expected a device as \"host\", \"hip:N\" or \"cuda:N\", got "
                                  f"{spec!r}")
        options = _abi.DeviceOptions(c.sizeof(_abi.DeviceOptions), threads, 0, debug_memory)
        self.spec = spec
        self._handle = _abi.make("hk_device_open", spec.encode(), c.byref(options))
        weakref.finalize(self, _abi.lib().hk_device_close, self._handle)
        place = _abi.lib().hk_device_dldevice(self._handle)
        self.dlpack = place.device_type, place.device_id

    @property
    def target(self) -> str:
        """The chip as the compiler names it: "host", "gfx942", "sm_90a"."""
        return _abi.lib().hk_device_target(self._handle).decode()

    @property
    def description(self) -> str:
        """The device's own name."""
        return _abi.lib().hk_device_description(self._handle).decode()

    def empty(self, shape: typing.Sequence[int], dtype: str) -> "Tensor":
        """A tensor whose contents are not set; `dtype` is hk's name, for example "bf16"."""
        return Tensor(self, _sizes(shape), _type(dtype))

    def zeros(self, shape: typing.Sequence[int], dtype: str) -> "Tensor":
        """A tensor of zeros, for example a cache (a state)."""
        tensor = self.empty(shape, dtype)
        tensor._upload(bytes(tensor.nbytes))
        return tensor

    def tensor(self, source: typing.Any, dtype: str | None = None) -> "Tensor":
        """A copy of a dense host tensor; `dtype` names the type of raw unsigned bits."""
        view = _dlpack.view(source)
        if dtype is not None:
            view = _dlpack.as_argument(view, _type(dtype))
        row = _dtypes.BY_CODE.get((view.code, view.bits))
        if row is None or (dtype is not None and row.name != dtype):
            raise InvalidArgument(f"expected {dtype or 'a type of hk'}, got DLPack code "
                                  f"{view.code} with {view.bits} bits")
        if view.device[0] != 1 or not _is_dense(view):
            raise InvalidArgument("expected a dense row-major tensor in host memory")
        tensor = Tensor(self, view.shape, row)
        if tensor.nbytes:
            _abi.check(_abi.lib().hk_device_upload(self._handle, tensor.data, view.data,
                                                   tensor.nbytes))
        return tensor

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("an hk.Device belongs to its process; open it again there, with hk.Device")

    def synchronize(self) -> None:
        """Waits for everything that was enqueued."""
        _abi.check(_abi.lib().hk_device_synchronize(self._handle))

    def __repr__(self) -> str:
        return f"hk.Device('{self.spec}', {self.target})"


def _type(name: str) -> _dtypes.DType:
    """The element type of a name."""
    if name not in _dtypes.BY_NAME:
        raise InvalidArgument(f"no element type '{name}'; one of {', '.join(_dtypes.BY_NAME)}")
    return _dtypes.BY_NAME[name]


def _sizes(shape: typing.Any) -> tuple[int, ...]:
    """A shape that a tensor can have; one number is that of a vector."""
    try:
        sizes = tuple(operator.index(n) for n in (
            shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        raise InvalidArgument(f"expected a shape of whole numbers, got {shape!r}") from None
    if any(n < 0 for n in sizes):
        raise InvalidArgument(f"expected sizes of at least 0, got {list(sizes)}")
    return sizes


def _is_dense(view: _dlpack.View) -> bool:
    expected = 1
    for size, stride in zip(reversed(view.shape), reversed(view.strides or ()), strict=False):
        if size != 1 and stride != expected and 0 not in view.shape:
            return False
        expected *= size
    return True


class Tensor:
    """Dense row-major memory on a device that others read through DLPack.

    `shape`, `dtype` (hk's name), `nbytes`, `device`, `data` (the address). Freed when
    neither this object nor anyone who took it through DLPack holds it.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: _dtypes.DType):
        self.device, self.shape, self._dtype = device, shape, dtype
        self.nbytes = _dtypes.bytes_of(dtype, shape)
        if self.nbytes >= 1 << 63:  # Which 64 bits of the C interface would cut off.
            raise OutOfMemory(f"no memory has {self.nbytes} bytes, which {dtype.name} of shape "
                              f"{list(shape)} takes")
        self.data = _abi.make("hk_device_alloc", device._handle, max(self.nbytes, 1))
        # The device is an argument, so that it stays open for as long.
        weakref.finalize(self, _free, device, self.data)

    @property
    def dtype(self) -> str:
        return self._dtype.name

    def _upload(self, data: bytes) -> None:
        _abi.check(_abi.lib().hk_device_upload(self.device._handle, self.data, data, len(data)))

    def _lend(self) -> _dlpack.View:
        if self.device.dlpack[0] != 1:
            self.device.synchronize()  # hk does not know the stream that it was made on.
        return _dlpack.View(self.data, self.device.dlpack, self._dtype.code, self._dtype.bits,
                            self.shape, None, False, self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.dlpack

    def __dlpack__(self, *, stream: object = None, max_version: object = None,
                   dl_device: object = None, copy: bool | None = None) -> object:
        if dl_device is not None and tuple(dl_device) != self.device.dlpack:
            raise BufferError(f"the tensor is on {self.device.spec}; copy it with numpy()")
        source = self
        if self.device.dlpack[0] != 1:
            if copy:
                raise BufferError("an hk.Tensor of a GPU gives its own memory; copy it afterwards")
            self.device.synchronize()  # hk does not know the consumer's stream.
        elif copy:
            source = self.device.tensor(self)
        return _dlpack.export(source.data, self.device.dlpack, self._dtype, self.shape, source,
                              versioned=bool(max_version) and max_version[0] >= 1)

    def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> typing.Any:
        """For numpy.asarray."""
        import numpy

        if self._dtype.numpy is None:
            raise TypeError(f"NumPy has no {self.dtype}; numpy() gives its raw bits, torch() a "
                            "tensor of it")
        return numpy.array(self.numpy(), dtype=dtype, copy=copy)

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("an hk.Tensor is memory of its process; copy and send numpy() of it")

    def numpy(self) -> typing.Any:
        """As a NumPy array: a view of host memory, a copy of a device's.

        A type that NumPy lacks comes as raw unsigned integers, fp4 as bytes.
        """
        import numpy

        name = self._dtype.numpy or f"uint{max(self._dtype.bits, 8)}"
        shape = self.shape
        if self._dtype.bits == 4:
            shape = shape[:-1] + (shape[-1] // 2,)
        if self.device.dlpack[0] == 1:
            buffer = (c.c_char * self.nbytes).from_address(self.data)
            buffer.owner = self
            return numpy.frombuffer(buffer, dtype=name).reshape(shape)
        array = numpy.empty(shape, dtype=name)
        if self.nbytes:
            _abi.check(_abi.lib().hk_device_download(self.device._handle, array.ctypes.data,
                                                     self.data, self.nbytes))
        return array

    def torch(self) -> typing.Any:
        """As a PyTorch tensor that shares the memory."""
        import torch

        return torch.from_dlpack(self)

    def __repr__(self) -> str:
        return f"hk.Tensor({list(self.shape)}, {self.dtype}, {self.device.spec})"


def _free(device: Device, data: int) -> None:
    _abi.lib().hk_device_free(device._handle, data)
