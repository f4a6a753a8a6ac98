"""Reads models from disk through transformers: a folder with config.json, or a GGUF file.
Nothing is fetched from anywhere."""

import os
import pathlib
import typing
import weakref

import torch

from ..errors import Error, NotFound, UnsupportedModel
from . import _gguf_fields, _mistaken, _packed

# Parameters of models that were read for which their files have no values.
_ABSENT: weakref.WeakKeyDictionary[torch.nn.Module, frozenset[str]] = weakref.WeakKeyDictionary()


def absent(model: torch.nn.Module) -> frozenset[str]:
    """Parameters that the files of a model lack: transformers makes random ones."""
    return _ABSENT.get(model, frozenset())


# The folders of models that were read, where their files have weights as they are.
_FOLDERS: weakref.WeakKeyDictionary[torch.nn.Module, pathlib.Path] = weakref.WeakKeyDictionary()


def folder_of(model: torch.nn.Module) -> pathlib.Path | None:
    """The folder that a model was read from, if its files have weights as they are."""
    return _FOLDERS.get(model)


# Nothing is fetched, and no code of a folder runs.
OPTIONS = {"local_files_only": True, "trust_remote_code": False}


def _parts(path: str | os.PathLike) -> tuple[str, dict]:
    """The folder and the keyword arguments that transformers wants."""
    path = pathlib.Path(path)
    if not path.exists():
        raise NotFound(f"no such file or folder: '{path}'; {_mistaken.absent(path)}")
    if path.suffix.lower() == ".gguf":
        return str(path.parent), {"gguf_file": path.name, **OPTIONS}
    if not (path / "config.json").exists():
        raise NotFound(f"'{path}' is neither a GGUF file (NAME.gguf) nor a folder with a config.json; "
                       + _mistaken.no_model(path))
    return str(path), dict(OPTIONS)


# What the class that a folder names ends with, and which of transformers' reads it.
KINDS = {"ForCausalLM": "AutoModelForCausalLM", "LMHeadModel": "AutoModelForCausalLM",
         "ForSequenceClassification": "AutoModelForSequenceClassification",
         "ForTokenClassification": "AutoModelForTokenClassification",
         "ForQuestionAnswering": "AutoModelForQuestionAnswering",
         "ForImageClassification": "AutoModelForImageClassification"}


def _kind(name: str, config: typing.Any) -> str:
    """What reads a class; of models of images and text the one that generates text."""
    import transformers

    if name.endswith("ForConditionalGeneration") and type(
            config) in transformers.AutoModelForImageTextToText._model_mapping:  # noqa: SLF001
        return "AutoModelForImageTextToText"
    return next((kind for end, kind in KINDS.items() if name.endswith(end)), "AutoModel")


def read(path: str | os.PathLike) -> typing.Any:
    """The model of a folder or GGUF file, in f32 (dequantised): with its head if that
    generates, classifies or finds spans, else the model behind it."""
    folder, options = _parts(path)
    try:
        return _read(folder, options)
    except Error:
        raise
    # Files and configurations of others: whatever is wrong with them is raised as anything.
    except Exception as error:
        raise UnsupportedModel(f"transformers cannot read '{path}': {_why(error)}"
                               + _remedy(error, pathlib.Path(folder), options)) from error


def _read(folder: str, options: dict) -> typing.Any:
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder, **options)
    names = getattr(config, "architectures", None) or []
    kind = _kind("ForCausalLM" if "gguf_file" in options else names[0] if names else "", config)
    reader = getattr(transformers, kind)
    if "gguf_file" not in options and _packed.is_packed(folder):
        return _unpacked(reader, config, folder)
    if "gguf_file" not in options:
        _packed.require_known(folder)
    file = None
    if "gguf_file" in options:
        file = _gguf_fields.File(pathlib.Path(folder) / options["gguf_file"])
        file.complete(config)
        options = {**options, "config": config}
    model, loaded = reader.from_pretrained(folder, dtype=torch.float32, output_loading_info=True,
                                           ignore_mismatched_sizes=True, **options)
    for name, given, wanted in sorted(loaded["mismatched_keys"]):
        raise UnsupportedModel(f"'{folder}': {name} is {list(given)} in its files and "
                               f"{list(wanted)} by config.json; one of them is of another model")
    _packed.require_used(loaded["unexpected_keys"], folder)
    _ABSENT[model] = frozenset(loaded["missing_keys"])
    if file is None:
        _FOLDERS[model] = pathlib.Path(folder).resolve()
    else:
        file.require_read(model)
        model.is_quantized = False  # Its weights are plain f32 by now; it still refuses to().
    return model.eval()


