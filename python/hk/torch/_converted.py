"""A model in another type, as transformers reads it from a folder: weights are converted, the
frequencies of rotary embeddings, which no file has, stay in f32. Module.to rounds them as well: the
angle of a position in the thousands is then another one. Of complex numbers it leaves the real part."""

import torch


def convert(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """The model itself, converted."""
    kept = _frequencies(model)
    for module, name in kept:
        module._buffers[name] = None  # noqa: SLF001
    model.to(dtype)
    _put_back(kept, dtype)
    return model


def convert_buffers(model: torch.nn.Module, dtype: torch.dtype) -> None:
    """What convert() does to a model's buffers."""
    kept = _frequencies(model)
    for module in model.modules():
        for name, buffer in module.named_buffers(recurse=False):
            if buffer.is_floating_point():
                module._buffers[name] = buffer.to(dtype)  # noqa: SLF001
    _put_back(kept, dtype)


def _frequencies(model: torch.nn.Module) -> dict[tuple[torch.nn.Module, str], torch.Tensor]:
    return {(m, n): b for m in model.modules() for n, b in m.named_buffers(recurse=False)
            if n.endswith("inv_freq") or b.is_complex()}


def _put_back(kept: dict[tuple[torch.nn.Module, str], torch.Tensor], dtype: torch.dtype) -> None:
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for (module, name), buffer in kept.items():
        kind = wide.to_complex() if buffer.is_complex() else wide
        module._buffers[name] = buffer.to(kind)  # noqa: SLF001
