"""The C interface of include/hk/Runtime/hk.h in ctypes: structs, prototypes, statuses."""

import ctypes as c
import functools

from . import _paths, errors


class DLTensor(c.Structure):
    """DLPack's tensor: data, device, dtype, sizes and strides in elements."""

    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32),
                ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class Call(c.Structure):
    """hk_call."""

    _fields_ = [("struct_bytes", c.c_uint32), ("num_arguments", c.c_uint32),
                ("arguments", c.POINTER(c.POINTER(DLTensor))), ("workspace", c.c_void_p),
                ("workspace_bytes", c.c_uint64), ("stream", c.c_void_p), ("profile", c.c_void_p)]


class DeviceOptions(c.Structure):
    """hk_device_options."""

    _fields_ = [("struct_bytes", c.c_uint32), ("num_threads", c.c_uint32),
                ("shuffle_seed", c.c_uint64), ("debug_memory", c.c_uint32)]


class CommOptions(c.Structure):
    """hk_comm_options."""

    _fields_ = [("struct_bytes", c.c_uint32), ("rank", c.c_uint32), ("world", c.c_uint32),
                ("timeout_ms", c.c_uint32), ("mesh", c.c_char_p), ("engine", c.c_char_p),
                ("id_file", c.c_char_p), ("native", c.POINTER(c.c_void_p)),
                ("num_native", c.c_uint32), ("shared_bytes", c.c_uint64)]


class DLDevice(c.Structure):
    """DLPack's device."""

    _fields_ = [("device_type", c.c_int32), ("device_id", c.c_int32)]


class ArgumentInfo(c.Structure):
    """hk_argument_info."""

    _fields_ = [("name", c.c_char_p), ("role", c.c_int), ("code", c.c_uint8),
                ("bits", c.c_uint8), ("lanes", c.c_uint16), ("rank", c.c_int32),
                ("sizes", c.POINTER(c.c_int64))]


class ProfileEntry(c.Structure):
    """hk_profile_entry."""

    _fields_ = [("kernel", c.c_char_p), ("variant", c.c_char_p), ("ops", c.c_char_p),
                ("launches", c.c_uint64), ("total_us", c.c_double), ("min_us", c.c_double)]


class ProfileLaunch(c.Structure):
    """hk_profile_launch."""

    _fields_ = [("function", c.c_char_p), ("kernel", c.c_char_p), ("variant", c.c_char_p),
                ("ops", c.c_char_p), ("call", c.c_uint64), ("begin_us", c.c_double),
                ("duration_us", c.c_double)]


INPUT, STATE, OUTPUT = 0, 1, 2
_P, _S, _U32, _U64 = c.c_void_p, c.c_char_p, c.c_uint32, c.c_uint64
_OUT = c.POINTER(c.c_void_p)

# name: (result, arguments). A void * result of the first group is a status.
_FALLIBLE = {
    "hk_device_open": (_S, c.POINTER(DeviceOptions), _OUT),
    "hk_device_alloc": (_P, _U64, _OUT),
    "hk_device_upload": (_P, _P, _P, _U64),
    "hk_device_download": (_P, _P, _P, _U64),
    "hk_device_synchronize": (_P,),
    "hk_module_open": (_S, _OUT),
    "hk_program_create_on": (_P, _P, _P, _S, _OUT),
    "hk_comm_open": (_P, c.POINTER(CommOptions), _OUT),
    "hk_comm_check": (_P,),
    "hk_comm_wait": (_P, _P, _P, _U32),
    "hk_program_function": (_P, _S, _OUT),
    "hk_function_plan": (_P, c.POINTER(c.POINTER(DLTensor)), _U32, c.POINTER(c.c_int64),
                         c.POINTER(_U64)),
    "hk_function_call": (_P, c.POINTER(Call)),
    "hk_profile_create": (_OUT,),
    "hk_profile_keep_launches": (_P, _U64),
}
_PLAIN = {
    "hk_status_get_code": (c.c_int, _P),
    "hk_status_get_message": (_S, _P),
    "hk_status_free": (None, _P),
    "hk_runtime_version": (_S,),
    "hk_device_close": (None, _P),
    "hk_device_target": (_S, _P),
    "hk_device_description": (_S, _P),
    "hk_device_dldevice": (DLDevice, _P),
    "hk_device_free": (None, _P, _P),
    "hk_module_close": (None, _P),
    "hk_module_json": (_S, _P),
    "hk_program_destroy": (None, _P),
    "hk_comm_close": (None, _P),
    "hk_comm_rank": (_U32, _P),
    "hk_comm_world": (_U32, _P),
    "hk_function_num_arguments": (_U32, _P),
    "hk_function_argument": (ArgumentInfo, _P, _U32),
    "hk_profile_destroy": (None, _P),
    "hk_profile_num_entries": (_U32, _P),
    "hk_profile_get": (ProfileEntry, _P, _U32),
    "hk_profile_num_launches": (_U64, _P),
    "hk_profile_get_launch": (ProfileLaunch, _P, _U64),
}


@functools.cache
def lib() -> c.CDLL:
    """The runtime library, loaded on first use."""
    library = c.CDLL(str(_paths.library()))
    for name, arguments in _FALLIBLE.items():
        function = getattr(library, name)
        function.restype, function.argtypes = _P, arguments
    for name, (result, *arguments) in _PLAIN.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def check(status: int | None) -> None:
    """Raises what a status says, and frees it."""
    if not status:
        return
    library = lib()
    code = library.hk_status_get_code(status)
    text = library.hk_status_get_message(status).decode(errors="replace")
    library.hk_status_free(status)
    raise errors.BY_CODE.get(code, errors.InternalError)(text)


def make(name: str, *arguments: object) -> int:
    """Calls a function whose last argument receives a handle; returns the handle."""
    handle = c.c_void_p()
    check(getattr(lib(), name)(*arguments, c.byref(handle)))
    return handle.value
