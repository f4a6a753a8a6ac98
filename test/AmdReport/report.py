"""Runs ./amd-report of a bundle on the emulator and says what is wrong with the reports.

  report.py SOURCE BUILD WORK make           makes the bundle WORK.tar.xz and unpacks it in WORK
  report.py SOURCE BUILD WORK CASE...        the functions below, by name

The bundle's modules are small; faults come from test/AmdReport/FaultyHip.cpp. Nothing here may
take long: the whole file is part of ./check.
"""

import ast
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import numpy

SOURCE, BUILD, WORK = (pathlib.Path(p) for p in sys.argv[1:4])
MODULES = "reencode,in_place"
EMULATOR, FAULTY = BUILD / "lib" / "libhk_emu.so", BUILD / "test" / "AmdReport" / "libhk_faulty_hip.so"


def command(*words, status, **environment):
    """Runs the kit. Its user has a telling name."""
    own = {"HK_HIP_LIBRARY": str(EMULATOR), "HK_EMU_CHIP": "mi300x", "USER": "jane-the-owner",
           "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([str(w) for w in words], env={**os.environ, **own, **environment}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == status, f"status {done.returncode}, expected {status}: {done.stdout[-3000:]}"
    return done.stdout


def report(name, *options, status, bundle=WORK, **environment):
    """The report of one run, as JSON; the page is looked at, too."""
    output = WORK.parent / f"{WORK.name}.{name}"
    command(bundle / "amd-report", "--no-peers", "--silence", 20, "--cold", 65536, "--iterations", 2, "--output", output,
            *options, status=status, **environment)
    text = output.with_name(output.name + ".json").read_text()
    page = output.with_name(output.name + ".html").read_text()
    check_page(page)
    for told in ("jane-the-owner", str(WORK), str(BUILD), os.path.expanduser("~") + "/"):
        assert told not in text + page, f"the report holds {told}"
    return json.loads(text)


class Page(html.parser.HTMLParser):
    """Every tag is closed, nothing comes from elsewhere."""
    VOID = {"meta", "br", "line", "circle"}

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not {"src", "href", "onload"} & {key for key, _ in attrs}, (tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in self.VOID or self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def check_page(text):
    page = Page()
    page.feed(text)
    assert not page.open and {"style", "table", "main"} <= page.seen, page.open
    assert "url(" not in text and "http://" not in text


def entries(found):
    return [(name, e) for name, module in found["modules"].items() for e in module["entries"]]


def bad(found):
    return [(name, e) for name, e in entries(found) if e["status"] != "ok"]


def faulty(fault, mark=None, program=None):
    """The environment of a fault; a mark makes it happen once."""
    found = {"HK_HIP_LIBRARY": str(FAULTY), "HK_FAULTY_HIP": str(EMULATOR), "HK_FAULT": fault}
    if mark:
        path = WORK.parent / f"{WORK.name}.{mark}.mark"
        path.unlink(missing_ok=True)
        found["HK_FAULT_MARK"] = str(path)
    if program:
        found["HK_FAULT_PROGRAM"] = program
    return found


def make():
    shutil.rmtree(WORK, ignore_errors=True)
    archive = WORK.with_name(WORK.name + ".tar.xz")
    command(SOURCE / "amd-report", "--bundle", archive, "--build", BUILD, "--modules", MODULES, "--timed", "rms_norm_16",
            status=0)
    with tarfile.open(archive) as tar:
        assert {(m.uname, m.uid) for m in tar.getmembers()} == {("", 0)}
        tar.extractall(WORK.parent)
    for file in (WORK / "tools" / "amd-report").glob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 8))  # what docs/amd-report.md promises
    manifest = json.loads((WORK / "manifest.json").read_text())
    for name in MODULES.split(","):
        entry = manifest["modules"][name]
        assert entry["calls"] and not entry["left_out"], entry
        for timed in entry["timed"]:
            assert {"mi300x", "mi325x", "mi355x"} == set(timed["predicted"]), timed
    # A bundle is never put on top of another.
    text = command(SOURCE / "amd-report", "--bundle", WORK, "--build", BUILD, status=2)
    assert "is not empty" in text, text
    text = command(SOURCE / "amd-report", "--bundle", WORK / "x", "--modules", "softmaxx", status=2)
    assert "softmaxx: unknown" in text, text


