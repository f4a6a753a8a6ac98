"""Makes the calls of a module and compares each with what the interpreter expected.

All calls of a module go to one `hk-run --calls`. A call that fails ends that process: whatever
a fault leaves behind in the driver must not count against the next call. The call is repeated
once in a process of its own, and the rest goes on in another. After a fault the device is
asked whether it still works; when it does not, nothing more is tried.
"""

import json
import os
import pathlib
import re
import sys
import tempfile
import time

import children
from private import scrub

HERE = pathlib.Path(__file__).resolve().parent
KEPT_LINES = 12
HEALTH_TRIES = 2
MOST_FAULTS = 3


class DeviceLost(Exception):
    pass


class Device:
    """How programs of the bundle are started, and whether the device still works."""

    def __init__(self, bundle, name, silence, deadline):
        self.bundle, self.name, self.silence, self.deadline = bundle, name, silence, deadline
        self.number = int(name[len("hip:"):])
        folder = str(bundle / "lib")
        old = os.environ.get("LD_LIBRARY_PATH")
        self.environment = dict(os.environ, LD_LIBRARY_PATH=folder + (":" + old if old else ""))
        library = os.environ.get("HK_HIP_LIBRARY", "")
        if "/" in library:  # programs run in the folder of the bundle
            self.environment["HK_HIP_LIBRARY"] = os.path.abspath(library)
        self.remarks = []  # of what is no fault of a call

    def command(self, module, *options):
        return [self.bundle / "bin" / "hk-run", self.bundle / "modules" / f"{module}.so", f"--device={self.name}",
                *options]

    def start(self, command, deadline, patience=1):
        """`patience`: how many times as long as others it may be silent."""
        return children.Child(command, self.environment, patience * self.silence, min(self.deadline, deadline),
                              self.bundle)

    def probe(self):
        """What the HIP library says of the device, or why it says nothing."""
        library = self.environment.get("HK_HIP_LIBRARY")
        command = [sys.executable, HERE / "hip_probe.py", self.number, *filter(None, [library])]
        text, ended = children.output(command, self.environment, self.silence, time.monotonic() + 2 * self.silence)
        last = (text or "").strip().rsplit("\n", 1)[-1]
        try:
            return json.loads(last)
        except ValueError:
            return {"reasons": [f"asking the device: {ended}"]}

    def require_health(self):
        for _ in range(HEALTH_TRIES):
            found = self.probe()
            if found.get("works"):
                return
        reasons = found.get("reasons") or ["copies come back changed"]
        raise DeviceLost(scrub("; ".join(reasons)))


def message(lines):
    """What a call printed that says what is wrong: its checks and errors, else its end."""
    telling = [line for line in lines if re.match(r"check .*(FAILED|DIFFERS)|  at \[|hk-run:|hk-emu:|hk:", line)]
    return scrub("\n".join((telling or lines)[:KEPT_LINES]))


def one_process(device, module, calls, deadline):
    """Makes calls until one fails. Yields (call, status, lines): status 0 or 1 as hk-run has it
    (within its bounds, outside), or a text: how the process ended or what the call was refused with."""
    with tempfile.NamedTemporaryFile("w", suffix=".calls") as listed:
        for call in calls:
            # From the bundle's folder: words of the file end at spaces, which folders may have.
            expected = f"expected/{module}/{call['expected']}"
            listed.write(" ".join([*call["options"], f"--expected={expected}"]) + "\n")
        listed.flush()
        child = device.start(device.command(module, "--poison", f"--calls={listed.name}"), deadline)
        number, lines = -1, []
        for line in child.lines():
            if line.startswith("call "):
                number, lines = number + 1, []
            elif match := re.fullmatch(r"exit status (\d+)", line):
                status = int(match[1])
                yield calls[number], status if status < 2 else "refused", lines
                if status > 1:
                    child.stop("stopped")
                    return
                if number + 1 == len(calls):
                    child.finish()
                    if not child.ended.startswith("exit status"):
                        device.remarks.append(f"{module}, after its last call: {child.ended}")
                    return
                lines = None
            else:
                lines = (lines or []) + [line]
        # The end of the process is that of the call it was in, or of the first without any.
        failing = max(number, 0) if lines is not None or number < 0 else number + 1
        if child.ended != "out of time" and failing < len(calls):
            yield calls[failing], child.ended, lines or []


def outcome(call, status, lines):
    """The entry of a call in the report."""
    entry = {"call": " ".join(call["options"])}
    if status == 0:
        remarks = [scrub(line) for line in lines if line.startswith("hk:")]
        return dict(entry, status="ok", **({"remarks": remarks} if remarks else {}))
    if status == 1:
        return dict(entry, status="wrong", message=message(lines))
    return dict(entry, status="fault", ended=status, message=message(lines))


def repeat(device, module, call, entry, deadline):
    """What the same call does alone: a fault that does not come again is another finding than
    one that does."""
    again = next(iter(one_process(device, module, [call], deadline)), None)
    entry["again"] = "not made, out of time" if again is None else outcome(*again)["status"]
    if entry["status"] == "fault" and entry["again"] == "ok":
        entry["status"] = "fault once"
    return entry


def hung(entry):
    return entry.get("ended", "").startswith("hung")


def worth_making(calls, entries):
    """The calls that may still say something, after `entries`. A function that hung would do so
    again, and every hang takes as long as it takes to notice; a module whose last calls all
    faulted has said so."""
    if len(entries) >= MOST_FAULTS and all(entry["status"] == "fault" for entry in entries[-MOST_FAULTS:]):
        return []
    functions = {entry["call"].split()[0] for entry in entries if hung(entry)}
    return [call for call in calls if call["options"][0] not in functions]


def check_calls(device, module, calls, deadline):
    """Entries of the calls that were made, and why others were not; a DeviceLost that it
    raises has the `entries` so far."""
    entries, left = [], list(calls)
    try:
        while left and time.monotonic() < deadline:
            before = len(entries)
            for call, status, lines in one_process(device, module, left, deadline):
                entry = outcome(call, status, lines)
                entries.append(entry)
                left = left[left.index(call) + 1:]
                if status != 0 and not hung(entry):
                    repeat(device, module, call, entry, deadline)
                if status not in (0, 1):
                    device.require_health()
                    left = worth_making(left, entries)
            if len(entries) == before:
                break
    except DeviceLost as lost:
        lost.entries = entries
        raise
    return entries, "no time left" if left else "a call of the function hung, or the module's last calls all faulted"
