#!/usr/bin/env python3
"""What bench/against.py says of two programs, by programs whose figures are known.

    tests/tools/against_test.py REPOSITORY
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

AGAINST = pathlib.Path(sys.argv.pop(1)) / "bench" / "against.py"

# Stands for a benchmark program: each run takes the next of its figures.
PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
rows = {rows!r}
if "--help" in sys.argv:
    print("  --rows TEXT:{{" + ",".join(rows) + "}} ...")
    sys.exit()
row, path = sys.argv[sys.argv.index("--rows") + 1], sys.argv[sys.argv.index("--json") + 1]
if rows[row] is None:
    print(row + ": wrong answer", file=sys.stderr)
    sys.exit(1)
turns = pathlib.Path(__file__ + "." + row)
turn = int(turns.read_text()) if turns.exists() else 0
turns.write_text(str(turn + 1))
lines = [{{"row": row, "what": "without a value", "measured": "-"}},
         *{others!r},
         {{"row": row, "what": row + " of 2", "unit": "us", "value": rows[row][turn], **{target!r}}}]
json.dump({{"instruction_set": {isa!r}, "lines": lines}}, open(path, "w"))
"""


class AgainstTest(unittest.TestCase):
    def against(
        self, before: dict, now: dict, *options: str, target="at most 1 us", isa=("a", "a"), others=()
    ):
        """`others`: lines that only the program of today has."""
        with tempfile.TemporaryDirectory() as directory:
            programs = []
            for name, rows, its_isa, more in (("before", before, isa[0], ()), ("now", now, isa[1], others)):
                path = pathlib.Path(directory) / name
                target_of = {"target": target} if target else {}
                path.write_text(PROGRAM.format(rows=rows, target=target_of, isa=its_isa, others=more))
                path.chmod(0o755)
                programs.append(str(path))
            return subprocess.run(
                [sys.executable, AGAINST, *programs, *options], capture_output=True, text=True
            )

    def verdict(self, before: list, now: list, **kwargs) -> tuple[str, int]:
        done = self.against({"warm": before}, {"warm": now}, **kwargs)
        self.assertEqual(done.stderr, "")
        line = next(line for line in done.stdout.splitlines() if line.startswith("warm"))
        return re.split(r"\s+", line)[-1], done.returncode

    def test_beyond_the_noise_of_both(self):
        self.assertEqual(self.verdict([1.0, 1.1, 1.2], [1.3, 1.4, 1.5]), ("worse", 1))
        self.assertEqual(self.verdict([1.3, 1.4, 1.5], [1.0, 1.1, 1.2]), ("better", 0))

    def test_within_noise(self):
        self.assertEqual(self.verdict([1.0, 1.1, 1.4], [1.3, 1.4, 1.5]), ("same", 0))
        self.assertEqual(self.verdict([1.0, 1.0, 1.0], [1.02, 1.02, 1.02]), ("same", 0))

    def test_more_is_better_where_the_target_is_a_least(self):
        low, high = [1.0, 1.1, 1.2], [1.3, 1.4, 1.5]
        self.assertEqual(self.verdict(low, high, target="at least 1 us"), ("better", 0))
        self.assertEqual(self.verdict(high, low, target="at least 1 us"), ("worse", 1))
        self.assertEqual(self.verdict(low, high, target=""), ("more", 0))

    def test_rows_of_both_alone(self):
        done = self.against({"a": [1] * 3, "b": [1] * 3}, {"b": [1] * 3, "c": [1] * 3})
        rows = [line.split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(rows, ["row", "b", "1"])
        done = self.against({"a": [1] * 3}, {"b": [1] * 3}, "--rows", "a")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a is not a row of both programs", done.stderr)

    def test_lines_of_both_by_what_they_say(self):
        new = {"row": "warm", "what": "a new line", "unit": "us", "value": 9}
        done = self.against({"warm": [1] * 3}, {"warm": [1] * 3}, others=[new, new])
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("only one of the programs says: a new line"), 2)
        self.assertIn("1.000          0.0%   same", done.stdout)

    def test_what_cannot_be_compared(self):
        done = self.against({"a": [1] * 3}, {"a": [1] * 3}, isa=("avx2", "avx512"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("different instruction sets", done.stderr)
        done = self.against({"a": [1] * 3}, {"a": None})
        self.assertEqual(done.returncode, 2)
        self.assertIn("a: wrong answer", done.stderr)
        for path, why in (("/nonexistent", "No such file"), ("/bin/true", "not a benchmark program")):
            done = subprocess.run([sys.executable, AGAINST, path, path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, f"^{pathlib.Path(path).resolve()}: {why}")
        done = self.against({"a": [1] * 3}, {"a": [1] * 3}, "--rounds", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--rounds", done.stderr)


if __name__ == "__main__":
    unittest.main()
