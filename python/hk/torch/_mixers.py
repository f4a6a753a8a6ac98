"""Finds the layer of a model that lets tokens see each other by means that hk does not know, for
the text of a refusal."""

import contextlib
import typing

import torch

from ._recurrent import FUNCTIONS


class _Call(typing.NamedTuple):
    """A call of a module on the rows of tokens [1, n, H]; `hk`: what hk knows ran inside."""

    name: str
    module: torch.nn.Module
    args: tuple
    kwargs: dict
    known: bool


def _rows(args: tuple, kwargs: dict) -> torch.Tensor | None:
    """The hidden rows that a module gets."""
    x = args[0] if args else kwargs.get("hidden_states")
    return x if isinstance(x, torch.Tensor) and x.dim() == 3 and x.is_floating_point() else None


def _called(call: _Call, x: torch.Tensor) -> torch.Tensor | None:
    args = (x, *call.args[1:]) if call.args else ()
    kwargs = call.kwargs if call.args else call.kwargs | {"hidden_states": x}
    made = call.module(*args, **kwargs)
    made = made[0] if isinstance(made, tuple) else made
    return made if isinstance(made, torch.Tensor) and made.shape[:2] == x.shape[:2] else None


def _mixes(call: _Call) -> bool:
    """Whether the last token's row changes with that of the one before."""
    x = _rows(call.args, call.kwargs)
    changed = x.clone()
    changed[:, -2] += 1.0
    a, b = _called(call, x), _called(call, changed)
    return a is not None and b is not None and not torch.equal(a[:, -1], b[:, -1])


def _recorded(model: torch.nn.Module, s: typing.Any, vocabulary: int) -> list[_Call]:
    calls: list[_Call] = []
    before: list[int] = []
    names = {m: n for n, m in model.named_modules()}

    def seen() -> int:
        return s.attentions + len(s.recurrent.states)

    def enter(module, args, kwargs):
        before.append(seen())

    def leave(module, args, kwargs, _out):
        known = seen() != before.pop()
        if (x := _rows(args, kwargs)) is not None and x.shape[1] == 6:
            calls.append(_Call(names[module], module, args, kwargs, known))

    hooks = []
    for module in names:
        hooks.append(module.register_forward_pre_hook(enter, with_kwargs=True))
        hooks.append(module.register_forward_hook(leave, with_kwargs=True))
    try:
        s.begin()
        model(input_ids=torch.arange(6)[None] % vocabulary)
    finally:
        for hook in hooks:
            hook.remove()
    return calls


@contextlib.contextmanager
def _without_convolutions() -> typing.Iterator[None]:
    """Short convolutions, which may be parts of such a layer, do not mix tokens for as long."""
    saved = dict(FUNCTIONS)
    FUNCTIONS["causal_conv1d_fn"] = lambda _s, x, *_a, **_k: x
    try:
        yield
    finally:
        FUNCTIONS.update(saved)


def find(model: torch.nn.Module, s: typing.Any, vocabulary: int) -> str | None:
    """"model.layers.0.mixer (MambaMixer)", the innermost such module; None where there is none
    that takes rows of tokens. Modules end before those that call them do. To be called while `s` is
    active."""
    try:
        s.extents = torch.tensor([6] if s.dense else [0, 6], dtype=torch.int32)
        with torch.no_grad(), _without_convolutions():
            for call in _recorded(model, s, vocabulary):
                if not call.known and _mixes(call):
                    return f"{call.name} ({type(call.module).__name__})"
    except Exception:  # noqa: BLE001 - it is for a text only
        return None
    return None
