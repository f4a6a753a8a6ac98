"""The command hk on a tiny model in a folder."""

import json
import os
import re
import shutil
import subprocess
import sys

import hk
import pytest

torch = pytest.importorskip("torch")
import zoo  # noqa: E402
from hk import cli  # noqa: E402
from hk.cli import models  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with a tokenizer of 97 words, and advice on samples, which greedy text is not."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("tiny")
    zoo.make("granite").save_pretrained(path)
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(97)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0", eos_token="w2"
                            ).save_pretrained(path)
    advice = path / "generation_config.json"
    advice.write_text(json.dumps(json.loads(advice.read_text()) | {
        "eos_token_id": [2, 0], "repetition_penalty": 9.0, "do_sample": True, "temperature": 0.1}))
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
    assert cli.main([line[0], line[1], "--prompt=" + "w5 " * 65, *line[3:]]) == 1
    assert "context of 64; shorten the prompt to at most 58 tokens\n" in capsys.readouterr().err
    words = first.out.split()
    ends = next((i for i, w in enumerate(words) if i and w != words[0]), None)
    if dtype == "f32" and ends:  # The text ends where one of several such tokens comes.
        monkeypatch.setattr(models._source, "read_stops", lambda _: {2, int(words[ends][1:])})
        assert cli.main([*line, "--compare"]) == 0
        said = capsys.readouterr()
        assert said.out.split() == words[:ends] and f": {ends} of {ends} equal" in said.err


def test_tokens_that_end_a_text(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert models._source.read_stops(copy) == {0, 2}
    (copy / "generation_config.json").unlink()  # The configuration's.
    assert models._source.read_stops(copy) == {2}
    (copy / "generation_config.json").write_text("{")
    with pytest.raises(hk.UnsupportedModel, match="not a valid JSON file; look at config.json and gen"):
        models._source.read_stops(copy)


@pytest.mark.parametrize(("line", "text"), [
    (["generate", "--prompt="], "--prompt='' has no tokens"),
    (["generate", "--prompt=w5", "--threads=-1"], "expected threads to be 0 .* got -1"),
    (["generate", "--prompt=w5", "--device=vulkan"], "unknown device 'vulkan'"),
    (["generate", "--prompt=w5", "--target=gfx942"], "not the chip of --device=host, .* leave"),
    (["import", "-o", "{}/m.mlir", "--threads=-1"], "expected threads to be 0 .* got -1"),
    (["import", "-o", "{}/m.so"], "m.so', which is where the library would go; name it '.*m.mlir'"),
    (["import", "-o", "{}"], "which is a folder; name a file, '.*graph.mlir'"),
    (["import", "-o", "/proc/none/m.mlir"], "cannot make the folder '/proc/none'"),
    (["import", "-o", "{folder}/model.mlir"], "its weights would replace '.*model.safetensors'")])
def test_told_before_the_work(folder, tmp_path, monkeypatch, capsys, line, text):
    monkeypatch.setattr(models, "_import", None)
    line = [word.format(tmp_path, folder=folder) for word in line]
    assert cli.main([line[0], str(folder), *line[1:]]) == 1
    assert re.search(text, capsys.readouterr().err)


def test_a_cache_has_whole_models(folder, tmp_path, monkeypatch, capsys):
    """What ends before it is done, or cannot be written, leaves nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def ends(_, output, *__):
        output.with_suffix(".so").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(models, "_import", ends)
    line = ["generate", str(folder), "--prompt=w5"]
    assert cli.main(line) == 130 and capsys.readouterr().err.endswith("hk: interrupted\n")
    assert not os.listdir(tmp_path / "hk" / "models")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert cli.main(line) == 1 and "cannot make the folder '/proc/none" in capsys.readouterr().err


def test_a_model_that_generates_no_text(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    zoo.make("bert").save_pretrained(tmp_path)
    shutil.copy(folder / "tokenizer.json", tmp_path)
    assert cli.main(["generate", str(tmp_path), "--prompt=w5"]) == 1
    assert "is a BertModel, which generates no text; hk import makes" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"hk {hk.__version__}\n"


@pytest.mark.parametrize(("line", "text"), [
    (["import", "{}/none", "-o", "{}/m.mlir"], "no such file or folder: '.*none'"),
    (["import", "{}", "-o", "{}/m.mlir"], "neither a GGUF file .* config.json; .* also takes NAME.onnx"),
    (["report", "{}/m.mlir", "-o", "{}/m.mlir"], "cannot write '.*m.mlir': it is '.*', which is read"),
    (["report", "{}/m.html"], "cannot write '.*m.html': it is '.*', which is read"),
    (["report", "{}/m.mlir", "--weights={}/none"], "cannot read the weights file '.*none'"),
    (["report", "{}/m.txt"], "not what hk-compile .*; the name of a model ends with .mlir")])
def test_wrong_files(source, tmp_path, capsys, line, text):
    for name in ("m.mlir", "m.html", "m.txt"):
        (tmp_path / name).write_text(source)
    assert cli.main([word.format(tmp_path) for word in line]) == 1
    assert re.search(text, capsys.readouterr().err)
    assert (tmp_path / "m.mlir").read_text() == (tmp_path / "m.html").read_text() == source


def test_a_page_is_whole_or_not_there(tmp_path, monkeypatch):
    """A full disk leaves what was there."""
    page = tmp_path / "page.html"
    page.write_text("before")

    def full(path, _):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(page), "write_text", full)
    with pytest.raises(hk.InvalidArgument, match="page.html': No space left on device; name a file"):
        cli._write(page, "after")
    assert os.listdir(tmp_path) == ["page.html"] and page.read_bytes() == b"before"


def bytes_of_text():
    """A tokenizer whose tokens are bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made)


