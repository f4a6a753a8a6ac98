"""Every #include of the tree goes in the direction of docs/architecture.md: includes.py SOURCE."""

import pathlib
import re
import sys

# Layer: its folders, and the layers it may include besides itself.
LAYERS = {
    "contract": (["include/hk/Contract"], []),
    "module interface": (["include/hk/Runtime"], []),
    "kernels' device layer": (["runtime/kernels/device"], ["contract"]),
    "kernels": (["runtime/kernels"], ["kernels' device layer", "contract"]),
    "runtime base": (["runtime/base"], ["contract", "module interface"]),
    "runtime devices": (["runtime/device"], ["runtime base", "contract", "module interface"]),
    "runtime ranks": (["runtime/comm"], ["runtime devices", "runtime base", "contract", "module interface"]),
    "runtime interface": (["runtime/api"], ["runtime ranks", "runtime devices", "runtime base", "contract", "module interface"]),
    "emulator": (["lib/Emulator", "tools/hk-emu"], ["contract"]),
    "dialect": (["dialect", "include/hk/Dialect"], ["contract"]),
    "analyses": (["lib/Analysis", "include/hk/Analysis"], ["dialect", "contract"]),
    "reference": (["lib/Reference", "include/hk/Reference"], ["analyses", "dialect", "contract"]),
    "emission": (["lib/Emission"], ["analyses", "dialect", "contract", "module interface"]),
    "families": (["lib/Families", "include/hk/Families"],
                 ["emission", "analyses", "dialect", "contract", "module interface"]),
    "passes": (["passes", "include/hk/Passes"], ["families", "reference", "analyses", "dialect", "contract"]),
    "support": (["lib/Support", "include/hk/Support"], []),
    "compiler": (["lib/Compiler", "include/hk/Compiler"],
                 ["support", "passes", "families", "reference", "analyses", "dialect", "contract", "module interface"]),
    "hk-run": (["tools/hk-run"], ["contract", "module interface"]),
    "hk-run --check": (["tools/hk-run/check"], ["hk-run", "compiler", "passes", "reference", "analyses", "dialect", "contract"]),
    "import": (["lib/Import", "include/hk/Import"], ["support", "dialect", "contract"]),
    "tools": (["tools"], ["support", "import", "compiler", "passes", "families", "reference", "analyses", "dialect", "contract"]),
    "examples": (["examples"], ["module interface"]),
}
# Where the builds look, besides the folder of the file itself.
ROOTS = ["include", "runtime", "tools/hk-run", "lib/Emulator", "passes", "dialect", "lib", "lib/Families"]


def layerOf(path):
    """The layer with the longest folder that `path` is in."""
    found = [(len(folder), name) for name, (folders, _) in LAYERS.items() for folder in folders
             if path.startswith(folder + "/")]
    return max(found)[1] if found else None


def included(root, path, text):
    """The file of the tree that an include means; None if it is generated or another's."""
    for folder in [path.parent, *(root / name for name in ROOTS)]:
        file = (folder / text).resolve()
        if file.is_file() and file.is_relative_to(root):
            return str(file.relative_to(root))
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    wrong, count = [], 0
    tops = {folder.split("/")[0] for folders, _ in LAYERS.values() for folder in folders}
    for top in sorted(tops):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".hip"):
                continue
            name = str(path.relative_to(root))
            layer = layerOf(name)
            if layer is None:
                sys.exit(f"{name} belongs to no layer of {__file__}")
            for text in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE):
                file = included(root, path, text)
                target = file and layerOf(file)
                count += target is not None
                if target and target != layer and target not in LAYERS[layer][1]:
                    wrong.append(f"{name} ({layer}) includes {file} ({target})")
    print("\n".join(wrong))
    print(f"{count > 500 and 'more than 500' or count} includes, {len(wrong)} against the direction")


if __name__ == "__main__":
    main()
