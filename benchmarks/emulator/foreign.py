"""Runs code objects that hk did not make in the emulator and compares them with NumPy.

Cases register themselves with @case; each (case, option set, chip) runs in a
process of its own, so that a crash is a result like any other. The outcome is
one of: pass; refused (the emulator does not load or launch it); finding (a
check reported something in a correct kernel); wrong (values differ); crash;
uncompiled (the other compiler declines, which says nothing about hk).
"""
import ctypes
import json
import os
import re
import sys
import tempfile
import time
import traceback

import numpy as np

CASES = []
TIMED_OUT = 300  # seconds a case may take


class Finding(Exception):
    pass


class Refused(Exception):
    pass


class Wrong(Exception):
    pass


class Uncompiled(Exception):
    pass


def case(options=({},), chips=("gfx942", "gfx950")):
    """Registers fn(chip, **options) once per option set and chip."""

    def add(fn):
        for option in options:
            for chip in chips:
                CASES.append((fn, chip, dict(option)))
        return fn

    return add


class Out:
    """An undefined device buffer that is copied back."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, np.dtype(dtype)


class Device:
    """HIP's module interface in libhk_emu.so through ctypes."""

    def __init__(self):
        self.hip = ctypes.CDLL(os.environ["HK_HIP_LIBRARY"])

    def call(self, name, *args):
        return getattr(self.hip, name)(*args)

    def run(self, image, kernel, grid, block, args, shared=0):
        """Launches; args are arrays, Out, or ctypes scalars. Returns the buffers' contents."""
        data = ctypes.create_string_buffer(image, len(image))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        if self.call("hipModuleLoadData", ctypes.byref(module), data):
            raise Refused("load")
        if self.call("hipModuleGetFunction", ctypes.byref(function), module, kernel.encode()):
            raise Refused("no kernel " + kernel)
        values, buffers = [], []
        for arg in args:
            if isinstance(arg, (np.ndarray, Out)):
                size = int(np.prod(arg.shape)) * arg.dtype.itemsize
                pointer = ctypes.c_void_p()
                self.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
                if isinstance(arg, np.ndarray):
                    host = np.ascontiguousarray(arg)
                    self.call("hipMemcpy", pointer, host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(size), 1)
                buffers.append((pointer, arg, size))
                values.append(pointer)
            else:
                values.append(arg)
        params = (ctypes.c_void_p * (len(values) + 4))()
        for i, value in enumerate(values):
            params[i] = ctypes.addressof(value)
        none = ctypes.c_void_p()  # trailing scratch pointers that a compiler adds
        for i in range(len(values), len(values) + 4):
            params[i] = ctypes.addressof(none)
        grid, block = [tuple(x) + (1,) * (3 - len(x)) for x in (grid, block)]
        status = self.call("hipModuleLaunchKernel", function, *grid, *block, shared, None, params, None)
        results = []
        for pointer, arg, size in buffers:
            host = np.empty(arg.shape, arg.dtype)
            self.call("hipMemcpy", host.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(size), 2)
            self.call("hipFree", pointer)
            results.append(host)
        self.call("hipModuleUnload", module)
        if status == 719:
            self.results = results
            raise Finding("see the report")
        if status:
            raise Refused("launch, HIP error %d" % status)
        return results


def close(got, want, rtol=0.0, atol=0.0, what="result"):
    """Every element within atol + rtol * |want|; NaN where NaN is wanted."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise Wrong("%s: shape %s, expected %s" % (what, got.shape, want.shape))
    if got.dtype.kind in "iub" and want.dtype.kind in "iub":
        bad = got != want
    else:
        g, w = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            bad = ~((g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= atol + rtol * np.abs(w)))
    if bad.any():
        at = tuple(int(i[0]) for i in np.nonzero(bad))
        raise Wrong("%s: %d of %d differ, first at %s: %r, expected %r"
                    % (what, int(bad.sum()), bad.size, at, got[at], want[at]))


def begin_times():
    """The library writes a modelled time of each launch to one file per process."""
    if "HK_EMU_TIMING" not in os.environ:
        os.environ["HK_EMU_TIMING"] = os.path.join(tempfile.mkdtemp(dir=os.environ.get("HK_FOREIGN_WORK")), "times")
    open(os.environ["HK_EMU_TIMING"], "w").close()


def check_times(kernel):
    """One modelled time since begin_times(): a launch alone takes microseconds, and none of the cases milliseconds."""
    with open(os.environ["HK_EMU_TIMING"]) as f:
        lines = [json.loads(line) for line in f]
    if len(lines) != 1:
        raise Wrong("%s: %d modelled times" % (kernel, len(lines)))
    burst, sustained = (lines[0][k] for k in ("burst_us", "sustained_us"))
    if not (1 < burst <= sustained < 2000 and lines[0]["clocks"] > 100 and lines[0]["limit"]):
        raise Wrong("%s: no sane time: %s" % (kernel, json.dumps(lines[0])[:300]))


def describe(fn, option):
    return fn.__name__ + "".join(" %s=%s" % item for item in option.items())


def child(fn, chip, option, log):
    os.environ["HK_EMU_CHIP"] = chip
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(2, 1)
    try:
        fn(chip, **option)
        status = 0
    except (Finding, Refused, Wrong, Uncompiled) as error:
        print(type(error).__name__, error, flush=True)
        status = {Finding: 10, Refused: 11, Wrong: 12, Uncompiled: 13}[type(error)]
    except BaseException:
        traceback.print_exc()
        status = 14
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


NAMES = {0: "pass", 10: "finding", 11: "refused", 12: "wrong", 13: "uncompiled", 14: "error"}


def run_one(fn, chip, option, log):
    pid = os.fork()
    if pid == 0:
        child(fn, chip, option, log)
    end = time.time() + TIMED_OUT
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return NAMES.get(os.waitstatus_to_exitcode(status), "crash %d" % os.waitstatus_to_exitcode(status))
        if time.time() > end:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            return "timeout"
        time.sleep(0.02)


def main():
    """usage: SCRIPT LIBHK_EMU [REGEX]: runs the cases whose description matches."""
    if len(sys.argv) < 2:
        sys.exit(main.__doc__)
    os.environ["HK_HIP_LIBRARY"] = sys.argv[1]
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    counts = {}
    with tempfile.TemporaryDirectory() as work:
        log = os.path.join(work, "log")
        os.environ["HK_FOREIGN_WORK"] = work
        for fn, chip, option in CASES:
            name = "%s %s" % (chip, describe(fn, option))
            if not wanted.search(name):
                continue
            outcome = run_one(fn, chip, option, log)
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome != "pass":
                print("%s: %s" % (outcome, name))
                with open(log, errors="replace") as f:
                    lines = f.read().splitlines()
                if outcome == "uncompiled":
                    lines = lines[-1:]
                print("\n".join("    " + line[:300] for line in lines[-14:]), flush=True)
    print(" ".join("%d %s" % (n, k) for k, n in sorted(counts.items())))
    sys.exit(any(k not in ("pass", "uncompiled") for k in counts))
