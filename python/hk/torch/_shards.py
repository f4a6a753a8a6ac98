"""The safetensors files of a model's folder."""

import json
import pathlib


def shards(folder: pathlib.Path) -> list[pathlib.Path]:
    """As transformers finds them: the one file, else those of the index; else all that there are,
    since packers name theirs as they like."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.exists():
        return [single]
    if index.exists():
        names = set(json.loads(index.read_text())["weight_map"].values())
        # A name that leads out of the folder does not.
        return [folder / pathlib.Path(name).name for name in sorted(names)]
    return sorted(folder.glob("*.safetensors"))
