"""What a model's modules say of themselves, as far as a run changes it.

Some models choose how they compute by the first sequence that they see and stay with it (BigBird,
whose sparse attention takes long ones only). A graph that was made of such a run says nothing of
longer sequences, and no guard of torch.export does.
"""

import torch

from ..errors import UnsupportedModel

Settings = dict[tuple[str, str], str | bool]


def settings(model: torch.nn.Module) -> Settings:
    """Words and truth values by module and name."""
    return {(module, name): value for module, m in model.named_modules()
            for name, value in vars(m).items() if isinstance(value, (str, bool))}


def require_same(model: torch.nn.Module, before: Settings, tokens: int) -> None:
    """Raises UnsupportedModel where a run of so many tokens has changed one."""
    after = settings(model)
    for (module, name), value in before.items():
        if (now := after.get((module, name), value)) != value:
            raise UnsupportedModel(
                f"{type(model).__name__}: a run of {tokens} tokens changes {name} of "
                f"{module or 'the model'} from {value!r} to {now!r}: how it computes depends on "
                "how long sequences are, which a graph does not. Choose one way for all: where the "
                f"configuration has it, set {name} to {now!r} (in config.json, or model.config "
                "before the model is made)")
