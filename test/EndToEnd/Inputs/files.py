"""What hk-compile does to files when things go wrong: checks one case and prints "ok".

files.py CASE MODEL.mlir FOLDER
"""

import fcntl
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time


def compile_(model, *options, environment=None, limit=None, program="hk-compile"):
    """Runs hk-compile; `limit`: most bytes of any file it writes."""
    def prepare():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run([program, model, *options], env=dict(os.environ, **(environment or {})),
                          preexec_fn=prepare, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def expect(result, status, *parts):
    assert (result.returncode == 0) == (status == 0), result.stdout
    for part in parts:
        assert part in result.stdout, f"no '{part}' in: {result.stdout}"


def files(folder):
    return sorted(os.listdir(folder))


def pipe(model, folder):
    """A module does not replace what is no file."""
    path = folder + "/pipe"
    os.mkfifo(path)
    expect(compile_(model, "-o", path), 1, f"cannot write '{path}'", "no regular file")
    expect(compile_(model, "-o", folder), 1, f"cannot write '{folder}': it is a folder; name a file")
    assert files(folder) == ["pipe"] and not os.path.isfile(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    expect(compile_(model, "--emit=mlir", "-o", path), 0)
    assert b"hk.kernel" in os.read(reader, 1 << 16)


def link(model, folder):
    """The file that a link leads to is written; the link stays."""
    os.mkdir(folder + "/real")
    open(folder + "/real/m.so", "w").close()
    os.symlink("real/m.so", folder + "/m.so")
    expect(compile_(model, "-o", folder + "/m.so"), 0)
    assert os.path.islink(folder + "/m.so") and os.path.getsize(folder + "/real/m.so") > 1000


def full(model, folder):
    """The module does not fit where it is written to; the temporary folder and the cache are fine."""
    expect(compile_(model, "-o", folder + "/m.so"), 0)  # fills the cache
    size = os.path.getsize(folder + "/m.so")
    before = open(folder + "/m.so", "rb").read()
    for limit in (0, 24):
        result = compile_(model, "-o", folder + "/m.so", limit=limit)
        expect(result, 1, "error: ")
        assert re.search(r"cannot write '.*': File too large", result.stdout), result.stdout
        assert files(folder) == ["m.so"] and open(folder + "/m.so", "rb").read() == before
    # All but the last file, which is the linked one and its seal.
    expect(compile_(model, "-o", folder + "/new.so", limit=size - 1), 1, f"cannot write '{folder}/new.so': File too large")
    assert files(folder) == ["m.so"]
    expect(compile_(model, "--emit=mlir", "-o", folder + "/m.mlir", limit=100), 1,
           f"cannot write '{folder}/m.mlir': File too large")
    assert files(folder) == ["m.so"]


def explain(model, folder):
    """--explain alone writes nothing."""
    os.chdir(folder)
    expect(compile_(model, "--explain"), 0, "launch")
    expect(compile_(model), 1, "expected a file for the shared library; pass -o")
    assert files(folder) == []


def killed(model, folder):
    """What a killed run leaves is gone after the next one; what is in use or another's stays."""
    temporary, output = folder + "/tmp", folder + "/out"
    os.mkdir(temporary)
    os.mkdir(output)
    environment = {"TMPDIR": temporary, "HK_CACHE_DIR": ""}
    run = subprocess.Popen(["hk-compile", model, "-o", output + "/m.so"], env=dict(os.environ, **environment))
    while run.poll() is None and not files(temporary):
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    left = [os.path.join(f, n) for f in (temporary, output) for n in files(f)]
    assert len(left) >= 2, left
    held = temporary + "/hk-compile-held"
    os.mkdir(held)
    open(temporary + "/other", "w").close()
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    expect(compile_(model, "-o", output + "/m.so", environment=environment), 0)
    assert all(os.path.exists(path) for path in left), "removed while it might be in use"
    for path in [*left, held, temporary + "/other"]:
        os.utime(path, (1, 1))
    expect(compile_(model, "-o", output + "/m.so", environment=environment), 0)
    assert files(temporary) == ["hk-compile-held", "other"] and files(output) == ["m.so"]


def cache(model, folder):
    """Damaged entries are compiled again, for the host and for GPUs."""
    environment = {"HK_CACHE_DIR": folder + "/cache"}
    options = ["--target=host,gfx942", "-o", folder + "/m.so"]
    expect(compile_(model, *options, environment=environment), 0)
    before = open(folder + "/m.so", "rb").read()
    entries = [folder + "/cache/" + name for name in files(folder + "/cache")]
    assert len(entries) == 2
    whole = [open(entry, "rb").read() for entry in entries]
    for damage in (lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:200] + b"\xff" + b[201:]):
        for entry, content in zip(entries, whole):
            with open(entry, "wb") as file:
                file.write(damage(content))
        expect(compile_(model, *options, environment=environment), 0)
        assert open(folder + "/m.so", "rb").read() == before
        assert [open(entry, "rb").read() for entry in entries] == whole


def headers(model, folder):
    """A kernel is compiled again when a header changes that it includes, also through others; not for another one."""
    program = shutil.which("hk-compile")
    share = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(program))), "share", "hk")
    shutil.copytree(os.path.dirname(program), folder + "/bin", symlinks=True,
                    ignore=lambda _, names: [n for n in names if n != "hk-compile"])
    shutil.copytree(share, folder + "/share/hk")
    options = {"program": folder + "/bin/hk-compile", "environment": {"HK_CACHE_DIR": folder + "/cache"}}
    for changed, kept in ((None, 1), ("attention/attention.h", 1), ("device/types.h", 2)):
        if changed:
            with open(f"{folder}/share/hk/kernels/{changed}", "a") as file:
                file.write("// changed\n")
        expect(compile_(model, "-o", folder + "/m.so", **options), 0)
        assert len(files(folder + "/cache")) == kept, (changed, files(folder + "/cache"))


def uncached(model, folder):
    """A cache that cannot be written is none, and said once."""
    open(folder + "/file", "w").close()
    options = ["--target=host,gfx942", "-o", folder + "/m.so"]
    for place in (folder + "/file", folder + "/file/cache"):
        result = compile_(model, *options, environment={"HK_CACHE_DIR": place})
        expect(result, 0, "warning: compiled kernels are not kept: ", place)
        assert result.stdout.count("warning:") == 1, result.stdout
    expect(compile_(model, *options, environment={"HK_CACHE_DIR": ""}), 0)


if __name__ == "__main__":
    case, model, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    globals()[case](model, os.path.realpath(folder))
    print("ok")
