#!/usr/bin/env python3
"""Dashboard and alerts know the metrics of headroomd and of its kube-scheduler plugin, and the dashboard shows them all.

    tests/server/metrics_names_test.py SOURCE-DIRECTORY METRICS-TEXT-FILE

METRICS-TEXT-FILE: what a running headroomd gives at /metrics. Every metric that an expression of
deploy/grafana-dashboard.json or deploy/alert-rules.yaml names must be there, with the labels that the
expression reads and the values that it compares them with; and the dashboard must use every metric that is there, and
docs/operating.md have each headroomd_* of them and each alert, which has a runbook and a test. The plugin's metrics, which kube-scheduler has, are read
out of shim/plugin/metrics.go, and held to the same; no name is one of both. The dashboard's panels have an id and a
place each of their own. Standard library only: expressions are read by regular expressions, which is enough for what
these two files hold.
"""

import json
import pathlib
import re
import sys

# Added by Prometheus when it scrapes; `up` too.
SCRAPE_LABELS = {"job", "instance"}
FUNCTIONS = {"sum", "min", "max", "avg", "count", "rate", "increase", "deriv", "histogram_quantile", "time"}
KEYWORDS = {"and", "or", "unless", "group_left", "group_right", "bool"}


def read_text(path):
    """Metric -> label -> values (None: any), and the names by which expressions may call each."""
    kinds, labels = {}, {}
    for line in path.read_text().splitlines():
        declared = re.fullmatch(r"# TYPE (\S+) (\S+)", line)
        if declared:
            kinds[declared[1]] = declared[2]
        sample = re.match(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? \S+", line)
        if sample and not line.startswith("#"):
            values = labels.setdefault(sample[1], {})
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or ""):
                values.setdefault(label, set()).add(value)
    families = {}
    for name, kind in kinds.items():
        suffixes = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        families[name] = {name + suffix for suffix in suffixes} & labels.keys()
    return families, labels


def read_plugin(path):
    """The same of what the plugin registers, by its source."""
    text = path.read_text()
    outcomes = set(re.findall(r'"(\w+)"', re.search(r"var outcomes = \[\]string\{(.*?)\}", text, re.S)[1]))
    prefix = re.search(r'const subsystem = "(\w+)"', text)[1]
    families, labels = {}, {}
    for kind, name, listed in re.findall(
            r'metrics\.New(Counter|Gauge|Histogram)(?:Vec)?\(&metrics\.\w+Opts\{\s*'
            r'Subsystem: subsystem, Name: "(\w+)".*?\n\t\}(?:, \[\]string\{(.*?)\})?\)', text, re.S):
        name = f"{prefix}_{name}"
        suffixes = ("_bucket", "_sum", "_count") if kind == "Histogram" else ("",)
        families[name] = {name + suffix for suffix in suffixes}
        for called in families[name]:
            labels[called] = {label: outcomes if label == "outcome" else None
                              for label in re.findall(r'"(\w+)"', listed)}
            if called.endswith("_bucket"):
                labels[called]["le"] = None
    return families, labels


def dashboard_expressions(path):
    found = []

    def walk(item, where):
        if isinstance(item, dict):
            where = item.get("title", where)
            if "expr" in item:
                found.append((f"panel \"{where}\"", item["expr"]))
            # The variables' queries: label_values(METRIC{...}, LABEL)
            query = item.get("definition")
            if isinstance(query, str) and (call := re.fullmatch(r"label_values\((.*), *\w+\)", query)):
                found.append((f"variable \"{item['name']}\"", call[1]))
            for value in item.values():
                walk(value, where)
        elif isinstance(item, list):
            for value in item:
                walk(value, where)

    walk(json.loads(path.read_text()), path.name)
    return found


def check_places(path, faults):
    ids, places = set(), {}
    for panel in json.loads(path.read_text())["panels"]:
        place = panel["gridPos"]
        if panel["id"] in ids:
            faults.append(f"panel \"{panel['title']}\": id {panel['id']} is another panel's")
        ids.add(panel["id"])
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = places.setdefault((x, y), panel["title"])
                if other != panel["title"]:
                    faults.append(f"panel \"{panel['title']}\" lies on \"{other}\"")
                    return


def alert_expressions(path):
    """`expr: ...`, on its line or folded (>-, |) on the lines that stand further in."""
    found, alert = [], path.name
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        if name := re.match(r"\s*-? *alert: *(\S+)", line):
            alert = name[1]
        if start := re.match(r"( *(?:- +)?)expr: *(.*)", line):
            expression = start[2]
            if re.fullmatch(r"[>|][+-]?", expression):
                folded = []
                for more in lines[number + 1:]:
                    if more.strip() and len(more) - len(more.lstrip()) <= len(start[1]):
                        break
                    folded.append(more.strip())
                expression = " ".join(folded)
            found.append((f"alert {alert}", expression.strip("'\"")))
    return found


