"""AITER's Triton kernels, launched in the emulator by AITER's own host code.

There is no AMD GPU and no ROCm: Triton compiles for the chip offline, a driver of a few
lines stands in for its own, and every launch that a wrapper makes is handed to
libhk_emu.so, whose timing model writes a JSON line. So grids, tiles and numbers of warps
are those that AITER's tables name for the chip and the shape. Tensors are torch's, on
the host; each launch copies those that it is given.
"""
import contextlib
import ctypes
import importlib
import os
import sys
import types

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

UNITS = {"gfx942": 304, "gfx950": 256}
LDS = {"gfx942": 65536, "gfx950": 163840}
SCALARS = {"i1": ctypes.c_int8, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
           "u32": ctypes.c_uint32, "u64": ctypes.c_uint64, "fp32": ctypes.c_float, "fp64": ctypes.c_double}
HIDDEN = 4  # pointers that the compiler may add behind the arguments


class Driver:
    """What Triton asks a driver for before it launches."""

    def __init__(self, chip):
        self.target = GPUTarget("hip", chip, 64)
        self.utils = types.SimpleNamespace(get_device_properties=lambda device: {
            "max_shared_mem": LDS[chip], "multiprocessor_count": UNITS[chip], "warpSize": 64})

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")


class Emulator:
    """HIP's module interface of libhk_emu.so."""

    def __init__(self):
        self.hip = ctypes.CDLL(os.environ["HK_HIP_LIBRARY"])

    def call(self, name, *args):
        status = getattr(self.hip, name)(*args)
        if status:
            raise RuntimeError(f"{name}: HIP error {status}")

    def copy(self, tensor, made):
        """The address of the tensor's data on the device."""
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key not in made:
            made[key] = pointer = ctypes.c_void_p()
            size = ctypes.c_size_t(max(storage.nbytes(), 1))
            self.call("hipMalloc", ctypes.byref(pointer), size)
            if storage.nbytes():
                self.call("hipMemcpy", pointer, ctypes.c_void_p(key), size, 1)
        return made[key].value + tensor.storage_offset() * tensor.element_size()

    def launch(self, compiled, grid, values):
        """values: (type, value) of every argument that is not a constant."""
        image = compiled.asm["hsaco"]
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("hipModuleLoadData", ctypes.byref(module), ctypes.create_string_buffer(image, len(image)))
        self.call("hipModuleGetFunction", ctypes.byref(function), module, compiled.metadata.name.encode())
        made, words = {}, []
        for kind, value in values:
            words.append(ctypes.c_void_p(self.copy(value, made)) if kind[0] == "*" else SCALARS[kind](value))
        none = ctypes.c_void_p()
        words += [none] * HIDDEN
        params = (ctypes.c_void_p * len(words))(*(ctypes.addressof(w) for w in words))
        grid = (*grid, 1, 1)[:3]
        try:
            self.call("hipModuleLaunchKernel", function, *(int(g) for g in grid), 64 * compiled.metadata.num_warps, 1, 1,
                      compiled.metadata.shared, None, params, None)
        finally:
            for pointer in made.values():
                self.call("hipFree", pointer)
            self.call("hipModuleUnload", module)


def flat(kind, value):
    """Arguments as the code object has them: without constants, tuples one by one."""
    if isinstance(kind, tuple):
        for k, v in zip(kind, value):
            yield from flat(k, v)
    elif kind != "constexpr":
        yield kind, value


def install(chip):
    """Makes every launch of Triton one of the emulator's."""
    triton.runtime.driver.set_active(Driver(chip))
    emulator, compile_only = Emulator(), JITFunction.run

    def run(self, *args, grid, warmup, **kwargs):
        compiled = compile_only(self, *args, grid=grid, warmup=True, **kwargs)
        binder = self.device_caches[0][4]
        bound, _, _ = binder(*args, **{**kwargs, "debug": False, "instrumentation_mode": "",
                                       "fpsan_homomorphic_casts": False})
        compiled = compiled.result() if hasattr(compiled, "result") else compiled
        signature = compiled.src.signature
        values = [pair for name, value in bound.items() for pair in flat(signature[name], value)]
        emulator.launch(compiled, grid(bound) if callable(grid) else grid, values)
        return compiled

    JITFunction.run = run


def package(name, path):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [str(path)]
    return module


def stubs(chip):
    """Modules of AITER that ask ROCm or compile C++."""

    def plain(*args, **kwargs):
        return lambda function: function

    f8 = torch.float8_e4m3fnuz if chip == "gfx942" else torch.float8_e4m3fn
    return {"jit.utils.torch_guard": {"torch_compile_guard": plain}, "jit.core": {"compile_ops": plain},
            "jit.utils.chip_info": {"get_cu_num": lambda: UNITS[chip], "get_gfx": lambda: chip,
                                    "get_gfx_runtime": lambda: chip},
            "utility.dtypes": {"fp8": f8, "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32,
                               "i8": torch.int8, "u8": torch.uint8, "fp4x2": torch.uint8, "fp8_e8m0": torch.uint8}}


def pretend(chip):
    """What wrappers ask torch of the device; they refuse tensors of the host."""
    torch.Tensor.is_cuda = True
    torch.cuda.current_device = lambda: 0
    torch.cuda.device = lambda *args: contextlib.nullcontext()
    torch.cuda.get_device_name = lambda *args: "AMD Instinct"
    torch.cuda.get_device_capability = lambda *args: (9, 4 if chip == "gfx942" else 5)
    torch.cuda.get_device_properties = lambda *args: types.SimpleNamespace(
        multi_processor_count=UNITS[chip], gcnArchName=chip, warp_size=64, shared_memory_per_block=LDS[chip])


def load(root, chip):
    """A function from module names of aiter/ops/triton to modules. Packages whose
    __init__ builds or loads C++ are empty ones here."""
    install(chip)
    os.environ.update(GPU_ARCHS=chip, CU_NUM=str(UNITS[chip]), AITER_LOG_LEVEL="ERROR")
    root = root / "aiter"
    for name, path in (("aiter", "."), ("aiter.ops", "ops"), ("aiter.jit", "jit"), ("aiter.jit.utils", "jit/utils"),
                       ("aiter.utility", "utility"), ("aiter.ops.triton", "ops/triton")):
        package(name, root / path)
    for name, stub in stubs(chip).items():
        sys.modules[f"aiter.{name}"] = module = types.ModuleType(f"aiter.{name}")
        module.__dict__.update(stub)
    sys.modules["aiter"].dtypes = sys.modules["aiter.utility.dtypes"]
    pretend(chip)
    return lambda name: importlib.import_module(f"aiter.ops.triton.{name}")
