"""Makes a bundle: all that a machine without compiler needs to test a chip.

  amd-report              the command
  manifest.json           what to call, where the results are, modelled times
  bin, lib                hk-run and the runtime
  modules/NAME.so         every module of test/Modules, and what is timed, for all chips
  expected/NAME/N/        values and bounds of call N of a module, by the interpreter
  tools/amd-report        these files
"""

import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import predict
import timed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FORMAT = 1
CHIPS = ["gfx942", "gfx950"]
TIMED = "timed"  # the module of timed.py

sys.path.insert(0, str(ROOT / "test"))


class Failure(Exception):
    pass


def run(*command, folder=None):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True, cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}")
    return done.stdout


def chosen_calls(source, described):
    """Options of each call, in the order of their worth: the first of every function, then the
    others of the emulated chips, then those that are too large to emulate. The calls of
    HK_TEST_ALL=1 are all of them."""
    import module_calls
    directives = module_calls.directives(source)
    ranked, counts = {}, {}
    for target in [*CHIPS, "host"]:
        for options, large in module_calls.calls(directive=directives, described=described, target=target):
            if target == "host" and not large or tuple(options) in ranked:
                continue
            rank = counts.get(options[0], 0)
            counts[options[0]] = rank + 1
            ranked[tuple(options)] = {"options": options, "rank": rank, "large": large}
    return sorted(ranked.values(), key=lambda call: call["rank"])


def size_of(options):
    """The product of the sizes of a call."""
    product = 1
    for option in options:
        if match := re.fullmatch(r"--dim=[^=]+=(\d+)", option):
            product *= int(match[1])
    return product


def timed_calls(calls):
    """Of every function its largest call with ordinary data that the emulator can model."""
    best = {}
    for call in calls:
        if not call["large"] and call["options"][-1] in ("--data=normal", "--data=equal"):
            old = best.get(call["options"][0])
            if old is None or size_of(call["options"]) > size_of(old):
                best[call["options"][0]] = call["options"]
    return [{"function": key.split("=")[1], "options": options} for key, options in best.items()]


class Bundle:
    def __init__(self, build, folder, chips, most_bytes):
        self.build, self.folder, self.chips, self.most_bytes = build, folder, chips, most_bytes

    def compile(self, source, name, options=()):
        module = self.folder / "modules" / f"{name}.so"
        run(self.build / "bin" / "hk-compile", source, f"--target={','.join(self.chips)}", "-o", module, *options)
        return module

    def expect(self, source, module, name, calls):
        """Values and bounds of every call; those that take too many bytes are left out."""
        with tempfile.NamedTemporaryFile("w", suffix=".calls") as listed:
            for number, call in enumerate(calls):
                # Words of the file end at spaces, which the folder may have.
                listed.write(" ".join([*call["options"], f"--write-expected=expected/{name}/{number}"]) + "\n")
            listed.flush()
            run(self.build / "bin" / "hk-run", module.resolve(), f"--check={source}", f"--calls={listed.name}",
                folder=self.folder)
        kept = []
        for number, call in enumerate(calls):
            folder = self.folder / "expected" / name / str(number)
            if sum(f.stat().st_size for f in folder.rglob("*.npy")) > self.most_bytes:
                shutil.rmtree(folder)
            else:
                kept.append({"options": call["options"], "rank": call["rank"], "expected": str(number)})
        return kept

    def times(self, module, entries, sample):
        for entry in entries:
            entry["predicted"] = predict.predictions(self.build, module, entry["options"], self.chips, sample)
        return entries

    def add_module(self, source):
        import module_calls
        name = source.stem
        words = [word for line in module_calls.directives(source)["COMPILE"] for word in line.split()]
        module = self.compile(source, name, words)
        described = json.loads(run(self.build / "bin" / "hk-run", module, "--info"))
        calls = chosen_calls(source, described)
        kept = self.expect(source, module, name, calls)
        timings = self.times(module, timed_calls(calls), False)
        return name, {"calls": kept, "left_out": len(calls) - len(kept), "timed": timings}

    def add_timed(self, names):
        cases = [case for case in timed.CASES if names is None or case.name in names]
        if not cases:
            return TIMED, {"calls": [], "left_out": 0, "timed": []}
        module = self.compile(ROOT / timed.SOURCE, TIMED)
        entries = [{"function": case.name, "options": [f"--function={case.function}", *case.options],
                    "peer": case.peer, "flops": case.flops, "bytes": case.bytes} for case in cases]
        return TIMED, {"calls": [], "left_out": 0, "timed": self.times(module, entries, True)}


