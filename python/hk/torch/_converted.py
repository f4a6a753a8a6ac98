"""A model in another type, as transformers reads it from a folder: weights are converted, the
frequencies of rotary embeddings, which no file has, stay in f32. Module.to rounds them as well: the
angle of a position in the thousands is then another one."""

import torch


def convert(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """The model itself, converted."""
    kept = {(m, n): b for m in model.modules() for n, b in m.named_buffers(recurse=False)
            if n.endswith("inv_freq")}
    model.to(dtype)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for (module, name), buffer in kept.items():
        module._buffers[name] = buffer.to(wide)  # noqa: SLF001
    return model
