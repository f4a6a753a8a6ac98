"""Tensors of other libraries as hk sees them, and hk's tensors as others see them.

`view` accepts whatever has a DLPack capsule, a PyTorch tensor, a NumPy array (also
read-only ones and ml_dtypes' types, which NumPy's own DLPack refuses). Nothing is copied.
"""

import ctypes as c
import sys
import typing

from . import _abi, _dtypes
from .errors import InvalidArgument

_HOST, _CUDA, _ROCM = 1, 2, 10
_UNSIGNED = 1
_READ_ONLY = 1
_NAMES = b"dltensor", b"dltensor_versioned"


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
_new_capsule = c.pythonapi.PyCapsule_New
_new_capsule.restype = c.py_object
_new_capsule.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]


def _view_torch(value: typing.Any) -> View:
    if type(value).__name__ == "FakeTensor":
        raise InvalidArgument("expected a tensor with data, got a FakeTensor, which only has a shape")
    name = _dtypes.torch_name(value.dtype)
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
    if hasattr(value, "mask"):
        raise InvalidArgument("expected an array without a mask, whose elements all count; use "
                              "filled()")
    if not hasattr(value, "ctypes"):  # A number of NumPy's own.
        value = sys.modules["numpy"].asarray(value)
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
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:
            capsule = value.__dlpack__()
    except Exception as error:  # Whatever a library raises that cannot export its tensor.
        raise InvalidArgument(f"__dlpack__ of {type(value).__name__} says: {error}") from error
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
    if hasattr(value, "_lend"):  # An hk.Tensor, which needs no capsule.
        return value._lend()
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


def is_recorded(value: typing.Any) -> bool:
    """Whether PyTorch's autograd expects to see every write into this tensor."""
    return (getattr(value, "requires_grad", False) is True and "torch" in sys.modules
            and sys.modules["torch"].is_grad_enabled())


def as_argument(value: View, dtype: _dtypes.DType) -> View:
    """Raw unsigned bits stand for a type that the library lacks; bytes hold two elements of 4 bits each."""
    if value.code != _UNSIGNED or dtype.numpy is not None:
        return value
    if dtype.bits == 4 and value.bits == 8 and value.shape:
        strides = value.strides and tuple(s * 2 for s in value.strides[:-1]) + value.strides[-1:]
        return value._replace(code=dtype.code, bits=4, strides=strides,
                              shape=value.shape[:-1] + (value.shape[-1] * 2,))
    return value._replace(code=dtype.code) if value.bits == dtype.bits else value


# What is lent, by its address: the struct, the sizes, who holds the memory, and the capsule.
_exported: dict[int, tuple] = {}


@c.CFUNCTYPE(None, c.c_void_p)
def _release(address: int) -> None:
    _exported.pop(address, None)


def _holders(lent: tuple) -> int:
    """How many hold the capsule of a tuple; as many as count here where nobody else does."""
    return sys.getrefcount(lent[-1])


_NOBODY_ELSE = _holders((object(),))
_waiting: list[int] = []  # Addresses of capsules that nobody had taken when one was made last.


def _drop_unused() -> None:
    """Forgets capsules that nobody else holds and nobody took. They have no destructor that would:
    one of Python's fails where it is called while a consumer's error is on its way."""
    for address in _waiting[:]:
        lent = _exported.get(address)
        if lent is None or not any(_is_valid(lent[-1], name) for name in _NAMES):
            _waiting.remove(address)  # Taken: the consumer calls the deleter.
        elif _holders(lent) == _NOBODY_ELSE:
            _waiting.remove(address)
            _exported.pop(address)


def export(data: int, device: tuple[int, int], dtype: _dtypes.DType, shape: tuple[int, ...],
           owner: object, *, versioned: bool = False) -> object:
    """A DLPack capsule of memory that `owner` holds. Consumers take what is not `versioned` for
    memory that may not be written."""
    _drop_unused()
    sizes = (c.c_int64 * max(len(shape), 1))(*shape)
    tensor = _abi.DLTensor(data, *device, len(shape), dtype.code, dtype.bits, 1, sizes, None, 0)
    deleter = c.cast(_release, c.c_void_p)
    managed = (_ManagedVersioned(_Version(1, 0), None, deleter, 0, tensor) if versioned
               else _Managed(tensor, None, deleter))
    address = c.addressof(managed)
    capsule = _new_capsule(address, _NAMES[versioned], None)
    _exported[address] = (managed, sizes, owner, capsule)
    _waiting.append(address)
    return capsule
