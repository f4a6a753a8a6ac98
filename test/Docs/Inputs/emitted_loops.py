"""No family prints a loop as text: emitted_loops.py SOURCE. Emitted code names the loops of runtime/kernels."""

import pathlib
import re
import sys

FOLDERS = ["lib/Emission", "lib/Families"]
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
LOOP = re.compile(r"\b(?:for|while) ?\(|\bdo \{")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    count, loops = 0, []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for text in LITERAL.findall(line):
                    count += 1
                    if LOOP.search(text):
                        loops.append(f'{path.relative_to(root)}:{number}: "{text}": name a loop of kernels/device/loops.h')
    print(*loops, sep="\n")
    print(f"{'more' if count > 3000 else 'less'} than 3000 strings, {len(loops)} loops")


main()
