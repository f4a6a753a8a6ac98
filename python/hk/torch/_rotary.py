"""Rotary embeddings: tables instead of cosines of positions, hk.rope instead of slices.

A model's rotary module gives (cos, sin), or both as a complex number, which its layers hand to
a function of the model's file, one of FUNCTIONS, behind queries and keys or one of them. In the
eager run both compute what they always do, and the style is found by comparing. In the export the
module gives a Table, which the function takes.
"""

import sys
import typing

import torch

from ..errors import UnsupportedModel
from ._leaves import half_table, rope_formula

FUNCTIONS = ("apply_rotary_pos_emb", "apply_rotary_pos_emb_interleave", "apply_rotary_emb")


class Variant(typing.NamedTuple):
    """Which elements make a pair, where a table has the angle of each pair, which way it turns,
    and the dim of heads."""

    style: str
    layout: str
    turn: int
    heads: int


def _variants(heads: typing.Sequence[int]) -> list[Variant]:
    return [Variant(s, t, turn, dim) for turn in (1, -1) for s in ("neox", "gptj")
            for t in ("halves", "pairs", "single") for dim in heads]


class Rows(typing.NamedTuple):
    """A function of rows and of cos and sin for each of them; the places of its arguments."""

    variant: Variant
    cos: int
    sin: int

    def __call__(self, *args: torch.Tensor) -> torch.Tensor:
        cos, sin = (half_table(args[at], self.variant.layout) for at in (self.cos, self.sin))
        return torch.ops.hk.rope_rows(args[0], cos, self.variant.turn * sin, self.variant.style,
                                      self.variant.heads)


class Table:
    """Stands for cos or sin between a rotary module and the rope: `key` names the table."""

    def __init__(self, key: tuple, positions: torch.Tensor):
        self.key, self.positions = key, positions

    def __getattr__(self, name: str) -> typing.NoReturn:
        raise UnsupportedModel(f"the model computes with its rotary table (.{name}) outside of "
                               f"{', '.join(FUNCTIONS)}; hk knows the table only there")

    def to(self, *_: object, **__: object) -> "Table":
        return self


def is_rotary(module: torch.nn.Module) -> bool:
    """A module of inverse frequencies, which gives cos and sin."""
    return (next(module.children(), None) is None
            and any(n.endswith("inv_freq") for n, _ in module.named_buffers(recurse=False)))


