"""The obligatory check: the compiled module's results beside the model's own.

The reference is the model, weights rounded to the import's type, one precision up (f64 for
f32, f32 for bf16 and f16). The bound is twice the sum of two things that are measured: what
the model itself is off by in the import's type, and what summing K products one after the
other in f32 may be off by, which is as if a weight were off by sqrt(K) roundings (PyTorch
sums in blocks and is off by less; hk.matmul allows any order); and one rounding of the
largest result. Where the two best tokens are closer than that, either may come first.

Runs of a mixture of experts are compared with choices alike: those of the reference. Where hk is
beyond the bound, it must have chosen otherwise at a tie, two experts whose scores are closer than
they are known; the reference with the other expert is what counts then, and the report says so
(_ties.py).
"""

import contextlib
import pathlib
import tempfile
import typing
import warnings

import torch

from .. import module as _module
from .. import tools
from ..decoder import Decoder
from ..errors import CheckFailed
from . import _ties
from ._converted import convert
from ._experts import is_experts
from ._graph import Graph, forget_caches, unpadded
from ._plain import Plain, differences
from ._precision import (
    Change,
    computing_in,
    layers,
    numbers_of,
    one_up,
    perturbed,
    shared_copy,
)
from ._signature import Dense
from ._substitution import set_attention
from ._untraced import conversions_that_change, without_partial_graph

DECODED = 8
WHOLE = 1 << 28  # Weights of a model that is converted as a whole: the quickest.
REACHED = 4096  # The widest window that a prompt goes beyond: the model's own scores are f64.


class Report(typing.NamedTuple):
    """What was compared: the largest error of hk and of the model itself, the bound, the
    largest result, how many rows, and of how many the best token is decided and equal (None
    where results are no scores of tokens); the ties of experts that hk decided otherwise."""

    error: float
    own_error: float
    bound: float
    largest: float
    rows: int
    decided: int | None
    ties: tuple[str, ...] = ()

    def __str__(self) -> str:
        errors = (f"largest error {self.error:.2e} (the model's own {self.own_error:.2e}, bound "
                  f"{self.bound:.2e}) of {self.largest:.3g}")
        return "; ".join([
            errors, *self._tokens(), *self._nothing_shown(),
            *(f"a tie of experts decided ({t})" for t in self.ties)])

    def _tokens(self) -> list[str]:
        if self.decided is None:
            return []
        if not self.decided and self.rows:
            return [(f"NO TOKEN WAS COMPARED: 0 of {self.rows} rows decided, the two best tokens "
                     "are nearer than twice the bound in each; a wider type (--dtype=f32) shows "
                     "more")]
        return [f"best token equal in all {self.decided} of {self.rows} rows where it is decided"]

    @property
    def vacuous(self) -> bool:
        """Results of zeros would be within the bound, too; it is infinite where the model gives
        numbers in one of both types only."""
        return self.bound > 0 and self.bound >= self.largest

    def _nothing_shown(self) -> list[str]:
        if not self.vacuous:
            return []
        return [("THE CHECK SHOWS NOTHING: the bound is beyond the largest result, because the "
                 "model itself is that far off in this type")]


def _prompts(graph: Graph) -> list[torch.Tensor]:
    """Random ids of unequal lengths, one beyond every window (but those of more than REACHED), as
    far as the context goes."""
    windows = [w for w in graph.windows if w <= REACHED]
    longest = min(max([*windows, 14]) + 3, graph.context)
    lengths = sorted({1, 2, min(11, longest), longest})
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(0, graph.vocabulary, (n,), generator=generator) for n in lengths]


