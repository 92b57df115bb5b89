#!/usr/bin/env python3
"""The page of `headroom simulate --report` in a headless Chromium.

  tests/simulation/report_browser_test.py HEADROOM

It draws without errors and asks no network; what its charts draw and its tables say equals the JSON; names that
are markup do no harm; it is readable in light and dark, on a small screen, printed, and with a keyboard. Skipped
(exit code 77) where there is no Chromium; HEADROOM_CHROMIUM names one. HEADROOM_SCREENSHOTS names a directory that
keeps the pictures.
"""
import base64
import fcntl
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WIDE, SMALL = (1280, 900), (390, 800)
MEASURES = {"requested": "requests", "limits": "limits", "estimated_usage": "estimated usage",
            "usage": "simulated usage"}
QUANTILES = ["mean", "p50", "p90", "p99", "max"]
HARM = "<img src=x onerror=harmed=1>"


class Browser:
    """Chromium, spoken to over a pipe."""

    def __init__(self, program, directory):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Out of the way of 3 and 4, where the browser expects them.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_browser, from_browser)]

        def place():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
             "--hide-scrollbars", f"--user-data-dir={directory}/profile", "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for fd in (to_browser, from_browser, *theirs):
            os.close(fd)
        self._rest, self._last, self.events, self._session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _message(self):
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise SystemExit("the browser has gone")
            self._rest += piece
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while True:
            answer = self._message()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, path, size=WIDE, dark=False):
        self.events.clear()
        self.resize(size)
        self.call("Emulation.setEmulatedMedia", media="screen", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=path.as_uri())
        self.evaluate("new Promise((done) => document.readyState === 'complete' ? done() : "
                      "addEventListener('load', done))")
        self.settle()

    def resize(self, size):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=False)

    def settle(self):
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"Tab": 9, "ArrowRight": 39, "ArrowUp": 38, "End": 35}[key])

    def picture(self, path):
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": min(height, 12000), "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self._process.terminate()
        self._process.wait()


