"""Compiles Triton kernels for a chip without a GPU and runs them in the emulator.

Triton is no part of hk: `pip install triton numpy ml_dtypes` into a virtual
environment and run the scripts beside this one with its python.
"""
import ctypes
import os

import ml_dtypes
import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from foreign import Device, Out, Uncompiled

TYPES = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5", "float8_e5m2fnuz": "fp8e5b16",
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
    "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64", "bool": "i1",
}
BF16 = np.dtype(ml_dtypes.bfloat16)
SCALARS = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float, "u32": ctypes.c_uint32}


def fp8(chip, kind="e4m3"):
    """The fp8 type of the chip: FNUZ on gfx942, OCP on gfx950."""
    fnuz = chip == "gfx942"
    return np.dtype(getattr(ml_dtypes, "float8_%s%s" % (kind, "fnuz" if fnuz else "fn" if kind == "e4m3" else "")))


def launch(chip, fn, grid, args, aligned=True, gluon=False, **options):
    """args: name -> array, Out, int, float or (constexpr,). Returns the buffers by name."""
    signature, constants, attributes, values, names = {}, {}, {}, [], []
    env = {k: options.pop(k) for k in list(options) if k.isupper()}
    os.environ.update({k: str(v) for k, v in env.items()})
    for index, (name, value) in enumerate(args.items()):
        if isinstance(value, tuple):
            signature[name], constants[name] = "constexpr", value[0]
            continue
        if isinstance(value, (np.ndarray, Out)):
            signature[name] = "*" + TYPES[value.dtype.name]
            if aligned:
                attributes[(index,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
            names.append(name)
            values.append(value)
            continue
        kind = "fp32" if isinstance(value, float) else "i32" if -2**31 <= value < 2**31 else "i64"
        signature[name] = kind
        if aligned and kind != "fp32" and value % 16 == 0:
            attributes[(index,)] = [["tt.divisibility", 16]]
        values.append(SCALARS[kind](value))
    source = ASTSource
    if gluon:
        from triton.experimental.gluon._runtime import GluonASTSource as source
    try:
        compiled = triton.compile(source(fn, signature, constants, attributes), target=GPUTarget("hip", chip, 64),
                                  options=options)
    except Exception as error:
        raise Uncompiled("%s: %s" % (type(error).__name__, error))
    meta = compiled.metadata
    if os.environ.get("KEEP"):
        with open(os.environ["KEEP"] + ".s", "w") as f:
            f.write(compiled.asm["amdgcn"])
        with open(os.environ["KEEP"] + ".hsaco", "wb") as f:
            f.write(compiled.asm["hsaco"])
    got = Device().run(compiled.asm["hsaco"], meta.name, grid, (64 * meta.num_warps,), values, meta.shared)
    return dict(zip(names, got))
