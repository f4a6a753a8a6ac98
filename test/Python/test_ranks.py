"""Imported models that hk-compile --mesh cuts: what ranks under mpirun compute is what one rank
computes, within the bounds of both."""

import json
import pathlib
import shutil
import subprocess

import hk
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import zoo  # noqa: E402

RUN = ["--function=forward", "--threads=1"]


def tool(name, *arguments, ranks=0):
    """What a tool of hk prints; `ranks`: under mpirun."""
    command = [str(hk._paths.tool(name)), *map(str, arguments)]
    if ranks:
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
                   str(ranks), *command]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def inputs_of(library, folder, given):
    """Options of hk-run for the arguments; states are zeros of the sizes that a rank has."""
    info = json.loads(tool("hk-run", library, "--info"))
    function = next(f for f in info["functions"] if f["name"] == "forward")
    options = []
    for argument in function["arguments"]:
        name = argument["name"]
        if argument["role"] == "state":
            shape = [given["block_table"].size, *argument["shape"][1:]]  # pages
            given = given | {name: np.zeros(shape, np.float32)}
        if name in given:
            np.save(folder / f"{name}.npy", given[name])
            options.append(f"--input={name}={folder / name}.npy")
    return options


def logits(folder):
    return np.load(folder / "logits.npy").astype(np.float64)


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
@pytest.mark.parametrize(("name", "mesh", "ranks"), [
    ("gemma3", "tp=2", 2), ("smollm2", "tp=3", 3), ("qwen3_moe", "ep=2", 2),
    ("deepseek_v3_moe", "tp=2,ep=2", 4), ("mamba2", "tp=2", 2), ("qwen3_next", "tp=2", 2),
    ("olmo2", "tp=2", 2)])
def test_equals_one_rank(name, mesh, ranks, tmp_path):
    source, weights = hk.torch.export(zoo.make(name)).save(tmp_path / "model.mlir")
    one, cut = tmp_path / "one", tmp_path / "cut"
    for path, options in ((one, []), (cut, [f"--mesh={mesh}"])):
        path.mkdir()
        hk.compile(source, path / "m.so", weights=weights, options=options)
    decoder = hk.Decoder(hk.load(one / "m.so", weights=weights, threads=1).forward, 2, 16)
    given = decoder._inputs(np.array([5, 9], np.int32))
    given |= {"ids": np.arange(20, 34, dtype=np.int32), "logits_at": np.arange(14, dtype=np.int32)}
    check = [*RUN, f"--check={source}", f"--check-weights={weights}", f"--weights={weights}"]
    for path in (one, cut):
        inputs = inputs_of(path / "m.so", path, given)
        more = ["--rank=1"] if path == cut else []
        tool("hk-run", path / "m.so", *check, *inputs, *more, f"--write-expected={path / 'want'}")
    said = tool("hk-run", cut / "m.so", *check, *inputs, f"--output={cut / 'out'}.{{rank}}",
                ranks=ranks)
    assert said.count("all within their bounds") == ranks
    want = logits(one / "want/values")
    allowed = logits(one / "want/bounds") + logits(cut / "want/bounds")
    decided = allowed[np.isfinite(allowed)]
    assert decided.size > 0.9 * allowed.size and decided.max() < 1e-2 * np.abs(want).max()
    results = [logits(pathlib.Path(f"{cut / 'out'}.{rank}")) for rank in range(ranks)]
    for result in results:
        assert (np.abs(result - want) <= allowed).all()
        assert np.array_equal(result, results[0])