def check(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def check_events(browser, page):
    for event in browser.events:
        method, params = event["method"], event.get("params", {})
        check(method != "Runtime.exceptionThrown", f"{page}: an exception: {params}")
        check(method != "Log.entryAdded" or params["entry"]["level"] not in ("error", "warning"),
              f"{page}: a log entry: {params}")
        check(method != "Runtime.consoleAPICalled", f"{page}: a console message: {params}")
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            check(url == page.as_uri() or url.startswith("data:"), f"{page}: asked for {url}")


# --- What the charts have to show, from the JSON alone. ---

def share(part, whole):
    return 100 * part / whole if whole > 0 else None


def amount_of(name, unit):
    return 1000 if unit == "milli" else 2 ** 30 if name in ("memory", "ephemeral-storage") else 1


def expected_charts(report, resource_name, measure, quota):
    """By chart id: the lines' values, or, of a heat map, the counts by bucket."""
    runs = report.get("runs", [report])
    charts = {}

    def overview(chart, kinds, values):
        if len(runs) == 1:
            charts[chart] = [values(runs[0], kind) for kind in kinds]
        else:
            charts.update({f"{chart}-{kind}": [values(run, kind) for run in runs] for kind in kinds})

    def resource(run):
        return next(at for at in run["series"]["resources"] if at["name"] == resource_name)

    first = resource(runs[0])
    measures = [at for at in MEASURES if at in first]
    overview("cluster", measures, lambda run, at: [
        share(part, whole) for part, whole in zip(resource(run)[at]["sum"], resource(run)["allocatable"])])
    hot = [at for at in ("estimated_usage", "usage") if at in measures and "hot_percent" in first]
    overview("nodes-over", ["limits", *(f"{at}{end}" for at in hot for end in ("-100", ""))],
             lambda run, kind: resource(run)[kind.removesuffix("-100")][
                 "nodes_above_100" if kind == "limits" or kind.endswith("-100") else "hot_nodes"])
    for r, run in enumerate(runs):
        series, of = run["series"], resource(run)[measure]
        charts[f"quantiles-{r}"] = [of[quantile] for quantile in QUANTILES]
        used = [b for b in range(len(series["bucket_percent"])) if any(row[b] for row in of["nodes"])]
        top = max([10, *used])
        charts[f"heat-{r}"] = [[row[b] for row in of["nodes"]] for b in range(top + 1)]
        if series["failures"]:
            charts[f"failures-{r}"] = [reason["pods"] for reason in series["failures"]]
        if any(series["victims"]):
            charts[f"victims-{r}"] = [series[kind] for kind in ("victims", "victims_placed_again", "preemptors")]
        quotas = series.get("elastic_quota_totals") if quota == "" else next(
            (at["resources"] for at in series.get("elastic_quotas", [])
             if f"{at['namespace']}/{at['name']}" == quota), None)
        for at in quotas or []:
            if at["name"] != resource_name:
                continue
            one = amount_of(at["name"], at["unit"])
            lines = [[value / one for value in at[kind]] for kind in ("used", "borrowed", "lent")]
            lines += [[at[bound] / one] * len(lines[0]) for bound in ("min", "max") if at.get(bound) is not None
                      and (bound == "min" or at[bound])]
            charts[f"quota-{r}"] = lines
        limits = series.get("capacity_quotas", [])
        if limits:
            charts[f"capacity-{r}"] = [[share(used + held, limit) for used, held, limit in
                                        zip(at["used"], at["reserved"], at["limit"])] for at in limits]
            refused = [at["nodes_refused"] for at in limits if any(at["nodes_refused"])]
            if refused:
                charts[f"refused-{r}"] = refused
    charts["pods"] = [run["series"]["pods"] for run in runs]
    if any(any(run["series"]["pending"]) for run in runs):
        charts["pending"] = [run["series"]["pending"] for run in runs]
    if any(len(set(run["series"]["nodes"])) > 1 for run in runs):
        charts["nodes"] = [run["series"]["nodes"] for run in runs]
    charts["speed"] = [run["speed"]["decisions_per_second"] for run in runs]
    return charts


# By chart id: what its lines hold, what their drawn points stand at on the axis (not of stacked ones), the cells of
# its table, and whether anything was painted.
READ_CHARTS = """
Object.fromEntries([...document.querySelectorAll("canvas")].map((canvas) => {
  const chart = Chart.getChart(canvas), y = chart.scales.y;
  const section = canvas.closest("section");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return [canvas.id, {
    lines: chart.data.datasets.map((line) => line.nodes ?? line.data.map((point) => point.y)),
    drawn: chart.config.type === "bar" || y.options.stacked ? null : chart.data.datasets.map((line, l) =>
      chart.getDatasetMeta(l).data.map((point) => point.skip ? null : y.getValueForPixel(point.y))),
    visible: chart.data.datasets.every((line, l) => chart.isDatasetVisible(l)),
    step: Math.abs(y.getValueForPixel(0) - y.getValueForPixel(1)),
    colors: chart.config.type === "bar" ? chart.data.datasets.map((line) => line.backgroundColor) : null,
    table: [...section.querySelectorAll("tbody tr")].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.textContent)),
    columns: [...section.querySelectorAll("thead th")].length,
    painted: pixels.some((value) => value > 0),
    label: canvas.getAttribute("aria-label"),
  }];
}))
"""


def close_to(value, other, within):
    if value is None or other is None:
        return value is None and other is None
    return math.isclose(value, other, rel_tol=1e-9, abs_tol=within)


def cell_number(text):
    return None if text == "–" else float(text.replace(",", ""))


def check_figures(browser, page, report, resource, measure, quota):
    choose = "".join(
        f"{{const at = document.getElementById('{box}'); at.value = {json.dumps(value)};"
        f"at.dispatchEvent(new Event('change'));}}"
        for box, value in (("resource", resource), ("measure", measure), ("quota", quota)))
    browser.evaluate(f"(() => {{{choose}}})()")
    browser.settle()
    shown = browser.evaluate(READ_CHARTS)
    expected = expected_charts(report, resource, measure, quota)
    where = f"{page.name}, {resource}, {measure}"
    check(shown.keys() == expected.keys(), f"{where}: charts {sorted(shown)}, expected {sorted(expected)}")
    for name, lines in expected.items():
        chart = shown[name]
        check(chart["painted"], f"{where}: {name} is blank")
        check(chart["visible"], f"{where}: a line of {name} is hidden")
        check(chart["label"], f"{where}: {name} has no label")
        check(len(chart["lines"]) == len(lines), f"{where}: {name} has {len(chart['lines'])} lines, not {len(lines)}")
        for l, line in enumerate(lines):
            check(len(line) == len(chart["lines"][l]) and all(
                close_to(a, b, 1e-9) for a, b in zip(line, chart["lines"][l])), f"{where}: line {l} of {name}")
            if chart["drawn"]:
                check(len(line) == len(chart["drawn"][l]) and all(a is None or close_to(a, b, chart["step"]) for a, b in zip(line, chart["drawn"][l])),
                      f"{where}: line {l} of {name} is drawn elsewhere")
        if chart["colors"]:
            for b, row in enumerate(lines):
                check(all((count == 0) == (color == "transparent") for count, color in zip(row, chart["colors"][b])),
                      f"{where}: a cell of {name} is coloured without nodes, or not with")
        check_table(where, name, lines, chart)


def check_table(where, name, lines, chart):
    # One row for each moment; where runs differ in their moments, those of all.
    rows = chart["table"]
    if len({len(line) for line in lines}) > 1:
        check(len(rows) >= max(map(len, lines)), f"{where}: the table of {name} has {len(rows)} rows")
        return
    check(len(rows) == len(lines[0]), f"{where}: the table of {name} has {len(rows)} rows, not {len(lines[0])}")
    step = 2 if name.startswith("cluster") else 1  # an amount beside each share
    for s, row in enumerate(rows):
        check(len(row) == chart["columns"] - 1, f"{where}: a short row in the table of {name}")
        for l, line in enumerate(lines):
            check(close_to(line[s], cell_number(row[l * step]), 0.51),
                  f"{where}: {name}, row {s}: {row[l * step]}, expected {line[s]}")


def visit(browser, page, report, all_choices):
    browser.open(page)
    browser.evaluate("document.getElementById('open-tables').click()")
    runs = report.get("runs", [report])
    quotas = [""] + [f"{at['namespace']}/{at['name']}" for at in runs[0]["series"].get("elastic_quotas", [])][:2]
    for resource in runs[0]["series"]["resources"]:
        measures = [measure for measure in MEASURES if measure in resource]
        if not all_choices or resource["name"] != "cpu":
            measures = measures[-1:]
        for measure in measures:
            check_figures(browser, page, report, resource["name"], measure, quotas[-1])
    check_figures(browser, page, report, "cpu", "limits", "")
    check_events(browser, page)


def check_looks(browser, page, pictures):
    """Light, dark, small and printed; returns nothing, and leaves a picture of each."""
    def background():
        return sum(map(int, browser.evaluate(
            "getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")[:3]))

    def fits():
        # Names are long, so that what is too wide for the window would widen the page.
        return browser.evaluate("document.documentElement.scrollWidth <= innerWidth")

    for look, size, dark in (("light", WIDE, False), ("dark", WIDE, True), ("small", SMALL, False),
                             ("small-dark", SMALL, True)):
        browser.open(page, size, dark)
        check(fits(), f"{page.name}: {look}: wider than its window")
        check((background() > 600) != dark, f"{page.name}: {look}: the background has sum {background()}")
        browser.picture(pictures / f"{page.stem}-{look}.png")
        check_events(browser, page)

    # In dark, because paper is light.
    browser.open(page, WIDE, True)
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    check(pdf.startswith(b"%PDF") and len(pdf) > 20_000, f"{page.name}: no PDF")
    (pictures / f"{page.stem}.pdf").write_bytes(pdf)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[
        {"name": "prefers-color-scheme", "value": "dark"}])
    browser.resize((720, 1000))
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    browser.settle()
    check(background() > 600, f"{page.name}: printed dark")
    check(browser.evaluate("[...document.querySelectorAll('.chart details')].every((at) => "
                           "at.open && at.querySelector('td') !== null)"), f"{page.name}: printed without numbers")
    check(fits(), f"{page.name}: wider than paper")
    browser.picture(pictures / f"{page.stem}-print.png")
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    check(not browser.evaluate("document.querySelector('.chart details').open"), "open after printing")
    check_events(browser, page)


