"""Norms, alone and with residuals and quantisation."""

# Names of arguments are AITER's.
# ruff: noqa: A002, N803

import torch

from ._run import element, op, rows, run, unsupported


def _like(input: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
    return torch.empty_like(input)


def _rms(input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    out = torch.empty_like(input)
    run(f"%out = hk.rms_norm %x, %w epsilon {epsilon:.9e} : {{x}}, {{w}}",
        {"x": rows(input), "w": weight}, {"out": rows(out)}, dynamic={"w": 0})
    return out


@op(fake=_like)
def rms_norm(input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """x / sqrt(mean(x^2) + epsilon) * weight along the last dim, rounded once."""
    return _rms(input, weight, epsilon)


@op(fake=_like)
def rmsnorm2d_fwd(input: torch.Tensor, weight: torch.Tensor, epsilon: float,
                  use_model_sensitive_rmsnorm: int = 0) -> torch.Tensor:
    """rms_norm."""
    unsupported("rmsnorm2d_fwd", use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    return _rms(input, weight, epsilon)


@op(mutates=("out", "residual_out"))
def rmsnorm2d_fwd_with_add(out: torch.Tensor, input: torch.Tensor,
                           residual_in: torch.Tensor, residual_out: torch.Tensor,
                           weight: torch.Tensor, epsilon: float, gemma_norm: bool = False,
                           use_model_sensitive_rmsnorm: int = 0) -> None:
    """residual_out = input + residual_in; out = rms_norm of that; `gemma_norm`: by 1 + weight."""
    unsupported("rmsnorm2d_fwd_with_add",
                use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    offset = " weight_offset 1.0" if gemma_norm else ""
    run(f"""%sum = hk.add %x, %r : {{x}}
            %out = hk.rms_norm %sum, %w epsilon {epsilon:.9e}{offset} : {{x}}, {{w}}""",
        {"x": rows(input), "r": rows(residual_in), "w": weight},
        {"out": rows(out), "sum": rows(residual_out)}, dynamic={"w": 0})


def _wide(value: torch.Tensor) -> str:
    return f"tensor<?x{value.shape[-1]}xf32>"


def _widened(name: str, value: torch.Tensor) -> tuple[str, str]:
    """%name in f32: the cast, empty if it is, and the name of its result."""
    wide = _wide(value)
    narrow = wide.replace("f32", element(value.dtype))
    if narrow == wide:
        return "", f"%{name}"
    return f"%wide = hk.cast %{name} : {narrow} -> {wide}", "%wide"


@op(mutates=("out", "yscale"))
def rmsnorm2d_fwd_with_dynamicquant(out: torch.Tensor, input: torch.Tensor,
                                    yscale: torch.Tensor, weight: torch.Tensor, epsilon: float,
                                    use_model_sensitive_rmsnorm: int = 0) -> None:
    """rms_norm in f32, quantised per row: yscale = max |y| / the largest number of out's type."""
    unsupported("rmsnorm2d_fwd_with_dynamicquant",
                use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    x, wide = rows(input), _wide(input)
    cast, value = _widened("x", x)
    run(f"""{cast}
            %y = hk.rms_norm {value}, %w epsilon {epsilon:.9e} : {wide}, {{w}}
            %out, %scale = hk.quantize per_token %y : {wide} -> {{out}}, {{scale}}""",
        {"x": x, "w": weight}, {"out": rows(out), "scale": yscale.view(-1, 1)}, dynamic={"w": 0})


@op(mutates=("out", "residual_out", "yscale"))
def rmsnorm2d_fwd_with_add_dynamicquant(out: torch.Tensor, input: torch.Tensor,
                                        residual_in: torch.Tensor, residual_out: torch.Tensor,
                                        yscale: torch.Tensor, weight: torch.Tensor, epsilon: float,
                                        use_model_sensitive_rmsnorm: int = 0) -> None:
    """residual_out = input + residual_in, then rmsnorm2d_fwd_with_dynamicquant of that."""
    unsupported("rmsnorm2d_fwd_with_add_dynamicquant",
                use_model_sensitive_rmsnorm=(use_model_sensitive_rmsnorm, 0))
    x, wide = rows(input), _wide(input)
    cast, value = _widened("sum", x)
    run(f"""%sum = hk.add %x, %r : {{x}}
            {cast}
            %y = hk.rms_norm {value}, %w epsilon {epsilon:.9e} : {wide}, {{w}}
            %out, %scale = hk.quantize per_token %y : {wide} -> {{out}}, {{scale}}""",
        {"x": x, "r": rows(residual_in), "w": weight},
        {"out": rows(out), "sum": rows(residual_out), "scale": yscale.view(-1, 1)},
        dynamic={"w": 0})


def _layer(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor,
           epsilon: float) -> torch.Tensor:
    out = torch.empty_like(input)
    run(f"%out = hk.layer_norm %x, %w, %b epsilon {epsilon:.9e} : {{x}}, {{w}}, {{b}}",
        {"x": rows(input), "w": weight, "b": bias}, {"out": rows(out)}, dynamic={"w": 0, "b": 0})
    return out


@op(fake=_like)
def layer_norm(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor,
               epsilon: float = 1e-5, x_bias: torch.Tensor | None = None) -> torch.Tensor:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias along the last dim."""
    unsupported("layer_norm", x_bias=(x_bias, None))
    return _layer(input, weight, bias, epsilon)


@op(fake=_like)
def layernorm2d_fwd(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor,
                    epsilon: float = 1e-5, x_bias: torch.Tensor | None = None) -> torch.Tensor:
    """layer_norm."""
    unsupported("layernorm2d_fwd", x_bias=(x_bias, None))
    return _layer(input, weight, bias, epsilon)


@op(mutates=("out", "residual_out"))
def layernorm2d_fwd_with_add(out: torch.Tensor, input: torch.Tensor,
                             residual_in: torch.Tensor, residual_out: torch.Tensor,
                             weight: torch.Tensor, bias: torch.Tensor, epsilon: float,
                             x_bias: torch.Tensor | None = None) -> None:
    """residual_out = input + residual_in; out = layer_norm of that."""
    unsupported("layernorm2d_fwd_with_add", x_bias=(x_bias, None))
    run(f"""%sum = hk.add %x, %r : {{x}}
            %out = hk.layer_norm %sum, %w, %b epsilon {epsilon:.9e} : {{x}}, {{w}}, {{b}}""",
        {"x": rows(input), "r": rows(residual_in), "w": weight, "b": bias},
        {"out": rows(out), "sum": rows(residual_out)}, dynamic={"w": 0, "b": 0})
