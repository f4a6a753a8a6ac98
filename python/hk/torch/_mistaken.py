"""What users name in place of a model's folder, by what lies there, and how to come by a folder."""

import json
import pathlib
import re

LFS = b"version https://git-lfs"


def absent(path: pathlib.Path) -> str:
    """What to do about a path where nothing is: it may be the name of a model on a hub."""
    if re.fullmatch(r"[\w.-]+/[\w.-]+", str(path)) and not path.parent.exists():
        return (f"hk reads models from disk and fetches none: hf download {path} --local-dir "
                f"{path.name}, and name that folder (models that ask for consent: hf auth login first)")
    return "hk reads models from disk and fetches none"


def _adapter(folder: pathlib.Path) -> str:
    try:
        base = json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        base = "its base model"
    return (f"it is an adapter (LoRA) of {base}: merge it into that with peft "
            "(merge_and_unload()), save_pretrained the result and import that")


# A file that a folder has, and what the folder is then.
FOLDERS = {
    "adapter_config.json": _adapter,
    "model_index.json": lambda _: "it is a pipeline of diffusers: name the folder of one of its "
                                  "models of text (text_encoder), and import others with "
                                  "hk.torch.export_module",
    "params.json": lambda _: "it has weights in the format of their maker (params.json): take the "
                             "model in transformers' format, a folder with a config.json"}


def no_model(path: pathlib.Path) -> str:
    """What to do about a path that is neither a folder with a config.json nor a GGUF file."""
    if path.is_file() and (path.parent / "config.json").exists():
        return f"name the folder that it lies in, '{path.parent}'"
    found = next((say(path) for name, say in FOLDERS.items() if (path / name).exists()), None)
    return found or "hk import also takes NAME.onnx"


def pointer(file: pathlib.Path) -> bool:
    """Whether a file of weights is what Git has in the place of a large file."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(LFS)) == LFS
    except OSError:  # A link to nothing, or a folder of that name.
        return False


def part(name: str) -> bool:
    """Whether a GGUF file is one of several that are one model."""
    return re.search(r"-\d{5}-of-(?!00001)\d{5}\.gguf$", name, re.IGNORECASE) is not None
