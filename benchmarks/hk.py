"""A small ctypes binding of hk's C interface over PyTorch tensors.

Only for benchmarks: PyTorch and hk then share one process, one device, one stream
and one way of timing.
"""

import ctypes as c

import torch


class DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32),
                ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class HkCall(c.Structure):
    _fields_ = [("struct_bytes", c.c_uint32), ("num_arguments", c.c_uint32),
                ("arguments", c.POINTER(c.POINTER(DLTensor))), ("workspace", c.c_void_p),
                ("workspace_bytes", c.c_uint64), ("stream", c.c_void_p), ("profile", c.c_void_p)]


class DeviceOptions(c.Structure):
    _fields_ = [("struct_bytes", c.c_uint32), ("num_threads", c.c_uint32),
                ("shuffle_seed", c.c_uint64), ("debug_memory", c.c_uint32)]


class ArgumentInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("role", c.c_int), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("rank", c.c_int32), ("sizes", c.POINTER(c.c_int64))]


class Program:
    """A compiled module on the GPU (or the host) that PyTorch uses."""

    def __init__(self, library, module, device="cuda:0", weights=None, threads=0):
        self.lib = c.CDLL(library)
        for name in ("hk_device_open", "hk_module_open", "hk_program_create", "hk_program_function",
                     "hk_function_plan", "hk_function_call"):
            getattr(self.lib, name).restype = c.c_void_p
        self.lib.hk_status_get_message.restype = c.c_char_p
        self.lib.hk_function_argument.restype = ArgumentInfo
        self.device_name = device
        self.device, self.module, self.program = c.c_void_p(), c.c_void_p(), c.c_void_p()
        options = DeviceOptions(c.sizeof(DeviceOptions), threads)
        self.check(self.lib.hk_device_open(device.encode(), c.byref(options), c.byref(self.device)))
        self.check(self.lib.hk_module_open(module.encode(), c.byref(self.module)))
        self.check(self.lib.hk_program_create(self.module, self.device,
                                              weights.encode() if weights else None,
                                              c.byref(self.program)))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.hk_status_get_message(c.c_void_p(status)).decode())

    def function(self, name):
        return Function(self, name)


class Function:
    def __init__(self, program, name):
        self.program, self.lib = program, program.lib
        self.handle = c.c_void_p()
        program.check(self.lib.hk_program_function(program.program, name.encode(),
                                                   c.byref(self.handle)))
        count = self.lib.hk_function_num_arguments(self.handle)
        self.infos = [self.lib.hk_function_argument(self.handle, i) for i in range(count)]

    def prepare(self, tensors):
        """Fixes the arguments (all of them, outputs too); returns a callable."""
        kind = 2 if self.program.device_name.startswith("cuda") else 1
        views, keep = [], []
        for tensor, info in zip(tensors, self.infos, strict=True):
            sizes = (c.c_int64 * max(tensor.dim(), 1))(*tensor.shape)
            views.append(DLTensor(tensor.data_ptr(), kind, 0, tensor.dim(), info.code, info.bits, 1,
                                  sizes, None, 0))
            keep.append((tensor, sizes))
        inputs = [v for v, i in zip(views, self.infos) if i.role != 2]
        pointers = (c.POINTER(DLTensor) * len(views))(*[c.pointer(v) for v in views])
        input_pointers = (c.POINTER(DLTensor) * len(inputs))(*[c.pointer(v) for v in inputs])
        ranks = sum(i.rank for i in self.infos if i.role == 2)
        sizes, bytes_ = (c.c_int64 * max(ranks, 1))(), c.c_uint64()
        self.program.check(self.lib.hk_function_plan(self.handle, input_pointers, len(inputs), sizes,
                                                     c.byref(bytes_)))
        device = "cuda" if kind == 2 else "cpu"
        workspace = torch.empty(bytes_.value + 256, dtype=torch.uint8, device=device)
        workspace = workspace[-workspace.data_ptr() % 256:]  # PyTorch aligns to 64 on the CPU.
        call = HkCall(c.sizeof(HkCall), len(views), pointers, workspace.data_ptr(), bytes_.value)

        def run():
            if kind == 2:
                call.stream = torch.cuda.current_stream().cuda_stream
            self.program.check(self.lib.hk_function_call(self.handle, c.byref(call)))

        run.keep = (keep, views, workspace, pointers)
        return run
