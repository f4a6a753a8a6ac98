"""Rotary embeddings: tables instead of cosines of positions, hk.rope instead of slices.

A model's rotary module gives (cos, sin), which its layers hand to a function of the model's
file, `apply_rotary_pos_emb`. In the eager run both compute what they always do, and the
style is found by comparing. In the export the module gives a Table, which the function
takes.
"""

import sys
import typing

import torch

from ..errors import UnsupportedModel
from ._leaves import half_table, rope_formula

FUNCTION = "apply_rotary_pos_emb"


class Variant(typing.NamedTuple):
    """Which elements make a pair, and where a table has the angle of each pair."""

    style: str
    layout: str


_VARIANTS = [Variant(s, t) for s in ("neox", "gptj") for t in ("halves", "pairs", "single")]


class Table:
    """Stands for cos or sin between a rotary module and the rope: `key` names the table."""

    def __init__(self, key: tuple, positions: torch.Tensor):
        self.key, self.positions = key, positions

    def __getattr__(self, name: str) -> typing.NoReturn:
        raise UnsupportedModel(f"the model computes with its rotary table (.{name}) outside of "
                               f"{FUNCTION}; hk knows the table only there")


def is_rotary(module: torch.nn.Module) -> bool:
    """A module of inverse frequencies, which gives cos and sin."""
    return (next(module.children(), None) is None
            and any(n.endswith("inv_freq") for n, _ in module.named_buffers(recurse=False)))


class Rotary:
    """The rotary modules of a model and how their tables are used."""

    def __init__(self, model: torch.nn.Module, context: int):
        self.context = context
        self.modules = {name: m for name, m in model.named_modules() if is_rotary(m)}
        self.owners = {sys.modules[type(m).__module__] for m in model.modules()
                       if hasattr(sys.modules.get(type(m).__module__), FUNCTION)}
        self.variants: dict[tuple, Variant] = {}
        self.tables: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}
        self.refused: list[str] = []
        self._made: list[tuple] = []
        self._saved: list = []

    def _fit(self, original: typing.Callable, args: tuple, kwargs: dict) -> typing.Any:
        """Runs the function and looks which variant gives its values."""
        result = original(*args, **kwargs)
        q, k, cos, sin = args[:4]
        key = next((key for key, table in self._made if table is cos), None)
        if key is None:
            return result
        dim = kwargs.get("unsqueeze_dim", args[4] if len(args) > 4 else 1)
        candidates = [self.variants[key]] if key in self.variants else _VARIANTS
        for variant in candidates:
            c = half_table(cos, variant.layout).unsqueeze(dim)
            s = half_table(sin, variant.layout).unsqueeze(dim)
            same = all(2 * c.shape[-1] <= x.shape[-1] and torch.allclose(
                rope_formula(x, c, s, variant.style), y, rtol=2.0**-22,
                atol=2.0**-22 * float(x.abs().max())) for x, y in ((q, result[0]), (k, result[1])))
            if same:
                self.variants[key] = variant
                return result
        raise UnsupportedModel(f"{FUNCTION} of {original.__module__}: fits neither neox nor gptj "
                               "pairs with one angle per pair; hk.rope has no such form")

    def _replace(self, module: typing.Callable, function: typing.Callable) -> None:
        """Replaces every rotary module's forward and every file's function."""
        for name, rotary in self.modules.items():
            self._saved.append((rotary, "forward", rotary.__dict__.get("forward")))
            rotary.forward = module(name, rotary.forward)
        for owner in self.owners:
            original = getattr(owner, FUNCTION)
            self._saved.append((owner, FUNCTION, original))
            setattr(owner, FUNCTION, function(original))

    def restore(self) -> None:
        """Gives back what was replaced."""
        for owner, name, value in reversed(self._saved):
            if value is None:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._saved.clear()

    def observe(self) -> None:
        """For the eager run: look, change nothing."""
        def module(name, original):
            def forward(x, position_ids, *rest, **kwargs):
                cos, sin = original(x, position_ids, *rest, **kwargs)
                key = (name, *rest, *sorted(kwargs.items()))
                self._made.append((key, cos))
                return cos, sin
            return forward

        self._replace(module, lambda original: lambda *a, **k: self._fit(original, a, k))

    def make_tables(self, config: typing.Any) -> None:
        """Evaluates every table that a fitted function used, on all positions."""
        positions = torch.arange(self.context)[None]
        for key, variant in self.variants.items():
            name, *rest = key
            kwargs = dict(r for r in rest if isinstance(r, tuple))
            kind = self.modules[name].rope_type if hasattr(self.modules[name], "rope_type") else ""
            kinds = kind.values() if isinstance(kind, dict) else [kind]
            if {"dynamic", "longrope"} & set(kinds):
                raise UnsupportedModel(f"{name}: rope_type {', '.join(kinds)} depends on the "
                                       "length of the sequence; hk takes one table. Import it "
                                       "with the configuration's rope_type set to default")
            cos, sin = self.modules[name](torch.zeros(1), positions,
                                          *(r for r in rest if not isinstance(r, tuple)), **kwargs)
            self.tables[key] = tuple(half_table(t[0], variant.layout).contiguous()
                                     for t in (cos, sin))
        self._made.clear()

    def substitute(self) -> None:
        """For the export: tables and torch.ops.hk.rope."""
        def module(name, original):
            def forward(x, position_ids, *rest, **kwargs):
                key = (name, *rest, *sorted(kwargs.items()))
                if key not in self.variants:
                    return original(x, position_ids, *rest, **kwargs)
                table = Table(key, position_ids)
                return table, table
            return forward

        def function(original):
            def apply(q, k, cos, sin, *rest, **kwargs):
                if not isinstance(cos, Table):
                    return original(q, k, cos, sin, *rest, **kwargs)
                dim = kwargs.get("unsqueeze_dim", rest[0] if rest else 1)
                c, s = self.tables[cos.key]
                style = self.variants[cos.key].style
                return tuple(torch.ops.hk.rope(x, c, s, cos.positions, style, dim)
                             for x in (q, k))
            return apply

        self._replace(module, function)
