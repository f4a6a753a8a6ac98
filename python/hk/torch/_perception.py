"""Models of images, through export_module: the function takes what the model's processor makes.

transformers says what a model's first input is called. Of one that takes pixels, sizes are in its
configuration; the number of images is dynamic, and all tensors that the model returns are results.
"""

import inspect
import typing

import torch

from ..errors import UnsupportedModel
from ._signature import HEADS


class Perception(torch.nn.Module):
    """The model as a function of its first input."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, pixel_values: torch.Tensor) -> dict[str, torch.Tensor]:
        made = self.model(pixel_values)
        return {HEADS.get(name, name): value for name, value in made.items()
                if isinstance(value, torch.Tensor)}


def takes_no_ids(model: typing.Any) -> bool:
    """Whether a model's first input are not the ids of tokens alone."""
    return (getattr(model, "main_input_name", "input_ids") != "input_ids"
            or encodes_and_decodes(model))


def encodes_and_decodes(model: typing.Any) -> bool:
    """Whether a model takes tokens for its encoder and others for its decoder."""
    return "decoder_input_ids" in inspect.signature(model.forward).parameters


def example(model: typing.Any) -> torch.Tensor:
    """Random pixels of the sizes that the configuration has."""
    name, kind, config = model.main_input_name, type(model).__name__, model.config
    size = getattr(config, "image_size", None)
    if encodes_and_decodes(model):
        raise UnsupportedModel(f"{kind} is an encoder with a decoder; hk's import of folders has "
                               "decoders and encoders. Import it, or each of its halves, with "
                               "hk.torch.export_module and an example of its tensors")
    if name != "pixel_values" or size is None:
        raise UnsupportedModel(f"{kind} takes {name}, of sizes that its configuration does not "
                               "have; import it with hk.torch.export_module and an example")
    sizes = [size, size] if isinstance(size, int) else list(size)
    frames = [config.num_frames] if hasattr(config, "num_frames") else []
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, *frames, getattr(config, "num_channels", 3), *sizes, generator=generator)
