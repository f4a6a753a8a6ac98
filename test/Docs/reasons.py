"""Every reason code is given somewhere and some test expects it.

usage: reasons.py SOURCE; prints the codes that fail either."""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
header = (source / "include/hk/Families/Decision.h").read_text()
codes = re.findall(r'X\((\w+), "([\w-]+)"\)', header)
code = "".join(f.read_text() for folder in ("lib", "passes") for f in (source / folder).rglob("*.cpp"))
code += "".join(f.read_text() for f in (source / "include/hk/Families").glob("*.h"))
tests = "".join(line for folder in ("Passes", "Families", "EndToEnd", "Dialect")
                for f in (source / "test" / folder).rglob("*.*") if f.suffix in (".mlir", ".test")
                for line in f.read_text().splitlines(True) if re.search(r"[A-Z](-\w+)*:|expected-", line))
print(f"{len(codes)} reason codes")
for name, text in codes:
    if name != "Accepted" and f"Reason::{name}" not in code:
        print(f"'{text}' is never given: remove it from HK_REASONS")
    if name != "Accepted" and text not in tests:
        print(f"no test expects '{text}'")
