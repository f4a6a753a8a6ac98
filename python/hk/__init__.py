"""hk from Python: load compiled modules, call them on tensors of any library, compile and
import models.

    import hk
    m = hk.load("model.so")                    # device="hip:0"
    y, = m.forward(x=x)                        # NumPy, PyTorch, whatever speaks DLPack
    step = m.decode.bind(ids=ids, k0=cache)    # a decode loop: fixed tensors
    hk.compile("model.mlir", targets=["host", "gfx942"])

Pure Python over the C interface of libhk_runtime.so. NumPy and PyTorch are optional; the
import of models (hk.torch) needs PyTorch and transformers.
"""

import typing

from .comm import Communicator
from .decoder import Decoder
from .errors import (CheckFailed, CompileError, DeviceError, Error, Incompatible, InternalError,
                     InvalidArgument, NotFound, OutOfMemory, RankFailed, RankTimeout, Unavailable,
                     UnsupportedModel)
from .module import Argument, BoundCall, Function, Module, Profile, load
from .tensor import Device, Tensor
from .tools import Reference, compile, run_reference  # noqa: A004

__version__ = "0.1.0"

__all__ = ["Argument", "BoundCall", "CheckFailed", "Communicator", "CompileError", "Decoder", "Device", "DeviceError",
           "Error", "Function", "Incompatible", "InternalError", "InvalidArgument", "Module",
           "NotFound", "OutOfMemory", "Profile", "RankFailed", "RankTimeout", "Reference", "Tensor",
           "Unavailable", "UnsupportedModel", "compile", "load", "run_reference"]


def __getattr__(name: str) -> typing.Any:
    if name in ("torch", "ops"):  # They need PyTorch, so they are loaded on first use.
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'hk' has no attribute '{name}'")
