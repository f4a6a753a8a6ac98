"""Tensors of other libraries as hk sees them, and hk's tensors as others see them.

`view` accepts whatever has a DLPack capsule, a PyTorch tensor, a NumPy array (also
read-only ones and ml_dtypes' types, which NumPy's own DLPack refuses). Nothing is copied.
"""

import ctypes as c
import typing

from . import _abi, _dtypes
from .errors import InvalidArgument

_HOST, _CUDA, _ROCM = 1, 2, 10
_UNSIGNED = 1
_READ_ONLY = 1


class View(typing.NamedTuple):
    """A borrowed tensor; `owner` keeps its memory alive. Strides in elements, or None."""

    data: int
    device: tuple[int, int]
    code: int
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    read_only: bool
    owner: object


class _Version(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32)]


class _Managed(c.Structure):
    _fields_ = [("tensor", _abi.DLTensor), ("context", c.c_void_p), ("deleter", c.c_void_p)]


class _ManagedVersioned(c.Structure):
    _fields_ = [("version", _Version), ("context", c.c_void_p), ("deleter", c.c_void_p),
                ("flags", c.c_uint64), ("tensor", _abi.DLTensor)]


_get_pointer = c.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
_is_valid = c.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c.c_int, [c.py_object, c.c_char_p]
_raw_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(
    ("PyCapsule_IsValid", c.pythonapi))
_raw_get_pointer = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(
    ("PyCapsule_GetPointer", c.pythonapi))
_new_capsule = c.pythonapi.PyCapsule_New
_new_capsule.restype = c.py_object
_new_capsule.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]


def _view_torch(value: typing.Any) -> View:
    name = str(value.dtype).removeprefix("torch.")
    if value.is_neg() or value.is_conj():
        raise InvalidArgument("expected the elements in memory, got a view that negates or "
                              "conjugates them; use resolve_neg() or resolve_conj()")
    shape, strides = tuple(value.shape), tuple(value.stride())
    if name == "uint8":
        code, bits = _UNSIGNED, 8
    elif name in _dtypes.BY_TORCH:
        row = _dtypes.BY_TORCH[name]
        code, bits = row.code, row.bits
    else:
        raise InvalidArgument(f"hk has no element type like {value.dtype}; convert the tensor")
    device = _HOST, 0
    if value.device.type == "cuda":
        import torch

        device = (_ROCM if torch.version.hip else _CUDA), value.device.index or 0
    elif value.device.type != "cpu":
        raise InvalidArgument(f"expected a tensor on cpu, cuda or hip, got {value.device}")
    return View(value.data_ptr(), device, code, bits, shape, strides, False, value)


def _view_numpy(value: typing.Any) -> View:
    name = value.dtype.name
    if name in ("uint8", "uint16"):
        code, bits = _UNSIGNED, value.dtype.itemsize * 8
    elif name in _dtypes.BY_TORCH and value.dtype.isnative:
        row = _dtypes.BY_TORCH[name]
        code, bits = row.code, row.bits
    else:
        raise InvalidArgument(f"hk has no element type like NumPy's {value.dtype}; convert the array")
    size = value.dtype.itemsize
    if any(s % size for s in value.strides):
        raise InvalidArgument(f"strides {value.strides} are no multiples of the element's {size} "
                              "bytes; make a contiguous copy")
    strides = tuple(s // size for s in value.strides)
    return View(value.ctypes.data, (_HOST, 0), code, bits, value.shape, strides,
                not value.flags.writeable, value)


def _view_capsule(value: typing.Any) -> View:
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = value.__dlpack__()
    if _is_valid(capsule, b"dltensor_versioned"):
        pointer = _get_pointer(capsule, b"dltensor_versioned")
        managed = _ManagedVersioned.from_address(pointer)
        if managed.version.major != 1:
            raise InvalidArgument(f"expected DLPack 1.x, got version {managed.version.major}")
        read_only = bool(managed.flags & _READ_ONLY)
    elif _is_valid(capsule, b"dltensor"):
        managed = _Managed.from_address(_get_pointer(capsule, b"dltensor"))
        read_only = False
    else:
        raise InvalidArgument(f"__dlpack__ of {type(value).__name__} gives no DLPack tensor that "
                              "nobody has taken yet")
    t = managed.tensor
    if t.lanes != 1:
        raise InvalidArgument(f"expected elements of one lane, got {t.lanes}")
    strides = tuple(t.strides[:t.ndim]) if t.strides else None
    # The capsule's destructor gives the tensor back when the view is dropped.
    return View((t.data or 0) + t.byte_offset, (t.device_type, t.device_id), t.code, t.bits,
                tuple(t.shape[:t.ndim]), strides, read_only, (capsule, value))


def view(value: typing.Any) -> View:
    """Borrows a tensor of any library."""
    kind = type(value).__module__.partition(".")[0]
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):  # torch, parameters included
        try:
            return _view_torch(value)
        except RuntimeError as error:  # Sparse ones, and those that only have a shape.
            raise InvalidArgument("expected a dense tensor with data, got one of layout "
                                  f"{getattr(value, 'layout', None)} ({error})") from None
    if kind == "numpy" and hasattr(value, "__array_interface__") and hasattr(value, "flags"):
        return _view_numpy(value)
    if hasattr(value, "__dlpack__"):
        return _view_capsule(value)
    raise InvalidArgument(f"expected a tensor with __dlpack__ (NumPy, PyTorch, hk.Tensor), "
                          f"got {type(value).__name__}")


def as_argument(value: View, dtype: _dtypes.DType) -> View:
    """Raw unsigned bits stand for a type that the library lacks; bytes hold two elements of 4 bits each."""
    if value.code != _UNSIGNED or dtype.numpy is not None:
        return value
    if dtype.bits == 4 and value.bits == 8 and value.shape:
        strides = value.strides and tuple(s * 2 for s in value.strides[:-1]) + value.strides[-1:]
        return value._replace(code=dtype.code, bits=4, strides=strides,
                              shape=value.shape[:-1] + (value.shape[-1] * 2,))
    return value._replace(code=dtype.code) if value.bits == dtype.bits else value


_exported: dict[int, tuple] = {}


@c.CFUNCTYPE(None, c.c_void_p)
def _release(address: int) -> None:
    _exported.pop(address, None)


@c.PYFUNCTYPE(None, c.c_void_p)
def _destroy(capsule: int) -> None:
    # A consumer renames the capsule and calls the deleter itself.
    if _raw_is_valid(capsule, b"dltensor"):
        _exported.pop(_raw_get_pointer(capsule, b"dltensor"), None)


def export(data: int, device: tuple[int, int], dtype: _dtypes.DType, shape: tuple[int, ...],
           owner: object) -> object:
    """A DLPack capsule of memory that `owner` holds."""
    sizes = (c.c_int64 * max(len(shape), 1))(*shape)
    tensor = _abi.DLTensor(data, *device, len(shape), dtype.code, dtype.bits, 1, sizes, None, 0)
    managed = _Managed(tensor, None, c.cast(_release, c.c_void_p))
    address = c.addressof(managed)
    _exported[address] = (managed, sizes, owner)
    return _new_capsule(address, b"dltensor", c.cast(_destroy, c.c_void_p))
