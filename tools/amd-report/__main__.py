"""./amd-report: tests an AMD chip with hk's kernels and writes what came out.

  ./amd-report --bundle FOLDER|FILE.tar.xz    on a machine with hk's build: make a bundle
  ./amd-report                                on the machine with the chip, in the unpacked bundle or
                                              in a checkout (which makes its bundle first)

Writes amd-report.html and amd-report.json: device, driver and toolchain, the verdict on every
module, times beside modelled ones and other libraries. They name neither the machine nor its
user. The exit status is 0 when all passed, 1 when something did not, 2 when nothing could run.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import bundle
import checks
import page
import private
import report
import timed

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent


def say(text):
    print(text, flush=True)


def parse():
    parser = argparse.ArgumentParser(prog="amd-report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    make = parser.add_argument_group("making a bundle")
    make.add_argument("--bundle", type=pathlib.Path, metavar="PATH", help="a new folder, or FILE.tar.xz")
    make.add_argument("--build", type=pathlib.Path, default=TOP / "build" / "release", help="hk's build")
    make.add_argument("--chips", default=",".join(bundle.CHIPS), help="default: %(default)s")
    make.add_argument("--modules", help="names of test/Modules, with commas; default: all")
    make.add_argument("--timed", help="names of tools/amd-report/timed.py; default: all; 'none'")
    make.add_argument("--most-bytes", type=int, default=8 << 20,
                      help="of the results of a call and their bounds; larger ones are left out (%(default)s)")
    make.add_argument("--jobs", type=int, default=bundle.default_jobs())
    run = parser.add_argument_group("testing")
    run.add_argument("--from", dest="source", type=pathlib.Path, help="a bundle elsewhere, folder or file")
    run.add_argument("--device", default="hip:0")
    run.add_argument("--minutes", type=float, default=15, help="for all; what did not fit is listed (%(default)s)")
    run.add_argument("--silence", type=float, default=40,
                     help="seconds without a word after which a call hangs (%(default)s)")
    run.add_argument("--cold", type=int, default=report.COLD_BYTES, help="bytes of caches to miss (%(default)s)")
    run.add_argument("--iterations", type=int, default=20, help="calls that are timed, warm and cold (%(default)s)")
    run.add_argument("--no-times", dest="times", action="store_false", help="only the checks")
    run.add_argument("--no-peers", dest="peers", action="store_false", help="no other libraries")
    run.add_argument("--output", type=pathlib.Path, default=pathlib.Path("amd-report"),
                     help="the files are PATH.html and PATH.json (%(default)s)")
    options = parser.parse_args()
    if not re.fullmatch(r"hip:\d+", options.device):
        parser.error(f"--device={options.device}: there are hip:0, hip:1 and so on")
    return options


def make_bundle(options, target):
    names = options.modules.split(",") if options.modules else None
    sources = sorted((bundle.ROOT / "test" / "Modules").glob("*.mlir"))
    cases = None if options.timed is None else options.timed.split(",")
    for given, known in ((names, {s.stem for s in sources}), (cases, {c.name for c in timed.CASES} | {"none"})):
        if unknown := set(given or []) - known:
            raise bundle.Failure(f"{', '.join(sorted(unknown))}: unknown; there are {', '.join(sorted(known))}")
    if names:
        sources = [source for source in sources if source.stem in names]
    arguments = (options.chips.split(","), sources, cases, options.most_bytes, options.jobs, say)
    archive = re.search(r"\.tar(\.(xz|gz|bz2))?$", target.name)
    if not archive:
        bundle.make(options.build.resolve(), target, *arguments)
        return
    with tempfile.TemporaryDirectory(prefix="hk-bundle-") as folder:
        bundle.make(options.build.resolve(), pathlib.Path(folder) / "bundle", *arguments)
        bundle.pack(pathlib.Path(folder) / "bundle", target)


def find_bundle(options, scratch):
    """The folder of the bundle: the one named, the one this file is in, or a checkout's own."""
    if options.source and options.source.is_dir():
        return options.source.resolve()
    if options.source:
        return bundle.unpack(options.source, scratch)
    if (TOP / "manifest.json").exists():
        return TOP
    own = options.build / "amd-report-bundle"
    if not (own / "manifest.json").exists() or bundle.read(own)["commit"] != bundle.commit():
        if not (options.build / "bin" / "hk-compile").exists():
            raise bundle.Failure("there is neither a bundle nor a build of hk; run this inside an unpacked bundle, "
                                 "name one with --from, or build hk with ./quickstart")
        say(f"making a bundle in {own}; this takes longer than the test, and is done once")
        shutil.rmtree(own, ignore_errors=True)
        make_bundle(options, own)
    return own.resolve()


def write(found, output, known):
    """Both files, or neither if they would say where they are from."""
    files = {".json": json.dumps(found, indent=1), ".html": page.html(found)}
    for text in files.values():
        if leaks := private.leaks(text, known):
            raise bundle.Failure(f"the report would hold {', '.join(leaks)}; please tell the authors, and mail nothing")
    for suffix, text in files.items():
        output.with_name(output.name + suffix).write_text(text, encoding="utf-8")


def require_place(output):
    """The test is long, and nothing may be left of it but what is written at its end."""
    for suffix in (".json", ".html"):
        path = output.with_name(output.name + suffix)
        try:
            new = not path.exists()
            path.open("a").close()
            if new:
                path.unlink()
        except OSError as error:
            raise bundle.Failure(f"cannot write {path}: {error.strerror}; name another place with --output")


def main():
    sys.stdout.reconfigure(errors="backslashreplace")
    options = parse()
    if options.bundle:
        make_bundle(options, options.bundle)
        return 0
    require_place(options.output)
    with tempfile.TemporaryDirectory(prefix="hk-report-") as scratch:
        folder = find_bundle(options, scratch)
        manifest = bundle.read(folder)
        seconds = options.minutes * 60
        device = checks.Device(folder, options.device, options.silence, time.monotonic() + seconds)
        found = report.Run(folder, manifest, device, seconds, options, say).all()
    write(found, options.output, json.dumps(manifest) + json.dumps(found["machine"]["device"]))
    say(f"{found['verdict']}: {', '.join(f'{n} {s}' for s, n in sorted(found['counts'].items())) or 'no call'}; "
        f"{options.output}.html and .json may be mailed")
    return {"nothing ran": 2, "faults": 1}.get(found["verdict"], 0)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (bundle.Failure, OSError, subprocess.SubprocessError) as error:
        print(f"amd-report: {error}", file=sys.stderr)
        sys.exit(2)