def _cos_sin(made: typing.Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What a rotary module gives, apart."""
    return (made.real, made.imag) if isinstance(made, torch.Tensor) else tuple(made)


def _spreads(table: torch.Size, rows: torch.Size) -> bool:
    """Whether a table's rows broadcast to these."""
    return len(table) == len(rows) and all(t in (1, r) for t, r in zip(table, rows, strict=True))


def _is_rope(x: torch.Tensor, y: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, style: str
             ) -> bool:
    """Whether y is hk.rope of x; with neighbours as pairs perhaps all first ones in front of all
    second ones: queries and keys alike, and attention sees only their products."""
    if 2 * cos.shape[-1] > x.shape[-1] or not _spreads(cos.shape[:-1], x.shape[:-1]):
        return False
    made = rope_formula(x, cos, sin, style)
    forms = [made]
    if style == "gptj" and 2 * cos.shape[-1] == x.shape[-1]:
        forms.append(torch.cat((made[..., ::2], made[..., 1::2]), -1))
    atol = 2.0**-22 * float(x.abs().max())
    return any(torch.allclose(f, y, rtol=2.0**-22, atol=atol) for f in forms)


def _text_positions(positions: torch.Tensor) -> torch.Tensor:
    """Positions [B, T]. Models of text and images have three kinds [3, B, T], which of text are
    one, repeated."""
    if positions.dim() == 2:
        return positions
    if positions.dim() != 3 or positions.stride(0) != 0:
        raise UnsupportedModel(f"positions of shape {list(positions.shape)} that differ by kind; "
                               "hk's import takes those of text")
    return positions[0]


class Rotary:
    """The rotary modules of a model and how their tables are used."""

    def __init__(self, model: torch.nn.Module, context: int):
        self.context = context
        self.modules = {name: m for name, m in model.named_modules() if is_rotary(m)}
        files = {sys.modules[type(m).__module__] for m in model.modules()
                 if type(m).__module__ in sys.modules}
        self.functions = [(f, n) for f in files for n in FUNCTIONS if hasattr(f, n)]
        self.variants: dict[tuple, Variant] = {}  # By what a module gives, and the function.
        self.rows: dict[typing.Callable, Rows] = {}
        self.tables: dict[tuple, tuple[torch.Tensor, torch.Tensor]] = {}
        self.whole: set[str] = set()  # Modules that give one complex tensor.
        self._made: list[tuple] = []
        self._saved: list = []

    def _fit(self, original: typing.Callable, args: tuple, kwargs: dict) -> typing.Any:
        """Runs the function and looks which variant gives its values."""
        result = original(*args, **kwargs)
        key, at = next(((key, at) for key, made in self._made for at in (1, 2)
                        if any(a is table for a in args[at:at + 1] for table in made)), (None, 0))
        if key is None:
            self._fit_rows(original, args, result)
            return result
        if args[at].is_complex():
            cos, sin, rest = *_cos_sin(args[at]), args[at + 1:]
        else:
            cos, sin, rest = args[at], args[at + 1], args[at + 2:]
        dim = kwargs.get("unsqueeze_dim", rest[0] if rest else None)
        use = (key, original.__name__)
        candidates = ([self.variants[use]] if use in self.variants
                      else _variants((1, 2) if dim is None else (dim,)))
        for variant in candidates:
            c, s = (half_table(t, variant.layout).unsqueeze(variant.heads)
                    for t in (cos, variant.turn * sin))
            if all(_is_rope(x, y, c, s, variant.style)
                   for x, y in zip(args[:at], result if at == 2 else (result,), strict=True)):
                self.variants[use] = variant
                return result
        raise UnsupportedModel(f"{original.__name__} of {original.__module__}: fits neither neox "
                               "nor gptj pairs with one angle per pair; hk.rope has no such form")

    def _fit_rows(self, original: typing.Callable, args: tuple, result: typing.Any) -> None:
        """Looks whether a function turns its first argument by angles that are its other two,
        cos and sin in any order, with a row for each token."""
        if (len(args) != 3 or not all(isinstance(a, torch.Tensor) for a in (*args, result))
                or args[1].dim() != 3 or result.shape != args[0].shape):
            return
        for cos, sin in ((1, 2), (2, 1)):
            for variant in _variants((1, 2)):
                c, s = (half_table(t.float(), variant.layout).unsqueeze(variant.heads)
                        for t in (args[cos], variant.turn * args[sin]))
                if variant.heads < args[0].dim() and _is_rope(args[0], result, c, s, variant.style):
                    self.rows[original] = Rows(variant, cos, sin)
                    return

    def _replace(self, module: typing.Callable, function: typing.Callable) -> None:
        """Replaces every rotary module's forward and every file's function."""
        for name, rotary in self.modules.items():
            self._saved.append((rotary, "forward", rotary.__dict__.get("forward")))
            rotary.forward = module(name, rotary.forward)
        for owner, name in self.functions:
            original = getattr(owner, name)
            self._saved.append((owner, name, original))
            setattr(owner, name, function(original))

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
                made = original(x, position_ids, *rest, **kwargs)
                key = (name, *rest, *sorted(kwargs.items()))
                self._made.append((key, (made,) if isinstance(made, torch.Tensor) else made))
                return made
            return forward

        self._replace(module, lambda original: lambda *a, **k: self._fit(original, a, k))

    def make_tables(self) -> None:
        """Evaluates every table that a fitted function used, on all positions."""
        for (key, function), variant in self.variants.items():
            name, *rest = key
            made = self._evaluated(name, rest, self.context)
            # Types that depend on the length (dynamic, longrope) change the table beyond one.
            if not self._is_that_of_short(made, name, rest):
                longest = self._longest(name, rest)
                raise UnsupportedModel(f"{name}: its table for {self.context} positions is not "
                                       "that for shorter sequences (rope_type dynamic or longrope "
                                       "beyond its original length), and hk takes one table. "
                                       f"Import it with a context of at most {longest} "
                                       f"(--context={longest})")
            cos, sin = _cos_sin(made)
            self.tables[key, function] = tuple(half_table(t[0], variant.layout).contiguous()
                                     for t in (cos, variant.turn * sin))
            if isinstance(made, torch.Tensor):
                self.whole.add(name)
        self._made.clear()

    def _is_that_of_short(self, made: typing.Any, name: str, rest: list) -> bool:
        """Whether a table begins as that for two positions does."""
        short = _cos_sin(self._evaluated(name, rest, 2))
        return all(torch.equal(a[:, :2], b) for a, b in zip(_cos_sin(made), short, strict=True))

    def _longest(self, name: str, rest: list) -> int:
        """The most positions of which the table is that of shorter sequences."""
        low, high = 2, self.context
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_that_of_short(self._evaluated(name, rest, middle), name, rest):
                low = middle
            else:
                high = middle
        return low

    def _evaluated(self, name: str, rest: list, length: int) -> typing.Any:
        """What a rotary module gives for the first positions of a sequence of this length."""
        return self.modules[name](torch.zeros(1), torch.arange(length)[None],
                                  *(r for r in rest if not isinstance(r, tuple)),
                                  **dict(r for r in rest if isinstance(r, tuple)))

    def substitute(self) -> None:
        """For the export: tables and torch.ops.hk.rope."""
        def module(name, original):
            def forward(x, position_ids, *rest, **kwargs):
                key = (name, *rest, *sorted(kwargs.items()))
                if all(key != k for k, _ in self.variants):
                    return original(x, position_ids, *rest, **kwargs)
                table = Table(key, _text_positions(position_ids))
                return table if name in self.whole else (table, table)
            return forward

        def function(original):
            def apply(*args, **kwargs):
                at = next((i for i in (1, 2) if isinstance(args[i], Table)), 0)
                if not at:
                    return self.rows.get(original, original)(*args, **kwargs)
                table = args[at]
                use = (table.key, original.__name__)
                (c, s), variant = self.tables[use], self.variants[use]
                made = [torch.ops.hk.rope(x, c, s, table.positions, variant.style, variant.heads)
                        for x in args[:at]]
                return tuple(made) if at == 2 else made[0]
            return apply

        self._replace(module, function)