def words(tidy):
    """A tokenizer that would write "it," for "it ," after the comma came."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    names = ["?", "it", "did", "n't", ",", "'", "s"]
    made = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="?"))
    return PreTrainedTokenizerFast(tokenizer_object=made, clean_up_tokenization_spaces=tidy)


@pytest.mark.parametrize("text", ["h\u00e9llo \u65e5\u672c \U0001f44d\U0001f3fd x", " a\n\n", "a\ufffdb",
                                  "ends with \ufffd"])
def test_characters_of_several_tokens(capsys, text):
    tokenizer = bytes_of_text()
    ids = tokenizer(text)["input_ids"]
    found, times = models._show(tokenizer, iter(ids))
    assert capsys.readouterr().out == text + "\n" and found == ids and len(times) == len(ids) + 1
    shown = models._Text(tokenizer)
    for token in ids:
        shown.tokens.append(token)
        assert "\ufffd" not in shown.new() or "\ufffd" in text  # No half characters.


@pytest.mark.parametrize("tidy", [True, False])
def test_shown_text_does_not_change(capsys, tidy):
    models._show(words(tidy), iter([2, 3, 1, 4, 1, 5, 6]))
    assert capsys.readouterr().out == "did n't it , it ' s\n"


def test_text_of_many_tokens_takes_time_by_their_number():
    class Counts:
        decoded = 0

        def decode(self, tokens, **_):
            self.decoded += len(tokens)
            return "x" * len(tokens)

    counts = Counts()
    shown = models._Text(counts)
    for _ in range(1000):
        shown.tokens.append(1)
        assert shown.new() == "x"
    assert counts.decoded < 4 * 1000


def test_tools():
    for tool, text in (("compile", "hk ahead-of-time compiler"), ("run", "usage: hk-run")):
        done = subprocess.run([sys.executable, "-m", "hk.cli", tool, "--help"], text=True,
                              capture_output=True, check=False, cwd=hk.__path__[0] + "/..")
        assert text in done.stdout + done.stderr
