"""llama.cpp's side of smollm2.py: the package llama_cpp and files in the types it is compared in.

The package's own file is Q4_1 with Q8_0 embeddings; f32 and bf16 hold the values of its codes.
"""

import pathlib
import struct
import typing

import numpy as np

#: Type as GGUF numbers them; what is no matrix stays f32, as llama.cpp has it.
TYPES = {"f32": 0, "bf16": 30}


def widened(path: pathlib.Path, to: pathlib.Path, kind: str) -> pathlib.Path:
    """The same model with matrices of type `kind`, unless `to` is there."""
    if to.exists():
        return to
    import gguf

    reader = gguf.GGUFReader(path)
    first = min(t.field.offset for t in reader.tensors)
    infos, parts, offset = b"", [], 0
    for t in reader.tensors:
        values = gguf.dequantize(t.data, t.tensor_type).astype(np.float32).reshape(-1)
        used = TYPES[kind] if len(t.shape) > 1 else TYPES["f32"]
        if used != TYPES["f32"]:
            bits = values.view(np.uint32).astype(np.uint64)
            values = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        infos += struct.pack("<Q", len(t.name)) + t.name.encode()
        infos += struct.pack(f"<I{len(t.shape)}Q", len(t.shape), *map(int, t.shape))
        infos += struct.pack("<IQ", used, offset)
        data = values.tobytes()
        parts.append(data + bytes(-len(data) % 32))
        offset += len(parts[-1])
    head = path.read_bytes()[:first] + infos
    to.write_bytes(head + bytes(-len(head) % 32) + b"".join(parts))
    return to


class Llama:
    """llama.cpp; one sequence."""

    def __init__(self, path: pathlib.Path, room: int, threads: int):
        import llama_cpp

        self.llama = llama_cpp.Llama(str(path), n_ctx=room, n_batch=room, n_ubatch=room,
                                     n_threads=threads, n_threads_batch=threads, verbose=False)
        self.api = llama_cpp

    def _run(self, ids: typing.Any) -> np.ndarray:
        self.llama.eval([int(i) for i in ids])
        found = self.api.llama_get_logits_ith(self.llama.ctx, -1)
        return np.ctypeslib.as_array(found, shape=(self.llama.n_vocab(),)).copy()

    def prefill(self, ids: np.ndarray) -> np.ndarray:
        self.llama.reset()
        return self._run(ids)

    def step(self, token: int) -> np.ndarray:
        return self._run([token])
