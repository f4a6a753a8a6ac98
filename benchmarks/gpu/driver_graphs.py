"""Streams and graphs of the CUDA driver or of HIP, by ctypes: for programs that have hk and no PyTorch."""

import ctypes as c
import functools
import os

P = c.c_void_p
THREAD_LOCAL = 1  # cuStreamCaptureMode, hipStreamCaptureMode


class Driver:
    """The library that an hk.Device of this kind uses; `spec` is "cuda:N" or "hip:N"."""

    def __init__(self, spec):
        kind, ordinal = spec.split(":")
        self.prefix = {"cuda": "cu", "hip": "hip"}[kind]
        name = os.environ.get(f"HK_{kind.upper()}_LIBRARY") or {"cuda": "libcuda.so.1", "hip": "libamdhip64.so"}[kind]
        self.library = c.CDLL(name)
        if kind == "cuda":
            context = P()
            self("DevicePrimaryCtxRetain", c.byref(context), int(ordinal))
            self("CtxSetCurrent", context)

    def __call__(self, name, *arguments):
        error = getattr(self.library, self.prefix + name)(*arguments)
        if error:
            raise RuntimeError(f"{self.prefix}{name} failed with error {error}")

    def stream(self):
        made = P()
        created = "StreamCreateWithFlags" if self.prefix == "hip" else "StreamCreate"
        self(created, c.byref(made), 1)  # it does not wait for the default stream
        return made.value

    def synchronize(self, stream):
        self("StreamSynchronize", P(stream))

    def capture(self, stream, body):
        """What `body` enqueues on the stream, as a graph: call it to launch it there. It holds `body`, whose tensors and
        workspace the graph uses."""
        graph, ready = P(), P()
        self("StreamBeginCapture" + ("_v2" if self.prefix == "cu" else ""), P(stream), THREAD_LOCAL)
        try:
            body()
        finally:
            self("StreamEndCapture", P(stream), c.byref(graph))
        self("GraphInstantiateWithFlags", c.byref(ready), graph, c.c_ulonglong(0))
        return functools.partial(self._launch, ready, stream, body)

    def _launch(self, ready, stream, _body):
        self("GraphLaunch", ready, P(stream))
