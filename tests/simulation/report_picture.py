#!/usr/bin/env python3
"""Takes docs/report.png, the picture of a report that README shows, in a headless Chromium.

  tests/simulation/report_picture.py HEADROOM docs/report.png

The report compares the profiles of data/ on the openb trace, seed 1: what README and docs/simulating.md say of it.
"""
import base64
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # beside the tests
from report_browser_test import Browser

WIDTH = 1000
CHARTS = ["nodes-over-limits", "heat-0", "heat-1"]  # all others are left out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    headroom, picture = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    data = pathlib.Path(__file__).resolve().parents[2] / "data"
    program = shutil.which("chromium") or sys.exit("no chromium: tools/setup --long installs it")
    with tempfile.TemporaryDirectory() as directory:
        page = pathlib.Path(directory) / "report.html"
        subprocess.run([headroom, "simulate", "--no-departures", "--config", data / "limit-aware.yaml", "--config",
                        data / "least-allocated.yaml", "--report", page], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(program, directory)
        browser.open(page, (WIDTH, 900))
        top, bottom = browser.evaluate(f"""(() => {{
          const keep = {CHARTS}.map((id) => document.getElementById(id).closest("section"));
          for (const at of document.querySelectorAll("section, h2, details")) {{
            if (!keep.some((chart) => chart === at || at.querySelector("canvas") && at.contains(chart))) {{
              at.style.display = "none";
            }}
          }}
          const boxes = keep.map((at) => at.getBoundingClientRect());
          return [boxes[0].top + scrollY - 12, boxes.at(-1).bottom + scrollY];
        }})()""")
        browser.settle()
        shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                            clip={"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 0.8})
        picture.write_bytes(base64.b64decode(shot["data"]))
        browser.close()


if __name__ == "__main__":
    main()
