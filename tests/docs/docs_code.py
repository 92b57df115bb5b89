#!/usr/bin/env python3
"""Writes the examples of the pages and of headers' comments as sources, so that a build compiles them.

    tests/docs/docs_code.py SOURCE-DIRECTORY OUTPUT.cpp OUTPUT.c

An example of a header is a block of its comments, set in by three spaces, with a statement in it. Each becomes a
function of its own. Whole programs (examples/embed) are built by tests/package/package_test.sh, code under a comment
that names its file is held to that file by tests/docs/docs_test.py, which also uses the profiles that headers show.
"""

import pathlib
import re
import sys

PAGES = ["README.md", "docs/embedding.md", "docs/protocol.md"]
FOLDERS = ["autoscaling", "client", "engine", "kernels", "layout", "objects", "schema", "server", "simulation",
           "tools", "workloads"]
C_HEADER = "c/headroom.h"
# Who opens one of these finds an example.
DOORS = {"autoscaling/capacity_quotas.h", "client/client.h", "engine/engine.h", C_HEADER}
# What an example may use without saying where it is from.
GIVEN = {"node": "Node", "node_template": "Node", "pod": "Pod", "pending": "Pod", "pending_pod": "Pod",
         "pods": "std::vector<Pod>", "metric": "NodeMetric", "quota": "CapacityQuota", "engine": "Engine"}
GIVEN_IN = {
    "engine/cluster/supposition.h": {"cluster": "Cluster", "shape": "PodShape"},
    "engine/kept/value_bytes.h": {"writer": "ValueWriter", "reader": "ValueReader"},
    "tools/conformance/upstream/upstream_tracker.h": {"snapshot": "UpstreamSnapshot", "node_template": "UpstreamNode"},
}
# An example may show a value and not use it, and may have its own of what is given.
QUIET = """
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wshadow"
"""


def blocks_of_page(text):
    for block in re.findall(r"^```cpp\n(.*?)^```", text, re.M | re.S):
        if "int main(" not in block and not re.match(r"// \w+/", block):
            yield block


def blocks_of_header(text, comment, statement):
    """What stands in comments, set in: blocks of lines, of which one is a statement."""
    for lines in re.findall(rf"^(?:{comment}   .*\n)+", text, re.M):
        block = re.sub(rf"^{comment}   ", "", lines, flags=re.M)
        if re.search(statement, block, re.M):
            yield block


def function(number, origin, given, body, kind="void"):
    return f"// {origin}\n{kind} example_{number}({given}) {{\n  {{\n{body}  }}\n}}\n"


def cpp_of(source):
    includes, functions, origins = {'#include "engine/engine.h"', '#include "autoscaling/capacity_quotas.h"'}, [], set()

    def add(origin, block):
        lines = block.split("\n")
        includes.update(line for line in lines if line.startswith("#include"))
        values = GIVEN | GIVEN_IN.get(origin, {})
        given = ", ".join(f"[[maybe_unused]] {kind}& {name}" for name, kind in values.items())
        body = "\n".join(line for line in lines if not line.startswith("#include"))
        functions.append(function(len(functions), origin, given, body))
        origins.add(origin)

    for page in PAGES:
        for block in blocks_of_page((source / page).read_text()):
            add(page, block)
    for path in sorted(path for folder in FOLDERS for path in (source / folder).rglob("*.h")):
        for block in blocks_of_header(path.read_text(), "//", r"\w\(.*\);\s*(//.*)?$"):
            origin = str(path.relative_to(source))
            includes.add(f'#include "{origin}"')
            add(origin, block)
    return "\n".join([*sorted(includes), QUIET, "namespace headroom {", *functions, "}  // namespace headroom\n"]), origins


def c_of(source):
    """A program that runs them."""
    blocks = list(blocks_of_header((source / C_HEADER).read_text(), r" \*", ";$"))
    functions = [function(number, C_HEADER, "void", block, "static void") for number, block in enumerate(blocks)]
    calls = "".join(f"  example_{number}();\n" for number in range(len(blocks)))
    text = "\n".join(['#include "headroom.h"\n#include <stdio.h>\n', *functions, f"int main(void) {{\n{calls}}}\n"])
    return text, {C_HEADER} if blocks else set()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, cpp_output, c_output = (pathlib.Path(argument) for argument in sys.argv[1:])
    cpp, cpp_origins = cpp_of(source)
    c, c_origins = c_of(source)
    if missing := (DOORS | set(PAGES)) - cpp_origins - c_origins:
        sys.exit(f"no example was found in {', '.join(sorted(missing))}")
    cpp_output.write_text(cpp)
    c_output.write_text(c)


if __name__ == "__main__":
    main()