def passes():
    """Both chips; clocks from a sysfs of our own."""
    sysfs = WORK.parent / f"{WORK.name}.sysfs" / "class" / "drm" / "card0" / "device"
    (sysfs / "hwmon" / "hwmon3").mkdir(parents=True, exist_ok=True)
    (sysfs / "vendor").write_text("0x1002\n")
    (sysfs / "hwmon" / "hwmon3" / "temp1_input").write_text("45000\n")
    (sysfs / "pp_dpm_sclk").write_text("0: 132Mhz\n1: 1987Mhz *\n2: 2100Mhz\n")
    for product, chip in (("mi300x", "gfx942"), ("mi355x", "gfx950")):
        found = report("passes", status=0, HK_EMU_CHIP=product, HK_REPORT_SYSFS=str(sysfs.parents[3]))
        assert found["verdict"] == "all passed" and not found["not_run"] and not found["missing"], found["not_run"]
        assert not found["remarks"], found["remarks"]
        assert found["counts"] == {"ok": found["expected_calls"]} and found["expected_calls"] > 30
        device = found["machine"]["device"]
        assert device["chip"] == chip and device["product"] == product and device["emulated"], device
        timing, = found["timings"]
        kernel, = timing["kernels"]
        assert timing["clocks"]["clock_mhz"]["median"] == 1987, timing
        assert timing["clocks"]["temperature_c"]["max"] == 45, timing
        assert kernel["cold_us"]["median"] > 0 and kernel["warm_us"]["min"] > 0 and kernel["first_us"] > 0
        modelled = kernel["modelled"]
        assert 1 < modelled["burst_us"] < 100 and modelled["relative_error"] > 0
        assert abs(modelled["ratio"] * kernel["cold_us"]["median"] - modelled["burst_us"]) < 1e-6
        assert sum(s["kernels"] for s in found["model"].values()) >= len(found["functions"]) >= 7, found["model"]
    page = (WORK.parent / f"{WORK.name}.passes.html").read_text()
    assert "hk's emulator, not on a chip" in page.replace("&#x27;", "'") and "modelled" in page and "<svg" in page


def peers():
    """What is not installed is said to be absent; times of a library stand beside hk's."""
    folder = WORK.parent / f"{WORK.name}.torch"
    folder.mkdir(exist_ok=True)
    (folder / "torch.py").write_text("raise ImportError('no torch for /home/jane-the-owner')\n")
    output = WORK.parent / f"{WORK.name}.peers"
    command(WORK / "amd-report", "--silence", 20, "--cold", 0, "--iterations", 2, "--output", output, status=0,
            PYTHONPATH=str(folder))
    found = json.loads(output.with_name(output.name + ".json").read_text())
    assert set(found["peers"]) == {"torch", "hipBLASLt", "AITER"}
    for library in found["peers"].values():
        assert library["absent"].startswith("ImportError: no torch for") and "jane" not in library["absent"], library
    kernel = found["timings"][0]["kernels"][0]
    assert "cold_us" not in kernel and kernel["warm_us"]["median"] > 0


# A call does not depend on these: one device is always current, and memory, events and
# modules are given back when all is done.
SILENT = {"hipSetDevice", "hipFree", "hipThreadExchangeStreamCaptureMode", "hipModuleUnload", "hipEventDestroy"}
# Only exchanges between ranks call these; a report runs on one.
OF_RANKS = {"hipMemcpy2DAsync", "hipMemsetD32Async", "hipStreamQuery", "hipStreamIsCapturing",
            "hipExtMallocWithFlags", "hipIpcGetMemHandle", "hipIpcOpenMemHandle", "hipIpcCloseMemHandle",
            "hipHostMalloc", "hipHostFree"}