def check_runbooks(source, faults):
    """Each alert has a runbook: a section of a page."""
    for rule in re.split(r"^ *- alert: *", (source / "deploy/alert-rules.yaml").read_text(), flags=re.M)[1:]:
        alert = rule.split()[0]
        runbook = re.search(r"^ *runbook: (\S+?)#(\S+)$", rule, re.M)
        if not runbook:
            faults.append(f"alert {alert} has no runbook")
            continue
        page = source / runbook[1]
        headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M) if page.is_file() else []
        if runbook[2] not in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}:
            faults.append(f"alert {alert}: there is no {runbook[1]}#{runbook[2]}")


def parse(expression):
    """The metrics with their matchers, and the labels of by (...), on (...)."""
    grouped = {label
               for clause in re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", expression)
               for label in re.findall(r"\w+", clause)}
    rest = re.sub(r"\b(?:by|on|without|ignoring)\s*\([^)]*\)", " ", expression)
    rest = re.sub(r"\[[^\]]*\]", " ", rest)
    metrics = []
    # The matchers go with their metric, so that nothing in them is taken for one.
    for name, matchers in re.findall(r"(?<![\w.$])([A-Za-z_:][\w:]*)\s*(?:\{([^}]*)\})?", rest):
        if name in FUNCTIONS or name in KEYWORDS:
            continue
        metrics.append((name, re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers)))
    return metrics, grouped


def check(where, expression, labels, faults):
    metrics, grouped = parse(expression)
    if not metrics:
        faults.append(f"{where}: no metric in: {expression}")
    for name, matchers in metrics:
        if name == "up":
            known = {}
        elif name in labels:
            known = labels[name]
        else:
            faults.append(f"{where}: {name} is not in the metrics text")
            continue
        for label in sorted(grouped - SCRAPE_LABELS - known.keys()):
            faults.append(f"{where}: {name} has no label {label}")
        for label, operator, value in matchers:
            if label in SCRAPE_LABELS:
                continue
            if label not in known:
                faults.append(f"{where}: {name} has no label {label}")
            elif operator == "=" and known[label] is not None and value not in known[label]:
                faults.append(f"{where}: {name} has no {label}=\"{value}\"")
    return {name for name, _ in metrics}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    families, labels = read_text(pathlib.Path(sys.argv[2]))
    if not any(name.startswith("headroomd_") for name in families):
        sys.exit(f"{sys.argv[2]}: no headroomd_* metric in it")
    plugin_families, plugin_labels = read_plugin(source / "shim/plugin/metrics.go")
    if not plugin_families:
        sys.exit("shim/plugin/metrics.go: no metric in it")
    faults, shown = [], set()
    for name in sorted(families.keys() & plugin_families.keys()):
        faults.append(f"{name} is a metric of headroomd and one of the plugin")
    families, labels = {**plugin_families, **families}, {**plugin_labels, **labels}
    dashboard = dashboard_expressions(source / "deploy/grafana-dashboard.json")
    alerts = alert_expressions(source / "deploy/alert-rules.yaml")
    for what, expressions in (("the dashboard", dashboard), ("the alert rules", alerts)):
        if not expressions:
            faults.append(f"{what}: no expressions")
    for where, expression in dashboard:
        shown |= check(where, expression, labels, faults)
    check_places(source / "deploy/grafana-dashboard.json", faults)
    for where, expression in alerts:
        check(where, expression, labels, faults)
    for name, called in sorted(families.items()):
        if not called & shown:
            faults.append(f"the dashboard does not show {name}")
    page = (source / "docs/operating.md").read_text()
    for name in sorted(families):
        if name.startswith("headroom") and f"| `{name}` |" not in page:
            faults.append(f"docs/operating.md does not have {name}")
    for alert in {where.removeprefix("alert ") for where, _ in alerts}:
        if f"| {alert} |" not in page:
            faults.append(f"docs/operating.md does not have the alert {alert}")
    tested = (source / "tests/server/alert_rules_test.yaml").read_text()
    for alert in sorted({where.removeprefix("alert ") for where, _ in alerts}):
        if f'alertname="{alert}"' not in tested:
            faults.append(f"tests/server/alert_rules_test.yaml does not have the alert {alert}")
    check_runbooks(source, faults)
    for name in re.findall(r"^\| `(headroom\w+)` \|", page, re.M):
        if name not in families:
            faults.append(f"docs/operating.md: there is no {name}")
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(1)
    print(f"{len(dashboard)} expressions of the dashboard and {len(alerts)} of the alert rules,"
          f" {len(families)} metrics")


if __name__ == "__main__":
    main()