def check_keyboard(browser, page):
    browser.open(page)
    browser.press("Tab")
    check(browser.evaluate("document.activeElement.matches('.skip') && "
                           "document.activeElement.getBoundingClientRect().left >= 0"), "the first stop skips")
    stops = []
    for _ in range(12):
        browser.press("Tab")
        stops.append(browser.evaluate("document.activeElement.id || document.activeElement.tagName"))
    for stop in ("resource", "measure", "open-tables", "SUMMARY"):
        check(stop in stops, f"Tab does not come to {stop}: {stops}")
    canvas = "document.querySelector('canvas')"
    spoken = "document.activeElement.closest('section').querySelector('[aria-live]').textContent"
    browser.evaluate(f"{canvas}.focus()")
    browser.press("ArrowRight")
    first = browser.evaluate(spoken)
    browser.press("End")
    last = browser.evaluate(spoken)
    check(first and last and first != last, f"the keys say {first!r}, then {last!r}")
    check(browser.evaluate(f"Chart.getChart({canvas}).tooltip.opacity") > 0, "the keys show no values")
    browser.evaluate("document.getElementById('heat-0').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowUp")
    check("nodes" in browser.evaluate(spoken), "the keys say nothing of the map")
    check_events(browser, page)


# --- Simulations. ---