def every_call():
    """Every function of HIP that the runtime uses fails once, in the first call of all."""
    header = (SOURCE / "runtime" / "device" / "hip" / "HipApi.h").read_text()
    functions = re.findall(r"^  X\((hip\w+),", header, re.M)
    assert len(functions) >= 18, functions
    for function in functions:
        if function == "hipGetDeviceProperties":
            continue  # ROCm 5's; the emulator has the newer one, too, and that is taken
        passes = function in SILENT | OF_RANKS
        found = report("every", "--no-times", status=0 if passes else 1,
                       **faulty(f"{function}:1:999", mark="every"))
        if passes:
            assert not bad(found), bad(found)
            assert function != "hipFree" or any("hipFree failed" in r for r in found["remarks"]), found["remarks"]
            continue
        (name, entry), = bad(found)
        assert entry["status"] == "fault once" and entry["again"] == "ok", (function, entry)
        assert function.replace("R0600", "") in entry["message"], (function, entry)
        assert sum(found["counts"].values()) == found["expected_calls"], (function, found["counts"])


def later_calls():
    """Faults in the middle of calls, and one of the probe, which is asked again."""
    for fault in ("hipMemcpy:7:1", "hipModuleLaunchKernel:9:719", "hipEventRecord:12:400", "hipMalloc:30:2"):
        found = report("later", "--no-times", status=1, **faulty(fault, mark="later"))
        (name, entry), = bad(found)
        assert entry["status"] == "fault once" and fault.split(":")[0] in entry["message"], entry
        assert sum(found["counts"].values()) == found["expected_calls"]
    # Programs in Python are named after the interpreter.
    program = pathlib.Path(sys.executable).resolve().name
    for name in {"python3", program, pathlib.Path(shutil.which("python3")).resolve().name}:
        found = report("probe", "--no-times", status=0, **faulty("hipMemcpy:1:1", mark="probe", program=name))
        assert found["verdict"] == "all passed", found["missing"]


def wrong_results():
    """Bits that flip on the way back, once; and a result that is always another."""
    found = report("corrupt", "--no-times", status=1, **faulty("hipMemcpy:3:corrupt", mark="corrupt"))
    (name, entry), = bad(found)
    assert entry["status"] == "wrong" and entry["again"] == "ok" and "FAILED" in entry["message"], entry
    bundle = WORK.parent / f"{WORK.name} wrong"  # a folder with a space
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree(WORK, bundle)
    path = sorted(p for p in (bundle / "expected" / "reencode").glob("*/values/*.npy") if numpy.load(p).size)[0]
    values = numpy.load(path)
    values.flat[0] ^= 1
    numpy.save(path, values)
    found = report("wrong", "--no-times", bundle=bundle, status=1)
    (name, entry), = bad(found)
    assert name == "reencode" and entry["status"] == entry["again"] == "wrong" and "at [0" in entry["message"], entry
    # A bundle that lacks a file is no pass.
    path.unlink()
    found = report("lacking", "--no-times", bundle=bundle, status=1)
    (name, entry), = bad(found)
    assert entry["status"] == "fault" and "cannot read" in entry["message"], entry


def ends():
    """Processes that hang, crash and are killed: the call is named and the rest goes on."""
    for kind, said in (("kill", "killed by SIGKILL"), ("crash", "killed by SIGSEGV")):
        found = report(kind, "--no-times", status=1, **faulty(f"hipModuleLaunchKernel:5:{kind}", mark=kind))
        (name, entry), = bad(found)
        assert entry["status"] == "fault once" and entry["ended"] == said, entry
        assert sum(found["counts"].values()) == found["expected_calls"]
    found = report("hang", "--no-times", "--silence", 3, status=1,
                   **faulty("hipDeviceSynchronize:3:hang", mark="hang"))
    (name, entry), = bad(found)
    assert entry["status"] == "fault" and entry["ended"] == "hung: nothing for 3 s", entry
    left, = found["not_run"]
    assert left["why"].startswith("a call of the function hung") and left["what"].startswith(name), left
    assert found["counts"]["ok"] > found["expected_calls"] / 2


