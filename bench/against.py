#!/usr/bin/env python3
"""Is it slower than it was? Two benchmark programs in turns, on one machine.

    cp build/release/bin/headroom_bench before      # then change the code
    bench/run --against before [--rows ROW,ROW] [--rounds N] [OPTION...]

What is kept is the program and not its figures: the same one differs by a fifth an hour later on a
machine that others use. Both run the rows one after the other, in turns, and which is first changes
from round to round. A figure is worse, or better, where the least of one program's rounds is above
the most of the other's, by more than MARGIN. The last line counts them. Exits with 1 where one is
worse, with 2 where the two programs cannot be compared.
"""

import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

MARGIN = 1.03
ROUNDS = 3

Key = tuple[str, str, int]  # a row, what a line of it says but for numbers, and which of those


def run(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except OSError as error:
        said = f"{command[0]}: {error.strerror}"
    except subprocess.CalledProcessError as error:
        said = f"{' '.join(command)}: exit code {error.returncode}: {error.stderr.strip()}"
    print(said, file=sys.stderr)
    sys.exit(2)


def figures(program: str, row: str, options: list[str]) -> tuple[dict, dict[Key, dict]]:
    """What one run says: the machine, and the lines that have a value, of rows that have some."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run(program, "--rows", row, "--json", file.name, *options)
        said = json.load(open(file.name, encoding="utf-8"))
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    lines = {}
    for line in said.pop("lines"):
        what = line["row"], re.sub(r"[0-9.]+", "", line["what"])
        if "value" in line:
            lines[(*what, counts[what])] = line
        counts[what] += 1
    return said, lines


def rows_of(program: str) -> list[str]:
    """The rows that a program knows: what its help says that --rows takes."""
    rows = re.search(r"--rows \w+:\{([^}]*)\}", run(program, "--help"))
    if rows is None:
        print(f"{program}: not a benchmark program: its --help has no --rows", file=sys.stderr)
        sys.exit(2)
    return re.sub(r"\s", "", rows[1]).split(",")


def verdict(line: dict, before: list[float], now: list[float]) -> str:
    if min(now) > max(before) * MARGIN:
        more = True
    elif min(before) > max(now) * MARGIN:
        more = False
    else:
        return "same"
    if "target" not in line:
        return "more" if more else "less"
    return "worse" if more == line["target"].startswith("at most") else "better"


def spread(values: list[float]) -> float:
    return (max(values) - min(values)) / 2 / statistics.median(values)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="the benchmark program that was kept")
    parser.add_argument("now", help="the one of today")
    parser.add_argument("--rows", help="only these, separated by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of both (default: %(default)s)")
    options, others = parser.parse_known_args()
    if options.rounds < 2:
        parser.error("--rounds: one round says nothing of noise")
    programs = {which: str(pathlib.Path(getattr(options, which)).resolve()) for which in ("before", "now")}
    known = set.intersection(*(set(rows_of(program)) for program in programs.values()))
    rows = options.rows.split(",") if options.rows else [r for r in rows_of(programs["now"]) if r in known]
    for row in rows:
        if row not in known:
            parser.error(f"--rows: {row} is not a row of both programs")

    counts: collections.Counter[str] = collections.Counter()
    print(f"{'row':20} {'before':>12} {'now':>12} {'unit':18} now/before  rounds within  verdict")
    for row in rows:
        values: dict[str, dict[Key, list[float]]] = {which: {} for which in programs}
        lines: dict[Key, dict] = {}
        for turn in range(options.rounds):
            heads = {}
            for which in list(programs)[:: 1 if turn % 2 == 0 else -1]:
                heads[which], its = figures(programs[which], row, others)
                for key, line in its.items():
                    values[which].setdefault(key, []).append(line["value"])
                    lines[key] = line
            if heads["before"]["instruction_set"] != heads["now"]["instruction_set"]:
                parser.exit(2, "the two programs use different instruction sets\n")
        for key, line in lines.items():
            if not all(key in its for its in values.values()):
                print(f"{key[0]:20} only one of the programs says: {line['what']}")
                continue
            before, now = values["before"][key], values["now"][key]
            medians = statistics.median(before), statistics.median(now)
            said = verdict(line, before, now)
            counts[said] += 1
            noise = max(spread(before), spread(now))
            print(
                f"{key[0]:20} {medians[0]:12.5g} {medians[1]:12.5g} {line['unit']:18} "
                f"{medians[1] / medians[0]:10.3f} {noise:13.1%}   {said}",
                flush=True,
            )
    print(", ".join(f"{count} {said}" for said, count in sorted(counts.items())))
    sys.exit(1 if counts["worse"] else 0)


if __name__ == "__main__":
    main()
