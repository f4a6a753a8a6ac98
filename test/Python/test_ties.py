"""The check's judgement of experts that are nearly tied: explained by the other choice, or not."""

import types

import pytest

torch = pytest.importorskip("torch")
import hk  # noqa: E402
import hk.torch  # noqa: E402
import zoo  # noqa: E402
from hk.torch import _check, _ties  # noqa: E402

GRAPH = types.SimpleNamespace(windows=[], context=64, vocabulary=97)


@pytest.fixture(scope="module")
def reference():
    torch.set_num_threads(1)
    with torch.no_grad():
        return _check._Reference(zoo.make("qwen3_moe"), _check._prompts(GRAPH), torch.bfloat16,
                                 False)


def ties(reference):
    """(prompt, token, swap) of all choices that scores do not decide."""
    return [(i, token, swap) for i, rows in enumerate(reference.results)
            for token in range(len(rows))
            for swap, _ in _ties.near(reference.choices[i], reference.unsure, token, len(rows))]


def test_runs_choose_alike(reference):
    """So that a choice at a tie does not widen the bound for all."""
    bound = 2 * (reference.own + reference.sums)
    swapped = []
    with torch.no_grad():
        for i, _, swap in ties(reference):
            rows, _ = reference.swapped(i, [swap])
            swapped.append(float((rows - reference.results[i]).abs().max()))
    assert swapped and min(swapped) > bound


def test_groups_that_are_left_out_are_sure():
    """Their scores are -inf in all runs."""
    def choice(score):
        scores = torch.tensor([[score, float("-inf"), 0.25]], dtype=torch.float64)
        return _ties.Choice(scores, scores.topk(1).indices)

    assert _ties.unsure([choice(0.5)], [[choice(0.625)]]) == [0.25]


def test_a_tie_is_named(reference):
    i, token, swap = ties(reference)[-1]
    with torch.no_grad():
        other, _ = reference.swapped(i, [swap])
        found = [[None] * i + [other]]
        report = _check._judge(found, reference, torch.bfloat16)
    assert report.error == 0 and len(report.ties) == 1
    assert report.ties[0].startswith(f"token {token}, choice {swap.call}: scores ")
    assert "; a tie of experts decided (token " in str(report)


def test_what_no_tie_explains_is_an_error(reference):
    """Another expert where the scores decide, and an error of numbers."""
    rows = reference.results[-1]
    tied = {(token, swap.call) for i, token, swap in ties(reference)
            if i == len(reference.results) - 1}
    token = next(t for t in range(len(rows)) if not any((t, c) in tied for c in (0, 1)))
    with torch.no_grad():
        other, _ = reference.swapped(len(reference.prompts) - 1, [_ties.Swap(0, token)])
        wrong = rows.clone()
        wrong[-1, 3] += 1
        for made in (other, wrong):
            found = [[None] * (len(reference.results) - 1) + [made]]
            with pytest.raises(hk.CheckFailed, match="no tie of experts explains it"):
                _check._judge(found, reference, torch.bfloat16)
    assert _check._judge([reference.results], reference, torch.bfloat16).ties == ()


def test_what_decides_nothing_is_said():
    """A bound wider than the distance of the two best tokens, and one that zeros would meet."""
    reference = types.SimpleNamespace(
        results=[torch.tensor([[3.0, 2.5, 0.0]], dtype=torch.float64)], own=0.25, sums=0.0,
        explained=lambda rows, i, bound: (reference.results[i], []))
    said = str(_check._judge([reference.results], reference, torch.float32))
    assert "NO TOKEN WAS COMPARED: 0 of 1 rows decided" in said and "equal" not in said
    assert "SHOWS NOTHING" not in said
    reference.own = 2.0
    assert "THE CHECK SHOWS NOTHING: the bound" in str(_check._judge(
        [reference.results], reference, torch.float32))
    reference.own = 1e-3
    assert "equal in all 1 of 1 rows" in str(_check._judge(
        [reference.results], reference, torch.float32))
