"""Gathers from and writes into tensors of more than 2^31 elements on an emulated chip.

Usage: large.py libhk_runtime.so module.so
Only the rows that a kernel touches are ever written, so the memory of the rest is never
there; reading any of it would be reported as undefined.
"""

import ctypes as c
import sys

import numpy as np

ROWS, WIDTH = 2**19 + 5, 4096


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32),
                ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Call(c.Structure):
    _fields_ = [("struct_bytes", c.c_uint32), ("num_arguments", c.c_uint32),
                ("arguments", c.POINTER(c.POINTER(DLTensor))), ("workspace", c.c_void_p),
                ("workspace_bytes", c.c_uint64), ("stream", c.c_void_p), ("profile", c.c_void_p)]


lib = c.CDLL(sys.argv[1])
for name in ("hk_device_open", "hk_device_alloc", "hk_device_upload", "hk_device_download", "hk_module_open",
             "hk_program_create", "hk_program_function", "hk_function_call"):
    getattr(lib, name).restype = c.c_void_p
lib.hk_status_get_message.restype = c.c_char_p


def check(status):
    if status:
        sys.exit(lib.hk_status_get_message(c.c_void_p(status)).decode())


device, module, program = c.c_void_p(), c.c_void_p(), c.c_void_p()
check(lib.hk_device_open(b"hip:0", None, c.byref(device)))
check(lib.hk_module_open(sys.argv[2].encode(), c.byref(module)))
check(lib.hk_program_create(module, device, None, c.byref(program)))


def alloc(size):
    pointer = c.c_void_p()
    check(lib.hk_device_alloc(device, c.c_uint64(size), c.byref(pointer)))
    return pointer.value


def upload(address, array):
    check(lib.hk_device_upload(device, c.c_void_p(address), array.ctypes.data_as(c.c_void_p),
                               c.c_uint64(array.nbytes)))


def download(address, array):
    check(lib.hk_device_download(device, array.ctypes.data_as(c.c_void_p), c.c_void_p(address),
                                 c.c_uint64(array.nbytes)))
    return array


def call(name, *tensors):
    """Tensors are (address, shape, DLPack type code, bits)."""
    function = c.c_void_p()
    check(lib.hk_program_function(program, name, c.byref(function)))
    shapes = [(c.c_int64 * len(shape))(*shape) for _, shape, _, _ in tensors]
    views = [DLTensor(address, 10, 0, len(shape), code, bits, 1, sizes, None, 0)
             for (address, shape, code, bits), sizes in zip(tensors, shapes)]
    pointers = (c.POINTER(DLTensor) * len(views))(*[c.pointer(v) for v in views])
    check(lib.hk_function_call(function, c.byref(Call(c.sizeof(Call), len(views), pointers, None, 0, None, None))))
    check(lib.hk_device_synchronize(device))


def row(number):
    return np.arange(number, number + WIDTH, dtype=np.uint16)


BF16, I32 = (4, 16), (0, 32)
ids = np.array([ROWS - 2, 0, 2**19 + 1, 7, 2**19 - 1], np.int32)
table, indices = alloc(ROWS * WIDTH * 2), alloc(ids.nbytes)
upload(indices, ids)
for i in ids:
    upload(table + int(i) * WIDTH * 2, row(i))
out = alloc(len(ids) * WIDTH * 2)
call(b"gather_rows", (table, [ROWS, WIDTH], *BF16), (indices, [len(ids)], *I32), (out, [len(ids), WIDTH], *BF16))
gathered = download(out, np.empty((len(ids), WIDTH), np.uint16))
assert (gathered == [row(i) for i in ids]).all()

cache = alloc(ROWS * WIDTH * 2)
slots = (ids[:, None] * 4 + np.arange(4, dtype=np.int32)).ravel()
places = alloc(slots.nbytes)
upload(places, slots)
call(b"cache_write", (out, [len(slots), 8, 128], *BF16), (places, [len(slots)], *I32),
     (cache, [ROWS // 4, 16, 8, 128], *BF16))
written = gathered.reshape(-1, 1024)
for slot, expected in zip(slots, written):
    assert (download(cache + int(slot) * 2048, np.empty(1024, np.uint16)) == expected).all(), slot
print(f"{ROWS} x {WIDTH}: rows gathered and written")