class _Reference:
    """The model one precision up. `results` are its rows of each prompt, `own` the largest error
    of the model in the import's type, `sums` that of sums in another order; choices of experts
    are alike in all."""

    def __init__(self, model: torch.nn.Module, prompts: list, dtype: torch.dtype, dense: bool):
        self.prompts, self._dense = prompts, dense
        self._up = one_up(dtype)
        self.model = convert(shared_copy(model).eval(), dtype)
        # Eager attention has every variant (soft caps, sinks) in every precision.
        set_attention(self.model, "eager")
        _widest(self.model)
        forget_caches(self.model)
        self._mixture = any(is_experts(m) for m in self.model.modules())
        if self._mixture:
            self.model.set_experts_implementation("eager")
        self._layers = layers(self.model) if sum(
            p.numel() for p in self.model.parameters()) > WHOLE else []
        try:
            self.results, self.choices = self._all(None, self._up)
        except RuntimeError:
            # Something looks at a layer's weights from outside of it.
            self._layers = []
            self.results, self.choices = self._all(None, self._up)
        own, chosen = self._all(self.choices, dtype)
        moved, also = self._all(self.choices, self._up, perturbed)
        self.own = _difference(own, self.results)
        self.sums = _difference(moved, self.results)
        each = [_ties.unsure(made, [a, b]) for made, a, b in
                zip(self.choices, chosen, also, strict=True)]
        self.unsure = [max(calls) for calls in zip(*each, strict=True)]

    def _run(self, prompt: torch.Tensor, made: list | None, swaps: list = ()) -> tuple:
        mode = _ties.Choices(made, swaps) if self._mixture else contextlib.nullcontext()
        with mode, numbers_of(self._up):
            out = self.model(input_ids=prompt[None])
        made = Dense.heads(out) if self._dense else {"": out.logits}
        rows = torch.cat([Dense.rows(name, t[0], len(prompt)) for name, t in made.items()], -1)
        return rows.double(), mode.seen if self._mixture else []

    def _all(self, made: list | None, dtype: torch.dtype, change: Change | None = None
             ) -> tuple[list, list]:
        with computing_in(self.model, dtype, change, self._layers):
            runs = [self._run(p, None if made is None else made[i])
                    for i, p in enumerate(self.prompts)]
        return [rows for rows, _ in runs], [seen for _, seen in runs]

    def explained(self, actual: torch.Tensor, i: int, bound: float) -> tuple[torch.Tensor, list]:
        """The rows of prompt `i` that these are to be compared with, and the ties that hk decided
        otherwise."""
        expected = self.results[i]
        off = float((actual - expected).abs().nan_to_num(float("inf")).max()) > bound
        found = _ties.explain(actual, bound, self.choices[i], self.unsure, lambda swaps:
                              self.swapped(i, swaps)) if off and self._mixture else None
        return found or (expected, [])

    def swapped(self, i: int, swaps: list) -> tuple:
        """The rows of prompt `i` with other experts at some choices, and all choices."""
        with computing_in(self.model, self._up, None, self._layers):
            return self._run(self.prompts[i], None, swaps)


def _widest(model: torch.nn.Module) -> None:
    """GPT-2's option to compute scores in f32, which in f64 is an error, is off."""
    for module in model.modules():
        if getattr(module, "reorder_and_upcast_attn", False):
            module.reorder_and_upcast_attn = False


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
    made = function(ids=ids, kv_lens=lens)._asdict()
    made = {name: t.torch().double() for name, t in made.items()}
    return [[torch.cat([Dense.rows(name, t[i], len(p)) for name, t in made.items()], -1)
             for i, p in enumerate(prompts)]]


def check(model: torch.nn.Module, graph: Graph, library: str | pathlib.Path | None = None, *,
          threads: int = 0) -> Report:
    """Compares an imported model with the original; raises CheckFailed.

    `library` is the graph compiled for the host; without, it is compiled into a temporary
    folder.
    """
    dense = graph.signature.dense
    dtype = graph.dtype
    if isinstance(graph.signature, Plain):
        return _check_module(model, graph, library, threads)
    prompts = [unpadded(model, p) for p in _prompts(graph)]
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        try:
            reference = _Reference(model, prompts, dtype, dense)
        except RuntimeError as error:
            raise CheckFailed("the model itself does not run one precision up, there is nothing to "
                              f"compare with: {str(error).strip().splitlines()[0]}") from error
        path = library or tools.compile(graph, pathlib.Path(folder) / "model.so")
        function = _module.load(path, threads=threads)[graph.signature.function]
        found = (_dense if dense else _paged)(function, prompts)
        return _judge(found, reference, dtype)


def _bound(own: float, sums: float, largest: float, dtype: torch.dtype) -> float:
    """What results may be off by, see above."""
    return 2 * (own + sums) + torch.finfo(dtype).eps * largest


def _check_module(module: torch.nn.Module, graph: Graph, library: str | pathlib.Path | None,
                  threads: int) -> Report:
    """Every result of the example, against bounds of its own."""
    worst = Report(0.0, 0.0, 0.0, 0.0, 0, None)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = library or tools.compile(graph, pathlib.Path(folder) / "module.so")
        function = _module.load(path, threads=threads)[graph.signature.function]
        for sides in differences(module, function, graph.signature, graph.dtype):
            for name, *tensors in zip(graph.signature.results, *sides, strict=True):
                try:
                    report = _one_result(name, *tensors, graph.dtype)
                except CheckFailed:
                    _require_traced(module, graph)
                    raise
                worst = max(worst, report, key=lambda r: (r.vacuous, r.error / (r.bound or 1.0),
                                                          r.largest))
    return worst