def newest_glibc(files):
    """The newest version of the C library that programs ask for, as text."""
    found = {tuple(map(int, m.split(b"."))) for f in files for m in re.findall(rb"GLIBC_(\d+\.\d+)", f.read_bytes())}
    return ".".join(map(str, max(found)))


def copy_tools(build, folder):
    for name, target in (("bin/hk-run", "bin/hk-run"), ("lib/libhk_runtime.so.0", "lib/libhk_runtime.so.0"),):
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / name, folder / target)
    (folder / "tools" / "amd-report").mkdir(parents=True, exist_ok=True)
    for file in sorted((ROOT / "tools" / "amd-report").glob("*.py")):
        shutil.copy(file, folder / "tools" / "amd-report")
    shutil.copy(ROOT / "amd-report", folder)
    shutil.copy(ROOT / "LICENSE", folder)


def commit():
    """Of the sources, or "unknown"."""
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return done.stdout.strip() or "unknown"


def make(build, target, chips, sources, cases, most_bytes, jobs, say):
    """A bundle in the folder `target`, which must be new or empty. Until it is whole it has
    another name."""
    if target.exists() and any(target.iterdir()):
        raise Failure(f"{target} is not empty; name a new folder")
    folder = target.with_name(target.name + ".part")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "modules").mkdir(parents=True)
    copy_tools(build, folder)
    bundle, modules = Bundle(build, folder, chips, most_bytes), {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        work = {pool.submit(bundle.add_module, source): source.stem for source in sources}
        work[pool.submit(bundle.add_timed, cases)] = TIMED
        for done in concurrent.futures.as_completed(work):
            name, entry = done.result()
            modules[name] = entry
            say(f"{len(modules)}/{len(work)} {name}: {len(entry['calls'])} calls, {len(entry['timed'])} timed")
    manifest = {"format": FORMAT, "commit": commit(), "chips": chips,
                "made": str(datetime.date.today()), "modules": dict(sorted(modules.items())),
                "glibc": newest_glibc([folder / "bin" / "hk-run", folder / "lib" / "libhk_runtime.so.0"])}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    folder.replace(target)


def pack(folder, file):
    """FILE.tar.xz and the like: the suffix says how it is compressed."""
    kinds = {"xz": {"preset": 2}, "gz": {"compresslevel": 6}, "bz2": {}, "tar": {}}
    suffix = file.suffix[1:]
    with tarfile.open(file, "w" if suffix == "tar" else f"w:{suffix}", **kinds[suffix]) as archive:
        archive.add(folder, arcname=file.name.split(".tar")[0], filter=anonymous)


def anonymous(member):
    """Without the name of who packed."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def read(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    if manifest.get("format") != FORMAT:
        raise Failure(f"the bundle has format {manifest.get('format')}, this program reads {FORMAT}; "
                      "use the amd-report that is inside the bundle")
    return manifest


def unpack(file, folder):
    with tarfile.open(file) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    found = list(pathlib.Path(folder).glob("*/manifest.json"))
    if len(found) != 1:
        raise Failure(f"{file} holds no bundle: there is no manifest.json in it")
    return found[0].parent


def default_jobs():
    return os.cpu_count() or 1
