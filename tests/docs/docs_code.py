#!/usr/bin/env python3
"""Writes the C++ of the pages as one source, so that a build compiles it: each block a function of its own.

    tests/docs/docs_code.py SOURCE-DIRECTORY OUTPUT.cpp

Whole programs (examples/embed) are built by tests/package/package_test.sh, code under a comment that names its file is held
to that file by tests/docs/docs_test.py.
"""

import pathlib
import re
import sys

PAGES = ["README.md", "docs/embedding.md", "docs/protocol.md"]
# What a block may use without saying where it is from.
GIVEN = "[[maybe_unused]] Node node, [[maybe_unused]] const Node& node_template, [[maybe_unused]] const Pod& pod, " \
        "[[maybe_unused]] const Pod& pending, [[maybe_unused]] std::vector<Pod> pods"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    includes, functions = {'#include "autoscaling/capacity_quotas.h"', '#include "engine/engine.h"'}, []
    for page in PAGES:
        for block in re.findall(r"^```cpp\n(.*?)^```", (source / page).read_text(), re.M | re.S):
            if "int main(" in block or re.match(r"// \w+/", block):
                continue
            lines = block.split("\n")
            includes.update(line for line in lines if line.startswith("#include"))
            engine = "" if "Engine engine" in block else ", [[maybe_unused]] Engine& engine"
            body = "\n".join(line for line in lines if not line.startswith("#include"))
            functions.append(f"// {page}\nvoid example_{len(functions)}({GIVEN}{engine}) {{\n{body}}}\n")
    if len(functions) < len(PAGES):
        sys.exit("fewer blocks of C++ than pages that had one")
    output.write_text("\n".join([*sorted(includes), "\nnamespace headroom {", *functions, "}  // namespace headroom\n"]))


if __name__ == "__main__":
    main()
