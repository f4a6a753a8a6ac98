"""Finds modules that compute an rms_norm by running them on random data."""

import contextlib
import inspect
import typing

import torch

from . import _replaced
from ._leaves import rms_norm_formula


class NormVariant(typing.NamedTuple):
    """The attributes of hk.rms_norm that give a module's results bit for bit."""

    epsilon: float
    offset: float
    round_before_weight: bool


def _parameters(module: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return dict(module.named_parameters(recurse=False))


def is_candidate(module: torch.nn.Module) -> bool:
    """A module without children, with one vector at most, whose forward takes one tensor."""
    parameters = _parameters(module)
    if (next(module.children(), None) is not None or len(parameters) > 1
            or "norm" not in type(module).__name__.lower()
            or isinstance(module, torch.nn.LayerNorm)):
        return False
    if any(p.dim() != 1 for p in parameters.values()):
        return False
    required = [p for p in inspect.signature(module.forward).parameters.values()
                if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(required) == 1


@contextlib.contextmanager
def _random_weight(module: torch.nn.Module, dtype: torch.dtype
                   ) -> typing.Iterator[torch.Tensor | None]:
    """The module's vector, random for as long: ones would hide how it is used."""
    parameters = _parameters(module)
    if not parameters:
        yield None
        return
    parameter = next(iter(parameters.values()))
    saved = parameter.data
    generator = torch.Generator().manual_seed(1)
    parameter.data = torch.randn(saved.shape, generator=generator).to(dtype)
    try:
        yield parameter.data
    finally:
        parameter.data = saved


def _epsilons(module: torch.nn.Module) -> list[float]:
    """Numbers of the module that may be its epsilon; 0 is one that has none."""
    values = [v for v in vars(module).values() if isinstance(v, float) and 0 < v < 1]
    return values or [torch.finfo(torch.float32).eps]


def _width(module: torch.nn.Module) -> int:
    parameters = _parameters(module)
    return next(iter(parameters.values())).shape[0] if parameters else 24


def probe(module: torch.nn.Module, around: typing.Callable | None = None,
          original: typing.Callable | None = None) -> NormVariant | None:
    """The variant that equals the module on random rows in f32 and bf16, or None. `around(norm,
    x)` is what a module computes that is more than a norm, `original(x)` how it is called."""
    around, original = around or (lambda norm, x: norm(x)), original or module
    fitting = [NormVariant(e, o, r) for e in _epsilons(module) for o in (0.0, 1.0)
               for r in ((True, False) if o == 0.0 else (False,))]
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16):
        with _random_weight(module, dtype) as weight, torch.no_grad():
            # Small rows show where epsilon is added, off-centre ones a subtracted mean.
            scale = torch.tensor([1.0, 1e-3, 30.0, 0.05])[:, None]
            x = torch.randn(4, _width(module), generator=generator) * scale + 0.3 * scale
            x = x.to(dtype)
            try:
                expected = original(x)
            except Exception:  # noqa: BLE001 - not a norm of rows, whatever it says
                return None
            fitting = [v for v in fitting
                       if expected.dtype == dtype
                       and torch.equal(around(lambda r, v=v, w=weight: rms_norm_formula(r, w, *v),
                                              x), expected)]
    return fitting[0] if fitting else None


def substitute(model: torch.nn.Module) -> tuple[dict, list[str]]:
    """Variants of the norms by module, and the names of candidates that fit none."""
    found, refused = {}, []
    for name, module in model.named_modules():
        if not is_candidate(module):
            continue
        variant = probe(module)
        if variant is None:
            refused.append(f"{name} ({type(module).__name__})")
        else:
            found[module] = variant
    return found, refused


def active(norms: dict[torch.nn.Module, NormVariant]) -> contextlib.AbstractContextManager:
    """The modules call torch.ops.hk.rms_norm for as long."""
    def norm(module: torch.nn.Module, variant: NormVariant) -> typing.Callable:
        weight = next(iter(_parameters(module)), None)

        def forward(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
            w = getattr(self, weight) if weight else None
            return torch.ops.hk.rms_norm(x, w, *variant)
        return forward

    return _replaced.methods("forward", {m: norm(m, variant) for m, variant in norms.items()})