def memory():
    """There is none, whoever asks: a module is given up after three faults in a row."""
    found = report("memory", status=1, **faulty("hipMalloc:0:2"))
    assert found["counts"] == {"fault": sum(found["counts"].values())}, found["counts"]
    assert all(e["again"] == "fault" and "hipErrorOutOfMemory" in e["message"] for _, e in bad(found))
    assert len(bad(found)) == 6, "three of each module"
    assert sum("last calls all faulted" in e["why"] for e in found["not_run"]) >= 2, found["not_run"]
    assert found["timings"][0]["status"] == "fault", found["timings"]


def lost():
    """The device goes away: what was done is reported, nothing is tried any more."""
    found = report("lost", status=1, **faulty("hipModuleLaunchKernel:12:lost", mark="lost"))
    assert found["lost"]["during"] == "checks" and "719" in found["lost"]["why"], found["lost"]
    assert 5 < found["counts"]["ok"] < found["expected_calls"] / 2 and found["counts"]["fault"] == 1, found["counts"]
    assert len(found["not_run"]) == 4, found["not_run"]
    assert not found["timings"] and not found["functions"]


def nothing():
    """Without a library, a working device or code for it nothing runs, and the report says why."""
    found = report("library", status=2, HK_HIP_LIBRARY="/nonexistent/libamdhip64.so")
    assert found["verdict"] == "nothing ran", found["verdict"]
    assert any("no HIP library" in m["what"] and "rocm.docs.amd.com" in m["how"] for m in found["missing"])
    found = report("device", status=2, **faulty("hipGetDeviceCount:0:100", program=pathlib.Path(
        shutil.which("python3")).resolve().name))
    assert any("device 0 does not work" in m["what"] for m in found["missing"]), found["missing"]
    bundle = WORK.parent / f"{WORK.name}.chip"
    shutil.rmtree(bundle, ignore_errors=True)
    shutil.copytree(WORK, bundle)
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest.update(chips=["gfx950"], glibc="99.1")
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    found = report("chip", bundle=bundle, status=2)
    told = " ".join(m["what"] for m in found["missing"])
    assert "the device is gfx942; the bundle has code for gfx950" in told and "glibc 99.1" in told, told
    manifest["format"] = 99
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    text = command(bundle / "amd-report", status=2)
    assert "the bundle has format 99" in text, text


def odd_machines():
    """Several devices, a place that cannot be written, a terminal of ASCII, a Python that is too old."""
    found = report("number", "--device", "hip:1", status=2, HIP_VISIBLE_DEVICES="0")
    assert any("device 1 does not work: there is no device 1, of 1" in m["what"] and "HIP_VISIBLE_DEVICES is set"
               in m["how"] for m in found["missing"]), found["missing"]
    text = command(WORK / "amd-report", "--device", "cuda:0", status=2)
    assert "--device=cuda:0: there are hip:0" in text, text
    sys.path.insert(0, str(WORK / "tools" / "amd-report"))
    sys.dont_write_bytecode = True
    import machine
    facts = {"libc": "", "kfd": "readable", "hip": {"runtime": "7.0.0"}}
    for chips, how in ((["gfx1036", "gfx942"], "--device=hip:1 is gfx942"), (["gfx90a"], "may hide one"),
                       (["gfx1100", "gfx950", "gfx950"], "--device=hip:1 is gfx950 or --device=hip:2 is gfx950")):
        hip = {"library": "libamdhip64.so.7", "works": True, "chips": chips}
        lacks = machine.missing(dict(facts, device={"chip": chips[0], "emulated": False}), hip,
                                {"glibc": "2.1", "chips": ["gfx942", "gfx950"]})
        assert [lack["stops"] for lack in lacks] == [True], lacks
        assert f"the device is {chips[0]}; " in lacks[0]["what"] and how in lacks[0]["how"], lacks
    for place in (WORK.parent / "absent" / "report", WORK / "manifest.json" / "report"):
        text = command(WORK / "amd-report", "--output", place, status=2)
        assert f"cannot write {place}.json" in text and "--output" in text and "checks" not in text, text
    output = WORK.parent / f"{WORK.name}.\u00fcber"
    text = command(WORK / "amd-report", "--no-times", "--minutes", 0.0001, "--output", output, status=2,
                   PYTHONIOENCODING="ascii", LC_ALL="C")
    assert "\\xfcber.html and .json" in text and output.with_name(output.name + ".json").exists(), text
    old = WORK.parent / f"{WORK.name}.old"
    old.mkdir(exist_ok=True)
    (old / "python3").write_text("#!/bin/sh\nexit 1\n")
    (old / "python3").chmod(0o755)
    for path in (old, old / "none"):
        text = command("/bin/sh", WORK / "amd-report", status=2, PATH=str(path))
        assert "needs Python 3.8" in text, text


