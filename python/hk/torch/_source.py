"""Reads models from disk through transformers: a folder with config.json, or a GGUF file.
Nothing is fetched from anywhere."""

import os
import pathlib
import typing

from ..errors import NotFound, UnsupportedModel
from . import _packed


def _parts(path: str | os.PathLike) -> tuple[str, dict]:
    """The folder and the keyword arguments that transformers wants."""
    path = pathlib.Path(path)
    if not path.exists():
        raise NotFound(f"no such file or folder: '{path}'; hk reads models from disk and fetches "
                       "none")
    if path.suffix == ".gguf":
        return str(path.parent), {"gguf_file": path.name, "local_files_only": True}
    if not (path / "config.json").exists():
        raise NotFound(f"'{path}' is neither a GGUF file nor a folder with a config.json")
    return str(path), {"local_files_only": True}


# What the class that a folder names ends with, and which of transformers' reads it.
KINDS = {"ForCausalLM": "AutoModelForCausalLM", "LMHeadModel": "AutoModelForCausalLM",
         "ForSequenceClassification": "AutoModelForSequenceClassification",
         "ForTokenClassification": "AutoModelForTokenClassification",
         "ForQuestionAnswering": "AutoModelForQuestionAnswering"}


def _kind(name: str) -> str:
    return next((kind for end, kind in KINDS.items() if name.endswith(end)), "AutoModel")


def read(path: str | os.PathLike) -> typing.Any:
    """The model of a folder or GGUF file, in f32 (dequantised): with its head if that
    generates, classifies or finds spans, else the model behind it."""
    import torch
    import transformers

    folder, options = _parts(path)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **options)
        names = getattr(config, "architectures", None) or []
        kind = _kind("ForCausalLM" if "gguf_file" in options else names[0] if names else "")
        reader = getattr(transformers, kind)
        if "gguf_file" not in options and _packed.is_packed(folder):
            return _unpacked(reader, config, folder)
        model = reader.from_pretrained(folder, dtype=torch.float32, **options).eval()
        if "gguf_file" in options:
            model.is_quantized = False  # Its weights are plain f32 by now; it still refuses to().
        return model
    except (ValueError, OSError, KeyError, ImportError) as error:
        packed = "" if "gguf_file" in options else _packed.remedy(folder)
        raise UnsupportedModel(f"transformers cannot read '{path}': "
                               f"{str(error).strip().splitlines()[0]}{packed}") from error


def _unpacked(reader: typing.Any, config: typing.Any, folder: str) -> typing.Any:
    """The model of a folder with packed weights."""
    import torch
    from transformers.models.auto.auto_factory import _get_model_class

    # The Auto classes want a path, with which the models take no tensors.
    of_model = _get_model_class(config, reader._model_mapping)  # noqa: SLF001
    del config.quantization_config
    state, reading = _packed.state(folder)
    model, loaded = of_model.from_pretrained(None, config=config, state_dict=state,
                                             dtype=torch.float32, output_loading_info=True)
    if loaded["missing_keys"]:
        raise UnsupportedModel(f"'{folder}' has no weights for {sorted(loaded['missing_keys'])[0]} "
                               f"and {len(loaded['missing_keys']) - 1} others; the folder is "
                               "incomplete, or its packed layers have names that hk does not know")
    _packed.remember(model, reading)
    return model.eval()


def read_tokenizer(path: str | os.PathLike) -> typing.Any:
    """The tokenizer beside the model."""
    import transformers

    folder, options = _parts(path)
    return transformers.AutoTokenizer.from_pretrained(folder, **options)