def _why(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines()]
    text = " ".join(lines[:2]) if lines and lines[0].endswith(":") else (lines or [""])[0]
    text = text.rstrip(" .,")
    if isinstance(error, KeyError):
        # Some texts of transformers' own come as keys, in quotation marks.
        return (f"its configuration: {text.strip(chr(34))}" if " " in text else
                f"its configuration names {text}, which transformers does not have")
    # Texts of transformers' own are sentences; others need the kind of error beside them.
    told = isinstance(error, (ValueError, OSError, ImportError))
    return text if told else f"{type(error).__name__}: {text}"


def _remedy(error: Exception, folder: pathlib.Path, options: dict) -> str:
    """What to do about it."""
    if "gguf_file" in options and isinstance(error, NotImplementedError):
        return "; quantise the model again, to a type that gguf-py reads (Q8_0, Q6_K, Q4_K, ..)"
    if "gguf_file" in options and _mistaken.part(options["gguf_file"]):
        return "; it is one part of several: join them (llama-gguf-split --merge) and import that"
    if "gguf_file" in options:
        return ("; where the file is damaged or cut off, copy it again; of other architectures, "
                "import the folder that the file was made of")
    if packed := _packed.remedy(folder):
        return packed
    if "custom code" in str(error):
        return "; hk runs no code of a folder: save the model with a class of transformers"
    from safetensors import safe_open

    for file in sorted(folder.glob("*.safetensors")):
        if _mistaken.pointer(file):
            return f"; '{file.name}' is Git LFS' pointer to the weights: git lfs pull fetches them"
        try:
            with safe_open(file, "pt"):
                pass
        except Exception:  # noqa: BLE001 - this is the damaged one
            return f"; '{file.name}' is damaged or cut off: copy it again"
    return "; look at config.json and the files beside it"


def _unpacked(reader: typing.Any, config: typing.Any, folder: str) -> typing.Any:
    """The model of a folder with packed weights."""
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
    _packed.require_used(loaded["unexpected_keys"], folder)
    _packed.remember(model, reading)
    return model.eval()


def read_tokenizer(path: str | os.PathLike) -> typing.Any:
    """The tokenizer beside the model."""
    import transformers

    folder, options = _parts(path)
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, **options)
    except Exception as error:  # Whatever is wrong with files of others is raised as anything.
        raise UnsupportedModel(f"'{path}' has no tokenizer that transformers reads: {_why(error)}; "
                               "copy tokenizer.json and tokenizer_config.json of the model there, "
                               "or call its function with ids (hk.Decoder)") from error


def read_stops(path: str | os.PathLike) -> set[int]:
    """The tokens behind which the model's text ends: those of generation_config.json, which may
    name several, else of its configuration."""
    import transformers

    folder, options = _parts(path)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **options)
        said = config.get_text_config().eos_token_id
        if "gguf_file" not in options and (pathlib.Path(folder) / "generation_config.json").exists():
            own = transformers.GenerationConfig.from_pretrained(folder, local_files_only=True)
            said = said if own.eos_token_id is None else own.eos_token_id
    except Exception as error:  # As above.
        raise UnsupportedModel(f"transformers cannot read the configuration of '{path}': "
                               f"{_why(error)}; look at config.json and generation_config.json"
                               ) from error
    return {int(token) for token in (said if isinstance(said, list) else [said])
            if token is not None}
