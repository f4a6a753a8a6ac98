"""Runs the phases within the time and gathers the report: checks of every module, then times,
then other libraries. The order is by worth: the first call of every function comes before the
second of any.
"""

import datetime
import json
import os
import pathlib
import sys
import time

import checks
import children
import clocks
import machine
import peers
import predict
import timings
from private import scrub

FORMAT = 1
# Shares of the time: until when each phase may run.
CHECK_SHARE, TIMED_SHARE, FUNCTION_SHARE = 0.5, 0.65, 0.9
COLD_BYTES = 512 << 20  # more than the MALL of these chips (256 MiB) and their L2


class Run:
    """One report. `say` prints progress."""

    def __init__(self, bundle, manifest, device, seconds, options, say):
        self.bundle, self.manifest, self.device, self.options, self.say = bundle, manifest, device, options, say
        self.start, self.seconds = time.monotonic(), seconds
        self.report = {"format": FORMAT, "date": str(datetime.date.today()), "hk": manifest["commit"],
                       "bundle_made": manifest["made"], "minutes": round(seconds / 60, 2), "lost": None,
                       "modules": {}, "timings": [], "functions": [], "peers": {}, "not_run": []}

    def until(self, share):
        return self.start + share * self.seconds

    def left_out(self, what, why):
        self.report["not_run"].append({"what": what, "why": why})

    def examine(self):
        """False when nothing can run."""
        hip = machine.find_hip(self.device)
        found = machine.facts(hip)
        self.pci = hip.get("pci")
        self.product = predict.product_of(hip.get("name"))
        found["device"]["product"] = self.product
        found["device"]["readable"] = sorted(clocks.sources(self.pci))
        self.report["machine"] = found
        self.report["missing"] = machine.missing(found, hip, self.manifest, self.device.number)
        for lack in self.report["missing"]:
            self.say(f"missing: {lack['what']}\n  {lack['how']}")
        return not any(lack["stops"] for lack in self.report["missing"])

    def check(self):
        """First the first call of every function of every module, then the rest."""
        modules = {name: entry["calls"] for name, entry in self.manifest["modules"].items() if entry["calls"]}
        for name, entry in self.manifest["modules"].items():
            if entry["calls"]:
                self.report["modules"][name] = {"entries": [], "left_out": entry["left_out"]}
        for first in (True, False):
            work = [(name, [c for c in calls if (c["rank"] == 0) == first]) for name, calls in modules.items()]
            work = [(name, calls) for name, calls in work if calls]
            for number, (name, calls) in enumerate(work):
                self.check_module(name, calls, len(work) - number, first)

    def check_module(self, name, calls, still, first):
        """Modules share what is left of the time: one that is slow does not take that of others."""
        end = self.until(CHECK_SHARE * (0.7 if first else 1))
        now = time.monotonic()
        share = now + max(0, end - now) / still * 4  # most take far less than their part
        entries = self.report["modules"][name]["entries"]
        listed, calls = len(calls), checks.worth_making(calls, entries)
        try:
            made, why = checks.check_calls(self.device, name, calls, min(end, share))
        except checks.DeviceLost as lost:
            entries += lost.entries
            raise
        entries += made
        if len(made) < listed:
            self.left_out(f"{name}: {listed - len(made)} of {listed} calls", why)
        bad = [e for e in made if e["status"] != "ok"]
        for entry in bad:
            self.say(f"{entry['status']}: {name} {entry['call']}")

    def time_calls(self, modules, key, share):
        # One function of every module before the second of any.
        timed = {name: self.manifest["modules"][name]["timed"] for name in modules}
        entries = [(name, calls[i]) for i in range(max(map(len, timed.values()), default=0))
                   for name, calls in timed.items() if i < len(calls)]
        broken = {(name, e["call"].split()[0]) for name, m in self.report["modules"].items() for e in m["entries"]
                  if e["status"] == "fault"}
        good = [(name, e) for name, e in entries if (name, e["options"][0]) not in broken]
        for name, entry in entries:
            if (name, entry["options"][0]) in broken:
                self.left_out(f"time of {name} {entry['function']}", "its check faulted")
        found = self.report[key]
        for entry, result in timings.measure_all(self.device, good, self.options, self.pci, self.product,
                                                 self.until(share)):
            result.update({k: entry[k] for k in ("peer", "flops", "bytes") if k in entry})
            found.append(result)
        for name, entry in good[len(found):]:
            self.left_out(f"time of {name} {entry['function']}", "no time left")

    def time_peers(self):
        cases = [[e["function"], e["peer"]] for e in self.report["timings"] if e.get("peer") and e["status"] == "ok"]
        for library in peers.LIBRARIES if self.options.peers else []:
            self.report["peers"][library] = self.time_library(library, cases)

    def time_library(self, library, cases):
        command = [sys.executable, pathlib.Path(peers.__file__), library, self.options.cold, json.dumps(cases)]
        child = children.Child(command, os.environ, max(120, self.device.silence), self.until(1))
        found = {"absent": None, "cases": {}, "ended": None}
        for line in child.lines():
            try:
                row = json.loads(line)
            except ValueError:
                continue  # what libraries print when they load
            if not isinstance(row, dict) or "name" not in row:
                continue
            if "absent" in row:
                row["absent"] = scrub(row["absent"])
            if row["name"] is None:
                found["absent"] = row["absent"]
            else:
                found["cases"][row.pop("name")] = row
        found["ended"] = child.ended if child.ended != "exit status 0" else None
        return found

    def all(self):
        """The whole report; a lost device ends the phases, not the report."""
        if self.examine():
            sized = [name for name in self.manifest["modules"] if not self.manifest["modules"][name]["calls"]]
            others = [name for name in self.manifest["modules"] if name not in sized]
            phases = [("checks", self.check), ("times", lambda: self.time_calls(sized, "timings", TIMED_SHARE)),
                      ("times of modules", lambda: self.time_calls(others, "functions", FUNCTION_SHARE)),
                      ("other libraries", self.time_peers)]
            if not self.options.times:
                phases = phases[:1]
            for number, (name, phase) in enumerate(phases):
                self.say(name)
                try:
                    phase()
                except checks.DeviceLost as lost:
                    self.report["lost"] = {"during": name, "why": str(lost)}
                    self.say(f"the device is lost: {lost}")
                    for left, _ in phases[number:]:
                        self.left_out(f"{left}: what is not in this report", "the device was lost")
                    break
        self.finish()
        return self.report

    def finish(self):
        report = self.report
        counts = {}
        for module in report["modules"].values():
            for entry in module["entries"]:
                counts[entry["status"]] = counts.get(entry["status"], 0) + 1
        left = sum(entry["left_out"] for entry in self.manifest["modules"].values())
        if left:
            self.left_out(f"{left} calls of all modules", "their results are too large for the bundle")
        report["counts"] = counts
        report["remarks"] = self.device.remarks + [
            f"{name} {e['call']}: {remark}" for name, m in report["modules"].items() for e in m["entries"]
            for remark in e.get("remarks", [])]
        report["expected_calls"] = sum(len(e["calls"]) for e in self.manifest["modules"].values())
        report["model"] = timings.model_score(report["timings"] + report["functions"])
        report["seconds"] = round(time.monotonic() - self.start, 1)
        blocked = any(lack["stops"] for lack in report["missing"])
        made = sum(counts.values())
        faults = report["lost"] or made > counts.get("ok", 0) or any(
            t["status"] == "fault" for t in report["timings"] + report["functions"])
        report["verdict"] = "nothing ran" if blocked or not made else "faults" if faults else \
            "all passed" if made == report["expected_calls"] else "passed what there was time for"