def checkout():
    """Where hk is built the kit makes its bundle by itself, once."""
    build = WORK.parent / f"{WORK.name} build"
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    for name in ("bin", "lib"):
        (build / name).symlink_to(BUILD / name)
    output = WORK.parent / f"{WORK.name}.checkout"
    words = [SOURCE / "amd-report", "--build", build, "--modules", "reencode", "--timed", "none", "--no-peers",
             "--no-times", "--output", output]
    assert "making a bundle" in command(*words, status=0)
    assert "making a bundle" not in command(*words, status=0)
    found = json.loads(output.with_name(output.name + ".json").read_text())
    assert found["verdict"] == "all passed" and set(found["modules"]) == {"reencode"}, found["verdict"]
    text = command(SOURCE / "amd-report", "--build", WORK, "--output", output, status=2)
    assert "neither a bundle nor a build" in text, text


def no_time():
    """What does not fit is listed. A call that the end of the time cuts off is no fault."""
    found = report("none", "--minutes", 0.0001, status=2)
    assert found["verdict"] == "nothing ran" and not_made(found) == found["expected_calls"], found["not_run"]
    found = report("time", "--no-times", "--minutes", 0.15, "--silence", 60, status=0,
                   **faulty("hipDeviceSynchronize:40:hang", mark="time"))
    assert found["verdict"] == "passed what there was time for" and not bad(found), found["verdict"]
    assert found["counts"]["ok"] + not_made(found) == found["expected_calls"] and not_made(found) > 0


def not_made(found):
    """How many calls are listed as not made."""
    return sum(int(re.search(r": (\d+) of", e["what"])[1]) for e in found["not_run"] if " calls" in e["what"])


def everything():
    """Every module on both chips, with ./check --all only: all its calls but those with large
    results."""
    if os.environ.get("HK_TEST_ALL") != "1":
        return
    bundle = WORK.parent / f"{WORK.name}.all"
    shutil.rmtree(bundle, ignore_errors=True)
    command(SOURCE / "amd-report", "--bundle", bundle, "--build", BUILD, "--timed", "none", "--most-bytes", 1 << 18,
            *(["--modules", os.environ["HK_REPORT_MODULES"]] if "HK_REPORT_MODULES" in os.environ else []), status=0)
    for product in ("mi325x", "mi355x"):
        found = report("all", "--no-times", "--minutes", 600, "--silence", 600, bundle=bundle, status=0,
                       HK_EMU_CHIP=product, HK_EMU_STRICT_RACES="1")
        assert found["verdict"] == "all passed", bad(found)


if __name__ == "__main__":
    for case in sys.argv[4:]:
        globals()[case]()
        print(f"ok {case}", flush=True)
