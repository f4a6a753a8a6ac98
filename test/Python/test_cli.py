"""The command hk on a tiny model in a folder."""

import subprocess
import sys

import hk
import pytest

torch = pytest.importorskip("torch")
import zoo  # noqa: E402
from hk import cli  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a tokenizer of 97 words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("tiny")
    zoo.make("granite").save_pretrained(path)
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(97)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0", eos_token="w2"
                            ).save_pretrained(path)
    return path


def test_import(folder, tmp_path, capsys):
    output = tmp_path / "m.mlir"
    assert cli.main(["import", str(folder), "-o", str(output), "--threads=1"]) == 0
    said = capsys.readouterr()
    assert "torch.export" in said.err and "best token equal in all" in said.err and not said.out
    assert output.exists() and output.with_suffix(".safetensors").exists()
    assert hk.load(output.with_suffix(".so")).forward.outputs[0].shape == (-1, 97)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_generate(folder, tmp_path, monkeypatch, capsys, dtype):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    line = ["generate", str(folder), "--prompt=w5 w6 w7", "--tokens=6", f"--dtype={dtype}",
            "--threads=1"]
    assert cli.main([*line, "--compare"][:None if dtype == "f32" else -1]) == 0
    first = capsys.readouterr()
    assert first.out.startswith("w") and f"({dtype}, host)" in first.err
    assert "6 of 6 equal" in first.err or dtype == "bf16"
    assert cli.main(line) == 0
    second = capsys.readouterr()
    assert second.out == first.out and "torch.export" not in second.err  # From the cache.
    assert cli.main([*line[:3], "--tokens=62", *line[4:]]) == 1
    assert "context of 64; shorten the prompt, or ask for at most 61" in capsys.readouterr().err


def test_tools():
    for tool, text in (("compile", "hk ahead-of-time compiler"), ("run", "usage: hk-run")):
        done = subprocess.run([sys.executable, "-m", "hk.cli", tool, "--help"], text=True,
                              capture_output=True, check=False, cwd=hk.__path__[0] + "/..")
        assert text in done.stdout + done.stderr
