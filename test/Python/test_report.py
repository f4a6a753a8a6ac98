"""hk report: one page that needs nothing else, in which nothing of a model is markup.

The structure of the page is read with html.parser; a browser draws it too where chromium is
installed.
"""

import collections
import html.parser
import json
import pathlib
import shutil
import struct
import subprocess
import sys

import hk
import pytest
from hk import _paths, cli
from hk.report import report

LAYERS = pathlib.Path(__file__).parents[1] / "EndToEnd" / "Inputs" / "layers.py"
VOID = {"meta", "rect", "line"}
HOSTILE = '</title></style><img src="//evil" onerror=alert(1)>&amp;\'"'


class Reader(html.parser.HTMLParser):
    """A page as it is nested; fails on what is not closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.ids = [], collections.Counter(), [], []
        self.attributes = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def check(page):
    """What holds of every page."""
    reader = Reader(page)
    assert set(reader.tags) <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "p", "nav", "a",
        "section", "div", "span", "b", "i", "details", "summary", "ul", "li", "code", "table", "tr",
        "th", "td", "svg", "g", "rect", "line", "text"}
    assert len(reader.ids) == len(set(reader.ids))
    for tag, name, value in reader.attributes:
        assert not name.startswith("on") and name != "src"
        if name == "href":
            assert value.startswith("#") and value[1:] in reader.ids, (tag, value)
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in reader.attributes
    assert "@import" not in page and "url(" not in page
    return reader


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of thirty layers, explained, and a run of a layer on the host."""
    path = tmp_path_factory.mktemp("report")
    for layers in (30, 1):
        text = subprocess.run([sys.executable, LAYERS, str(layers)], text=True, check=True,
                              capture_output=True).stdout
        (path / f"{layers}.mlir").write_text(text)
    compiler = [str(_paths.tool("hk-compile"))]
    (path / "30.json").write_text(subprocess.run(
        [*compiler, path / "30.mlir", "--target=gfx942", "--explain=json", "--emit=mlir", "-o",
         "/dev/null"], text=True, check=True, capture_output=True).stdout)
    (path / "1.json").write_text(subprocess.run(
        [*compiler, path / "1.mlir", "--target=gfx942,host", "--explain=json", "-o", path / "1.so"],
        text=True, check=True, capture_output=True).stdout)
    subprocess.run([str(_paths.tool("hk-run")), path / "1.so", "--dim=x.0=5", "--dim=o.0=2",
                    "--bench=3", f"--trace={path}/trace.json"], check=True, capture_output=True)
    return path


def test_layers_are_folded(folder):
    reader = check(report(folder / "30.json"))
    words = "".join(reader.text)
    # Counters of 32 ordered launches are zeroed at a time, the first ones beside a norm.
    assert "16 ×" in words and "13 ×" in words and "@model: 212 launches" in words
    assert "@model with x.0 at most 16: 242 launches" in words
    # A box for each distinct kernel; those that come again point to the first.
    kernels = json.loads((folder / "30.json").read_text())["kernels"]
    boxes = [i for i in reader.ids if i.startswith("t0-")]
    assert len(boxes) == len(kernels) == 18
    assert words.count("LDS 24.0 KiB of 64.0 KiB") >= 3
    near, fused = words.index("Decisions"), words.rindex("What was fused")
    assert "needs-whole-row" in words[near:fused] and "other-family" not in words[near:fused]
    assert "and 59 more places" in words and "in 64.0 KiB + 768 B × d0 → out 256 B × d0" in words


def test_a_run_is_drawn(folder):
    page = report(folder / "1.json", trace=folder / "trace.json")
    reader = check(page)
    words = "".join(reader.text)
    assert page.count("<svg") == 1 and "measured; the median of 3 calls" in words
    ran = json.loads((folder / "trace.json").read_text())["traceEvents"]
    launches = sum(e.get("cat") == "kernel" for e in ran)
    assert reader.tags["rect"] == launches / 3
    # It is drawn where it ran.
    assert page.index('id="t1"') < page.index("<svg") and ">host</h2>" in page


def hostile(value):
    """Every string of a record replaced, but for those that choose what is shown."""
    if isinstance(value, dict):
        return {k: v if k in ("reason", "kind", "version") else hostile(v) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v) for v in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_nothing_of_the_model_is_markup(folder):
    record, trace = (json.loads((folder / name).read_text()) for name in ("30.json", "trace.json"))
    (folder / "hostile.json").write_text(json.dumps(hostile(record)))
    events = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    for event in events:
        event["name"] += HOSTILE
        event["args"]["limit"] = HOSTILE
        event["args"]["variant"] = record["kernels"][0]["variants"][0]["symbol"] + HOSTILE
    trace["traceEvents"], trace["otherData"]["device"] = events, HOSTILE
    (folder / "hostile-trace.json").write_text(json.dumps(trace))
    page = report(folder / "hostile.json", trace=folder / "hostile-trace.json")
    assert HOSTILE in "".join(check(page).text)


@pytest.mark.parametrize(("content", "text"), [
    ("", "is empty"), ("{", "is not what hk-compile"), ("[1]", "version 1, got None"),
    ('{"version": 2}', "version 1, got 2"), ('{"version": 1}', "lacks a field"),
    ('{"version":1,"kernels":[],"decisions":[],"functions":[{"order":["k"],"versions":[]}]}', "kernel k")])
def test_refuses_what_is_no_explanation(tmp_path, content, text):
    (tmp_path / "e.json").write_text(content)
    with pytest.raises(hk.InvalidArgument, match=text):
        report(tmp_path / "e.json")


def test_refuses_traces_of_others(folder, tmp_path):
    (tmp_path / "t.json").write_text("{}")
    with pytest.raises(hk.InvalidArgument, match="not what hk-run --trace writes"):
        report(folder / "1.json", trace=tmp_path / "t.json")
    with pytest.raises(hk.InvalidArgument, match="no kernel of the trace"):
        report(folder / "30.json", trace=folder / "trace.json")
    with pytest.raises(hk.InvalidArgument, match="cannot read"):
        report(tmp_path / "none.json")


def test_command(folder, tmp_path, capsys):
    output = tmp_path / "r.html"
    assert cli.main(["report", str(folder / "1.mlir"), "--target=gfx942", "-o", str(output)]) == 0
    assert f"wrote {output}" in capsys.readouterr().err
    assert "@model: 8 launches" in "".join(check(output.read_text()).text)
    assert cli.main(["report", str(folder / "1.json"), "--target=gfx942"]) == 1
    assert "is explained already" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_browser(folder, tmp_path):
    """A browser shows every box, inside the width of the window."""
    page = tmp_path / "r.html"
    page.write_text(report(folder / "1.json", trace=folder / "trace.json"))
    picture = tmp_path / "r.png"
    subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--user-data-dir={tmp_path}/profile", "--window-size=900,2000",
                    f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True,
                   timeout=300)
    content = picture.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (900, 2000)
    assert len(content) > 50_000  # An empty page takes 8 kB.