class Simulations:
    def __init__(self, headroom, directory):
        self.headroom, self.directory = headroom, directory

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path.relative_to(self.directory)

    def run(self, name, *arguments):
        """The page, and the same simulation's report as JSON."""
        result = subprocess.run(
            [self.headroom, "simulate", *map(str, arguments), "--report", f"{name}.html", "--json"],
            cwd=self.directory, capture_output=True, text=True)
        check(result.returncode == 0, f"{name}: {result.stderr}")
        return self.directory / f"{name}.html", json.loads(result.stdout)


PROFILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {score: {enabled: [{name: %s}]}}}]
"""
TEMPLATES = """
apiVersion: v1
kind: Node
metadata: {name: c32, labels: {pool: general}}
status: {capacity: {cpu: 32, memory: 256Gi, pods: 110}}
---
apiVersion: v1
kind: Node
metadata: {name: v100, labels: {pool: gpu, nvidia.com/gpu.product: V100M32}}
status: {capacity: {cpu: 96, memory: 768Gi, pods: 110, nvidia.com/gpu: 8}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata: {name: gpus}
spec: {selector: {matchLabels: {pool: gpu}}, limits: {resources: {nvidia.com/gpu: 60}}}
"""


def hostile_cluster():
    """Two nodes whose taint, which a failure names, is markup, and three pods."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"</script><script>harmed=1</script>{HARM}"},
            "spec": {"taints": [{"key": f"</script>{HARM}<!--<script>", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", HARM: "4"}}}
    plain = json.loads(json.dumps(node))
    plain["metadata"]["name"] = "plain"
    del plain["spec"]
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{p}", "namespace": "<b>"},
             "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3", HARM: "1"},
                                                                 "limits": {HARM: "1"}}}]}} for p in range(3)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, plain, *pods]})


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    program = os.environ.get("HEADROOM_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        print("skipped: no chromium here; install the package chromium, or name one in HEADROOM_CHROMIUM")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        pictures = pathlib.Path(os.environ.get("HEADROOM_SCREENSHOTS") or directory / "pictures").absolute()
        pictures.mkdir(parents=True, exist_ok=True)
        simulations = Simulations(pathlib.Path(sys.argv[1]).absolute(), directory)
        limits = simulations.write("limit-aware.yaml", PROFILE % "LimitAware")
        requests = simulations.write("least-allocated.yaml", PROFILE % "NodeResourcesFit")
        harmful = simulations.write(f"{HARM}.yaml", PROFILE % "LimitAware")
        harmful_cluster = simulations.write(f"<{os.sep}script>{HARM}.json", hostile_cluster())
        templates = simulations.write("templates.yaml", TEMPLATES)
        browser = Browser(program, directory)
        try:
            several = simulations.run("several", "--nodes", 50, "--pods", 900, "--no-departures", "--config", limits,
                                      "--config", requests)
            visit(browser, *several, all_choices=True)
            check_looks(browser, several[0], pictures)
            check_keyboard(browser, several[0])

            quotas = simulations.run("quotas", "--nodes", 30, "--pods", 600, "--elastic-quotas", 5, "--no-departures")
            visit(browser, *quotas, all_choices=False)

            growth = simulations.run("growth", "--start-nodes", 20, "--autoscale", templates)
            visit(browser, *growth, all_choices=False)
            check_looks(browser, growth[0], pictures)

            harmed = simulations.run("harmed", "--cluster", harmful_cluster, "--config", harmful)
            check(HARM in json.dumps(harmed[1]), "no markup among the names")
            visit(browser, *harmed, all_choices=False)
            check(browser.evaluate("typeof harmed === 'undefined' && document.images.length === 0 && "
                                   "document.scripts.length === 4"), "a name became markup")
            check(browser.evaluate("document.body.textContent").count(HARM) > 3, "names are not shown as they are")
        finally:
            browser.close()
    print("the report passed")


if __name__ == "__main__":
    main()
