"""The obligatory check: the compiled module's results beside the model's own.

The reference is the model, weights rounded to the import's type, one precision up (f64 for
f32, f32 for bf16 and f16). The bound is twice the sum of two things that are measured: what
the model itself is off by in the import's type, and what summing K products one after the
other in f32 may be off by, which is as if a weight were off by sqrt(K) roundings (PyTorch
sums in blocks and is off by less; hk.matmul allows any order); and one rounding of the
largest result. Where the two best tokens are closer than that, either may come first.
"""

import copy
import pathlib
import tempfile
import typing

import torch

from .. import module as _module
from .. import tools
from ..decoder import Decoder
from ..errors import CheckFailed
from ._graph import Graph

DECODED = 8


class Report(typing.NamedTuple):
    """What was compared: the largest error of hk and of the model itself, the bound, the
    largest result, how many rows, and of how many the best token is decided and equal."""

    error: float
    own_error: float
    bound: float
    largest: float
    rows: int
    decided: int

    def __str__(self) -> str:
        return (f"largest error {self.error:.2e} (the model's own {self.own_error:.2e}, bound "
                f"{self.bound:.2e}) of {self.largest:.3g}; best token equal in all {self.decided} "
                f"of {self.rows} rows where it is decided")


def _prompts(graph: Graph) -> list[torch.Tensor]:
    """Random ids of unequal lengths, one beyond every window, as far as the context goes."""
    longest = min(max([*graph.windows, 14]) + 3, graph.context)
    lengths = sorted({1, 2, min(11, longest), longest})
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(0, graph.vocabulary, (n,), generator=generator) for n in lengths]


def _run(model: torch.nn.Module, prompt: torch.Tensor, dense: bool) -> torch.Tensor:
    out = model(input_ids=prompt[None])
    return (out.last_hidden_state if dense else out.logits)[0].double()


def _perturb(model: torch.nn.Module) -> None:
    """Every matrix's elements off by sqrt(K) roundings of f32, others by one."""
    generator = torch.Generator().manual_seed(4)
    for p in model.parameters():
        k = p.shape[-1] if p.dim() > 1 else 1
        noise = torch.randn(p.shape, generator=generator, dtype=torch.float32)
        p.mul_(1 + noise.to(p.dtype) * (k**0.5 * 2.0**-24))


def _references(model: torch.nn.Module, prompts: list, dtype: torch.dtype, dense: bool
                ) -> tuple[list, float, float]:
    """Results one precision up, the largest error of the model in its own, that of sums."""
    up = torch.float64 if dtype == torch.float32 else torch.float32
    wide = copy.deepcopy(model).eval().to(dtype)
    with torch.no_grad():
        # Eager attention has every variant (soft caps, sinks) in every precision.
        wide.set_attn_implementation("eager")
        own = [_run(wide, p, dense) for p in prompts]
        wide = wide.to(up)
        references = [_run(wide, p, dense) for p in prompts]
        _perturb(wide)
        perturbed = [_run(wide, p, dense) for p in prompts]
    return references, _difference(own, references), _difference(perturbed, references)


def _difference(a: list, b: list) -> float:
    return max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True))


def _paged(function: typing.Any, prompts: list) -> list[list[torch.Tensor]]:
    """Logits of all prompts in one ragged call, and once more with the last tokens decoded."""
    longest = max(len(p) for p in prompts)
    arrays = [p.numpy() for p in prompts]
    whole = torch.from_numpy(Decoder(function, len(prompts), longest).prefill(arrays, every=True))
    results = [list(whole.double().split([len(p) for p in prompts]))]
    prompt = arrays[-1]
    start = max(len(prompt) - DECODED, 1)
    decoder = Decoder(function, 1, longest)
    rows = [torch.from_numpy(decoder.prefill([prompt[:start]], every=True)).double()]
    rows += [torch.from_numpy(decoder.step(prompt[i:i + 1]).copy()).double()
             for i in range(start, len(prompt))]
    return [*results, [*[None] * (len(prompts) - 1), torch.cat(rows)]]


def _dense(function: typing.Any, prompts: list) -> list[list[torch.Tensor]]:
    ids = torch.nn.utils.rnn.pad_sequence(prompts, batch_first=True).int()
    lens = torch.tensor([len(p) for p in prompts], dtype=torch.int32)
    hidden = function(ids=ids, kv_lens=lens)[0].torch().double()
    return [[h[:len(p)] for h, p in zip(hidden, prompts, strict=True)]]


def check(model: torch.nn.Module, graph: Graph, library: str | pathlib.Path | None = None, *,
          threads: int = 0) -> Report:
    """Compares an imported model with the original; raises CheckFailed.

    `library` is the graph compiled for the host; without, it is compiled into a temporary
    folder.
    """
    dense = graph.signature.dense
    dtype = graph.dtype
    prompts = _prompts(graph)
    references, own, sums = _references(model, prompts, dtype, dense)
    with tempfile.TemporaryDirectory() as folder:
        path = library or tools.compile(graph, pathlib.Path(folder) / "model.so")
        function = _module.load(path, threads=threads)[graph.signature.function]
        found = (_dense if dense else _paged)(function, prompts)
    pairs = [(a, b) for results in found for a, b in zip(results, references, strict=True)
             if a is not None]
    actual, expected = (torch.cat(side) for side in zip(*pairs, strict=True))
    return _judge(actual, expected, own, sums, dtype)


def _judge(actual: torch.Tensor, expected: torch.Tensor, own: float, sums: float,
           dtype: torch.dtype) -> Report:
    largest = float(expected.abs().max())
    bound = 2 * (own + sums) + torch.finfo(dtype).eps * largest
    error = float((actual - expected).abs().nan_to_num(float("inf")).max())
    best = expected.topk(2, -1).values
    decided = best[:, 0] - best[:, 1] > 2 * bound
    equal = actual.argmax(-1) == expected.argmax(-1)
    report = Report(error, own, bound, largest, len(expected), int(decided.sum()))
    if error > bound:
        row = int((actual - expected).abs().nan_to_num(float("inf")).amax(-1).argmax())
        raise CheckFailed(f"row {row} of {len(expected)} is off by {error:.3e}; the bound is "
                          f"{bound:.3e}, the largest result {largest:.3g}. A leaf was replaced "
                          "wrongly or hk computes wrongly: please report the model")
    if not equal[decided].all():
        raise CheckFailed(f"the best token differs in row {int((~equal & decided).nonzero()[0])}")
    return report