def _require_traced(module: torch.nn.Module, graph: Graph) -> None:
    """Whether torch.export's program computes what the module does; it is not hk that differs where
    a model makes another mask while it is traced."""
    model = convert(graph.signature.adapted(shared_copy(module)).eval(), graph.dtype)
    args = tuple(a.to(graph.dtype) if a.is_floating_point() else a for a in graph.signature.args)
    def leaves(made: typing.Any) -> list[torch.Tensor]:
        return [t for t in torch.utils._pytree.tree_leaves(made) if isinstance(t, torch.Tensor)]

    with warnings.catch_warnings(), conversions_that_change(), without_partial_graph():
        warnings.simplefilter("ignore")
        try:
            traced = torch.export.export(model, args, strict=False).module()
            pairs = leaves(traced(*args)), leaves(model(*args))
        except Exception:  # noqa: BLE001 - it is the difference that the caller shall see
            return
    for name, a, b in zip(graph.signature.results, *pairs, strict=False):
        a, b = a.double(), b.double()
        largest = float(b.abs().nan_to_num(0.0, 0.0, 0.0).max()) if b.numel() else 0.0
        if largest and _apart(a, b) > torch.finfo(graph.dtype).eps ** 0.5 * largest:
            raise CheckFailed(
                f"result '{name}': what torch.export traces is off by {_apart(a, b):.3e} of "
                f"{largest:.3g} from what the module computes, before hk has seen it: it does "
                "something else while it is traced, makes another mask, say. Give what it makes "
                "itself (attention_mask, token_type_ids) as an argument")


def _one_result(name: str, actual: torch.Tensor, expected: torch.Tensor, own: torch.Tensor,
                moved: torch.Tensor, dtype: torch.dtype) -> Report:
    if not actual.numel():
        return Report(0.0, 0.0, 0.0, 0.0, 0, None)
    largest = float(expected.abs().nan_to_num(0.0, 0.0, 0.0).max())
    own_error = _apart(own, expected)
    bound = _bound(own_error, _apart(moved, expected), largest, dtype)
    error = _apart(actual, expected)
    if not error <= bound:
        raise CheckFailed(f"result '{name}' is off by {error:.3e}; the bound is {bound:.3e}, the "
                          f"largest element {largest:.3g}. A leaf was replaced wrongly or hk "
                          "computes wrongly: please report the module")
    return Report(error, own_error, bound, largest, actual.shape[0] if actual.dim() else 1, None)


def _apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; equal infinities and NaNs have none."""
    same = (a == b) | (a.isnan() & b.isnan())
    return float(torch.where(same, 0.0, (a - b).abs().nan_to_num(float("inf"))).max())


def _require_numbers(reference: _Reference) -> None:
    """Where the model itself gives no numbers, everything would be right."""
    if all(bool(rows.isfinite().all()) for rows in reference.results):
        return
    name = next((n for n, p in reference.model.named_parameters() if not p.isfinite().all()), None)
    raise CheckFailed("the model's own results are not finite, there is nothing to compare with; " + (
        f"its weight {name} has elements that are not" if name else
        "its weights are: what it computes overflows on random tokens"))


def _judge(found: list, reference: _Reference, dtype: torch.dtype) -> Report:
    _require_numbers(reference)
    largest = max(float(rows.abs().max()) for rows in reference.results)
    bound = _bound(reference.own, reference.sums, largest, dtype)
    pairs, ties = [], []
    for results in found:
        for i, rows in enumerate(results):
            if rows is not None:
                expected, words = reference.explained(rows, i, bound)
                pairs.append((rows, expected))
                ties += words
    actual, expected = (torch.cat(side) for side in zip(*pairs, strict=True))
    error = float((actual - expected).abs().nan_to_num(float("inf")).max())
    decided = torch.ones(len(expected), dtype=torch.bool)
    if expected.shape[1] > 1:  # Else it is a score: of a reranker, say.
        best = expected.topk(2, -1).values
        decided = best[:, 0] - best[:, 1] > 2 * bound
    equal = actual.argmax(-1) == expected.argmax(-1)
    report = Report(error, reference.own, bound, largest, len(expected), int(decided.sum()),
                    tuple(dict.fromkeys(ties)))
    if error > bound:
        row = int((actual - expected).abs().nan_to_num(float("inf")).amax(-1).argmax())
        raise CheckFailed(f"row {row} of {len(expected)} is off by {error:.3e}; the bound is "
                          f"{bound:.3e}, the largest result {largest:.3g}, and no tie of experts "
                          "explains it. A leaf was replaced wrongly or hk computes wrongly: please "
                          "report the model")
    if not equal[decided].all():
        raise CheckFailed(f"the best token differs in row {int((~equal & decided).nonzero()[0])}")
    return report
