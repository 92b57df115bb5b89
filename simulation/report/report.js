// Draws a simulation's report from the JSON in the page (simulation/report/series_json.h says what is in it).
// Text of users reaches the page through textContent alone.
(() => {
  "use strict";

  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  const runs = data.runs ?? [data];
  const root = document.documentElement;
  const places = {figures: document.getElementById("figures"), charts: document.getElementById("charts")};
  const choices = Object.fromEntries(
    ["resource", "measure", "quota"].map((id) => [id, document.getElementById(id)]));
  const openTables = document.getElementById("open-tables");

  const kMeasures = {
    requested: "requests", limits: "limits", estimated_usage: "estimated usage", usage: "simulated usage",
  };
  const kQuantiles = {mean: "mean", p50: "p50", p90: "p90", p99: "p99", max: "fullest node"};
  const kDashes = [[], [8, 3], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4], [1, 4], [6, 2, 1, 2, 1, 2]];
  const kPrintedRows = 16;

  // --- Elements and numbers. -------------------------------------------------------------------

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  const formats = new Map();
  function text(value, digits = 0) {
    if (value === null || value === undefined) return "–";
    if (!formats.has(digits)) {
      formats.set(digits, new Intl.NumberFormat("en", {maximumFractionDigits: digits}));
    }
    return formats.get(digits).format(value);
  }
  const withUnit = (value, unit, digits) =>
    value === null || value === undefined || !unit ? text(value, digits) : `${text(value, digits)} ${unit}`;

  // How amounts of a resource are shown.
  function amountUnit(name, unit) {
    if (unit === "milli") return {unit: "cores", one: 1000};
    if (name === "memory" || name === "ephemeral-storage") return {unit: "GiB", one: 2 ** 30};
    return {unit: name, one: 1};
  }

  const share = (part, whole) => (whole > 0 ? (100 * part) / whole : null);
  const isAny = (values) => values.some((value) => value > 0);
  const ordinal = (step) => `every ${step}${["th", "st", "nd", "rd"][step] ?? "th"}`;

  // --- The axis that all charts share. ----------------------------------------------------------

  const latest = (column) => Math.max(...runs.map((run) => run.series[column].at(-1)));
  const from = runs[0].series.from.replace("T", " ").replace("Z", " UTC");
  const [timeUnit, oneOfTime] = latest("seconds") > 3 * 86400 ? ["days", 86400]
    : latest("seconds") > 3 * 3600 ? ["hours", 3600] : latest("seconds") > 180 ? ["minutes", 60] : ["seconds", 1];
  const axis = runs[0].series.axis === "decisions" ? {
    title: "pods decided", end: latest("decisions"), precision: 0,
    values: (run) => run.series.decisions,
    label: (x) => `after ${text(x)} pods`,
  } : {
    title: `${timeUnit} since ${from}`, end: latest("seconds") / oneOfTime,
    values: (run) => run.series.seconds.map((second) => second / oneOfTime),
    label: (x) => `${text(x, 2)} ${timeUnit}`,
  };

  // --- Charts. ----------------------------------------------------------------------------------

  let drawn = [];
  let printing = false;
  const color = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const lineColor = (index) => color(`line-${(index % 8) + 1}`);
  const lineDash = (index) => kDashes[(index + Math.floor(index / 8)) % kDashes.length];

  function legendLine(name, index) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 32 10");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [key, value] of Object.entries({
      x1: 0, x2: 32, y1: 5, y2: 5, "stroke-width": 3, "stroke": lineColor(index),
      "stroke-dasharray": lineDash(index).join(" "),
    })) {
      line.setAttribute(key, value);
    }
    svg.append(line);
    return element("li", {}, svg, name);
  }

  // A table of `columns` [{name, values by x}] with a row for each x.
  function table(caption, columns) {
    const xs = [...new Set(columns.flatMap((column) => [...column.at.keys()]))].sort((a, b) => a - b);
    const step = Math.max(1, Math.ceil(xs.length / kPrintedRows));
    if (printing && step > 1) caption += `; ${ordinal(step)} moment, the page has all`;
    const body = element("tbody");
    xs.forEach((x, row) => {
      const between = row % step !== 0 && row !== xs.length - 1;
      const line = element("tr", between ? {class: "between"} : {}, element("th", {scope: "row"}, text(x, 2)));
      for (const column of columns) {
        line.append(element("td", {}, text(column.at.get(x), column.digits ?? 1)));
      }
      body.append(line);
    });
    const head = element("tr", {}, element("th", {scope: "col"}, axis.title));
    for (const column of columns) head.append(element("th", {scope: "col"}, column.name));
    return element("table", {class: columns.length > 10 ? "wide" : null}, element("caption", {}, caption), element("thead", {}, head), body);
  }

  function section(place, {id, title, about, legend}, describe) {
    const canvas = element("canvas", {id, tabindex: 0, role: "img", "aria-label": `${title}. ${describe()}`});
    if (printing) Object.assign(canvas, {width: 680, height: 250});
    const spoken = element("p", {class: "hidden-text", "aria-live": "polite"});
    const numbers = element("div", {class: "table", tabindex: 0, role: "region", "aria-label": `Numbers: ${title}`});
    const details = element("details", {open: printing || openTables.getAttribute("aria-pressed") === "true"},
      element("summary", {}, "Numbers"), numbers);
    place.append(element("section", {class: "chart", "aria-labelledby": `${id}-title`},
      element("h3", {id: `${id}-title`}, title), element("ul", {class: "legend"}, ...legend),
      element("div", {class: "canvas"}, canvas), about ? element("p", {class: "about"}, about) : "", spoken, details));
    return {canvas, spoken, details, numbers};
  }

  // Tables are long: each is made when it is opened.
  function fillWhenOpen({details, numbers}, make) {
    const fill = () => {
      if (details.open && numbers.childElementCount === 0) numbers.append(make());
    };
    details.addEventListener("toggle", fill);
    fill();
  }

  // The arrow keys do what the mouse does: they move along the chart and show its values.
  function followKeys({canvas, spoken}, chart, {columns, rows = 1, elements, say}) {
    let column = -1, row = 0;
    canvas.addEventListener("keydown", (event) => {
      const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], Home: [-columns, 0], End: [columns, 0]};
      if (rows > 1) Object.assign(moves, {ArrowUp: [0, 1], ArrowDown: [0, -1]});
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      const within = (value, count) => Math.max(0, Math.min(count - 1, value));
      column = within(column + move[0], columns);
      row = within(row + move[1], rows);
      const active = elements(column, row);
      chart.setActiveElements(active);
      const at = active.length > 0 ? chart.getDatasetMeta(active[0].datasetIndex).data[active[0].index] : null;
      chart.tooltip.setActiveElements(active, at ? {x: at.x, y: at.y} : {x: 0, y: 0});
      chart.update();
      spoken.textContent = say(column, row);
    });
  }

  function options(yTitle, tooltip) {
    const grid = {color: color("rule"), borderColor: color("quiet")};
    const ticks = {color: color("text"), maxRotation: 0, autoSkipPadding: 16};
    const title = (words) => ({display: true, text: words, color: color("quiet")});
    return {
      animation: false, maintainAspectRatio: false, responsive: !printing,
      devicePixelRatio: printing ? 2 : undefined,
      interaction: {mode: "index", intersect: false},
      scales: {
        x: {type: "linear", grid, ticks: {...ticks, includeBounds: false, precision: axis.precision}, title: title(axis.title), max: axis.end},
        y: {beginAtZero: true, grid, ticks: {...ticks}, title: title(yTitle)},
      },
      plugins: {legend: {display: false}, tooltip: {callbacks: tooltip}},
    };
  }

  // lines: [{name, run, values, amounts}], values in `unit`; amounts, if any, stand in the table alone.
  function lineChart(place, {id, title, about, unit, digits = 1, lines, stepped = false, stacked = false, top}) {
    const at = (line, values) => new Map(axis.values(line.run).map((x, s) => [x, values[s]]));
    const highest = (line) => Math.max(0, ...line.values.filter((value) => value !== null));
    const frame = section(place, {id, title, about, legend: lines.map((line, l) => legendLine(line.name, l))},
      () => lines.map((line) => `${line.name}: at the end ${withUnit(line.values.at(-1), unit, digits)}, ` +
        `at most ${withUnit(highest(line), unit, digits)}`).join("; "));
    const settings = options(unit, {
      title: (items) => (items.length > 0 ? axis.label(items[0].parsed.x) : ""),
      label: (item) => ` ${item.dataset.label}: ${withUnit(item.parsed.y, unit, digits)}`,
    });
    settings.scales.y.stacked = stacked;
    settings.scales.y.suggestedMax = top;
    if (digits === 0) settings.scales.y.ticks.precision = 0;
    if (unit === "%") {
      settings.scales.y.grid = {
        ...settings.scales.y.grid,
        color: (context) => (context.tick?.value === 100 ? color("bound") : color("rule")),
      };
    }
    const chart = new Chart(frame.canvas, {
      type: "line",
      data: {
        datasets: lines.map((line, l) => ({
          label: line.name,
          data: axis.values(line.run).map((x, s) => ({x, y: line.values[s]})),
          borderColor: lineColor(l), backgroundColor: stacked ? `${lineColor(l)}66` : lineColor(l),
          borderDash: lineDash(l), borderWidth: 2, pointRadius: 0, pointHitRadius: 6, pointHoverRadius: 4,
          order: stacked ? 0 : lines.length - l,  // dashes over what is drawn without
          stepped: stepped ? "after" : false, fill: stacked ? (l === 0 ? "origin" : "-1") : false, spanGaps: true,
        })),
      },
      options: settings,
    });
    drawn.push(chart);
    const longest = lines.reduce((a, b) => (b.values.length > a.values.length ? b : a));
    followKeys(frame, chart, {
      columns: longest.values.length,
      elements: (index) => lines.map((line, datasetIndex) => ({datasetIndex, index}))
        .filter(({datasetIndex}) => index < lines[datasetIndex].values.length),
      say: (index) => `${axis.label(axis.values(longest.run)[index])}: ` +
        lines.map((line) => `${line.name} ${withUnit(line.values[index], unit, digits)}`).join(", "),
    });
    fillWhenOpen(frame, () => table(title, lines.flatMap((line) => {
      const columns = [{name: unit ? `${line.name} (${unit})` : line.name, at: at(line, line.values), digits}];
      if (line.amounts) {
        columns.push({name: `${line.name} (${line.amounts.unit})`, at: at(line, line.amounts.values), digits: 1});
      }
      return columns;
    })));
  }

  // From a channel of heat-0 to heat-3, the square root of the share of nodes along.
  function heatColor(part) {
    if (part === 0) return "transparent";
    const stops = [0, 1, 2, 3].map((stop) => color(`heat-${stop}`).match(/[0-9a-f]{2}/g).map((hex) => parseInt(hex, 16)));
    const along = Math.sqrt(part) * 3, stop = Math.min(2, Math.floor(along));
    const mixed = stops[stop].map((low, c) => Math.round(low + (stops[stop + 1][c] - low) * (along - stop)));
    return `rgb(${mixed.join(",")})`;
  }

  // Nodes by bucket: rows[sample][bucket].
  function heatMap(place, {id, title, about, run, rows}) {
    const bounds = run.series.bucket_percent;
    const top = Math.max(10, ...rows.map((row) => row.findLastIndex((nodes) => nodes > 0)));
    const buckets = bounds.slice(0, top + 1).map((bound, b) =>
      b === 0 ? "empty" : bound === null ? `above ${bounds[b - 1]} %` : `${bounds[b - 1]} to ${bound} %`);
    const of = rows.map((row) => row.reduce((sum, nodes) => sum + nodes, 0));
    const ramp = [0.001, 0.01, 0.05, 0.2, 0.5, 1].map((part) => {
      const box = element("span", {class: "ramp"});
      box.style.background = heatColor(part);
      return element("li", {}, box, `${text(100 * part, 1)} %`);
    });
    const frame = section(place, {id, title, about, legend: ramp}, () => {
      const last = rows.at(-1);
      return `At the end: ${last.map((nodes, b) => [nodes, b]).filter(([nodes]) => nodes > 0)
        .map(([nodes, b]) => `${text(nodes)} nodes ${buckets[b]}`).join(", ")}`;
    });
    const describe = (s, b) => `${text(rows[s][b])} nodes (${text(share(rows[s][b], of[s]), 1)} %): ${buckets[b]}`;
    const settings = options("% of allocatable", {
      title: (items) => (items.length > 0 ? axis.label(axis.values(run)[items[0].dataIndex]) : ""),
      label: (item) => ` ${describe(item.dataIndex, item.datasetIndex)}`,
    });
    const xs = axis.values(run);
    settings.interaction = {mode: "nearest", intersect: true};
    settings.scales.x = {
      ...settings.scales.x, type: "category", stacked: true, offset: true,
      grid: {display: false, borderColor: color("quiet")},
    };
    settings.scales.x.ticks = {...settings.scales.x.ticks, callback: (s) => text(xs[s], xs.at(-1) > 20 ? 0 : 1)};
    const height = bounds[1] - bounds[0];
    const last = bounds[top] === null ? top - 1 : top;  // the last bucket with an upper end
    settings.scales.y = {
      ...settings.scales.y, stacked: true, beginAtZero: false, min: -height, max: height * top,
      afterBuildTicks: (scale) => {
        scale.ticks = [{value: -height / 2}];
        const step = top > 20 ? 5 : 2;
        for (let b = step; b <= (last < top ? last - 1 : top); b += step) scale.ticks.push({value: b * height});
        if (last < top) scale.ticks.push({value: (top - 0.5) * height});
      },
    };
    settings.scales.y.ticks.callback = (value) => (value < 0 ? "empty" : value > last * height ? "more" : value);
    settings.scales.y.ticks.autoSkip = false;
    settings.scales.y.grid = {
      color: (context) => (context.tick?.value === 100 ? color("bound") : "transparent"), borderColor: color("quiet"), z: 1,
    };
    const chart = new Chart(frame.canvas, {
      type: "bar",
      data: {
        labels: xs,
        datasets: buckets.map((label, b) => ({
          label, nodes: rows.map((row) => row[b]), data: rows.map(() => (b === 0 ? -height : height)),
          backgroundColor: rows.map((row, s) => heatColor(of[s] > 0 ? row[b] / of[s] : 0)),
          barPercentage: 1, categoryPercentage: 1, borderWidth: 0, hoverBorderWidth: 2, hoverBorderColor: color("focus"),
          borderSkipped: false,
        })),
      },
      options: settings,
    });
    drawn.push(chart);
    followKeys(frame, chart, {
      columns: rows.length, rows: buckets.length,
      elements: (index, datasetIndex) => [{datasetIndex, index}],
      say: (s, b) => `${axis.label(xs[s])}: ${describe(s, b)}`,
    });
    const heads = bounds.slice(0, top + 1).map((bound, b) => (b === 0 ? "empty" : bound ?? "more"));
    fillWhenOpen(frame, () => table(`${title}: nodes up to so many percent`, heads.map((name, b) => ({
      name, digits: 0, at: new Map(xs.map((x, s) => [x, rows[s][b]])),
    }))));
  }

  // --- What is drawn. ---------------------------------------------------------------------------

  const resourceOf = (run) => run.series.resources.find((resource) => resource.name === choices.resource.value);
  const name = (run) => run.profile;
  const perRun = (title, run) => (runs.length > 1 ? `${title}: ${name(run)}` : title);

  function group(title) {
    const grid = element("div", {class: "grid"});
    places.charts.append(element("section", {}, element("h2", {}, title), grid));
    return grid;
  }

  // One chart with a line for each kind, or, of several runs, a chart for each kind with a line for each run.
  function overview(place, id, title, kinds, unit, digits, lineOf) {
    const linesOf = (kind) => runs.map((run) => ({run, ...lineOf(run, kind)}));
    if (runs.length === 1) {
      const lines = Object.entries(kinds).map(([kind, {words}]) => ({...linesOf(kind)[0], name: words}));
      const about = [...new Set(Object.values(kinds).map((kind) => kind.about))].filter(Boolean).join(" ");
      if (lines.length > 0) lineChart(place, {id, title, about, unit, digits, lines});
      return;
    }
    for (const [kind, {words, about}] of Object.entries(kinds)) {
      lineChart(place, {
        id: `${id}-${kind}`, title: `${title}: ${words}`, about, unit, digits,
        lines: linesOf(kind).map((line) => ({...line, name: name(line.run)})),
      });
    }
  }

  function drawCluster() {
    const chosen = choices.resource.value, first = resourceOf(runs[0]);
    if (!first) return;
    const shown = amountUnit(first.name, first.unit);
    const place = group(`${chosen} of the cluster over time`);
    const about = {
      estimated_usage: "Estimated as LoadAwareScheduling does: the limit where it is above the request, " +
        "else 85 % of the requested cpu and 70 % of the requested memory.",
      usage: "Simulated: one pod in ten, drawn for each moment, uses all of its limits, the others a share of their requests.",
    };
    const kinds = Object.fromEntries(Object.entries(kMeasures).filter(([measure]) => first[measure])
      .map(([measure, words]) => [measure, {words, about: about[measure]}]));
    overview(place, "cluster", "Share of allocatable", kinds, "%", 1, (run, measure) => {
      const resource = resourceOf(run);
      return {
        values: resource[measure].sum.map((sum, s) => share(sum, resource.allocatable[s])),
        amounts: {unit: shown.unit, values: resource[measure].sum.map((sum) => sum / shown.one)},
      };
    });

    const nodes = {limits: {words: "limits above 100 %", about: "Over-subscribed: the limits of a node's pods add up to more than its allocatable."}};
    const hot = `Hot nodes: above LoadAwareScheduling's default threshold, ${first.hot_percent} %.`;
    for (const measure of ["estimated_usage", "usage"]) {
      if (!first[measure] || !first.hot_percent) continue;
      nodes[`${measure}-100`] = {words: `${kMeasures[measure]} above 100 %`};
      nodes[measure] = {words: `${kMeasures[measure]} above ${first.hot_percent} %`, about: hot};
    }
    const counts = group(`Over-subscribed and hot nodes: ${chosen}`);
    overview(counts, "nodes-over", "Nodes", nodes, "nodes", 0, (run, kind) => {
      const at = resourceOf(run)[kind.replace("-100", "")];
      return {values: kind === "limits" || kind.endsWith("-100") ? at.nodes_above_100 : at.hot_nodes};
    });
  }

  function drawNodes() {
    const measure = choices.measure.value, words = kMeasures[measure], chosen = choices.resource.value;
    if (!resourceOf(runs[0])) return;
    const place = group(`How nodes share it: ${words} of ${chosen}`);
    const of = (run) => resourceOf(run)[measure];
    const top = Math.max(...runs.flatMap((run) => of(run).max));
    for (const [r, run] of runs.entries()) {
      lineChart(place, {
        id: `quantiles-${r}`, title: perRun(`Quantiles of the nodes, ${words} of ${chosen}`, run), unit: "%", digits: 1, top,
        about: "In percent of each node's allocatable. p99: 99 of 100 nodes have no more.",
        lines: Object.entries(kQuantiles).map(([quantile, label]) => ({name: label, run, values: of(run)[quantile]})),
      });
    }
    for (const [r, run] of runs.entries()) {
      heatMap(place, {
        id: `heat-${r}`, title: perRun(`Share of the nodes by ${words} of ${chosen}`, run), run, rows: of(run).nodes,
        about: "How many of the nodes are so full; the line marks 100 %. Arrow keys move over the map.",
      });
    }
  }

  function drawPods() {
    const place = group("Pods");
    const one = (id, title, values, more = {}) => {
      if (!runs.some((run) => isAny(values(run)))) return;
      lineChart(place, {
        id, title, digits: 0, unit: "pods",
        lines: runs.map((run) => ({name: runs.length > 1 ? name(run) : title, run, values: values(run)})), ...more,
      });
    };
    one("pods", "Pods on nodes", (run) => run.series.pods);
    one("pending", "Pending pods", (run) => run.series.pending,
      {about: "Pods without a node whose time has not ended, also those that are not tried again."});
    for (const [r, run] of runs.entries()) {
      const lines = run.series.failures.map(({reason, pods}) => ({name: reason, run, values: pods}));
      if (lines.length === 0) continue;
      lineChart(place, {
        id: `failures-${r}`, title: perRun("Failed pods by the reason of most nodes", run), unit: "pods", digits: 0, lines,
        stepped: true, stacked: true, about: "Since the moment before.",
      });
    }
    for (const [r, run] of runs.entries()) {
      if (!isAny(run.series.victims)) continue;
      const kinds = {victims: "victims", victims_placed_again: "placed again", preemptors: "preemptors"};
      lineChart(place, {
        id: `victims-${r}`, title: perRun("Victims of preemption", run), unit: "pods", digits: 0, stepped: true,
        about: "Since the moment before: pods that had to go, those of them that found a new place, and pods they made room for.",
        lines: Object.entries(kinds).map(([kind, label]) => ({name: label, run, values: run.series[kind]})),
      });
    }
    one("nodes", "Nodes", (run) => run.series.nodes.map((nodes, s, all) => (new Set(all).size > 1 ? nodes : 0)),
      {unit: "nodes"});
    one("speed", "Decisions per second", (run) => run.speed.decisions_per_second,
      {unit: "decisions per second", about: "Of the engine's own time on the machine that ran this: another run differs."});
  }

  function drawElasticQuotas() {
    if (!runs.some((run) => run.series.elastic_quota_totals)) return;
    const chosen = choices.quota.value;
    const found = runs.map((run) => {
      const list = chosen === "" ? run.series.elastic_quota_totals : run.series.elastic_quotas
        ?.find((quota) => `${quota.namespace}/${quota.name}` === chosen)?.resources;
      return list?.find((resource) => resource.name === choices.resource.value);
    });
    if (!found.some(Boolean)) return;
    const place = group(`Elastic quotas: ${chosen === "" ? "all of them" : chosen}, ${choices.resource.value}`);
    for (const [r, run] of runs.entries()) {
      const at = found[r];
      if (!at) continue;
      const shown = amountUnit(at.name, at.unit);
      const flat = (amount) => run.series.seconds.map(() => amount / shown.one);
      const lines = ["used", "borrowed", "lent"]
        .map((kind) => ({name: kind, run, values: at[kind].map((amount) => amount / shown.one)}));
      if (at.min !== undefined) lines.push({name: "min", run, values: flat(at.min)});
      if (at.max) lines.push({name: "max", run, values: flat(at.max)});
      lineChart(place, {
        id: `quota-${r}`, title: perRun("Used, borrowed and lent", run), unit: shown.unit, lines,
        about: "Borrowed is used above min; lent is what others borrow of a min that is left unused.",
      });
    }
  }

  function drawCapacityQuotas() {
    for (const [r, run] of runs.entries()) {
      const limits = run.series.capacity_quotas;
      if (!limits?.length) continue;
      const place = group(perRun("Capacity quotas", run));
      const label = (limit) => `${limit.quota} ${limit.resource}`;
      lineChart(place, {
        id: `capacity-${r}`, title: perRun("Used and reserved of each limit", run), unit: "%",
        about: "Nodes that are there and nodes under way.",
        lines: limits.map((limit) => ({
          name: label(limit), run,
          values: limit.used.map((used, s) => share(used + limit.reserved[s], limit.limit[s])),
        })),
      });
      const blocking = limits.filter((limit) => isAny(limit.nodes_refused));
      if (blocking.length > 0) {
        lineChart(place, {
          id: `refused-${r}`, title: perRun("Nodes that a limit keeps away", run), unit: "nodes", digits: 0, stepped: true,
          about: "Pods wait for them. Of several templates that would do, the one with the most nodes.",
          lines: blocking.map((limit) => ({name: label(limit), run, values: limit.nodes_refused})),
        });
      }
      place.append(blockedTable(run));
    }
  }

  function blockedTable(run) {
    const body = element("tbody");
    for (const quota of run.autoscaler.capacity_quotas) {
      for (const limit of quota.resources) {
        if (!limit.blocked_seconds && !limit.pods_waited) continue;
        const refused = Object.entries(limit.nodes_refused ?? {}).map(([kind, nodes]) => `${text(nodes)} ${kind}`);
        body.append(element("tr", {}, element("th", {scope: "row"}, `${quota.id} ${limit.name}`),
          element("td", {}, text(limit.blocked_seconds / 3600, 1)), element("td", {}, text(limit.pods_waited)),
          element("td", {}, refused.join(" or "))));
      }
    }
    if (body.childElementCount === 0) return element("p", {}, "No limit kept a node away.");
    const head = ["limit", "blocked (hours)", "pods that waited", "nodes refused at most"];
    return element("div", {class: "chart"}, element("table", {}, element("caption", {}, "What the limits blocked"),
      element("thead", {}, element("tr", {}, ...head.map((words) => element("th", {scope: "col"}, words)))), body));
  }

  function drawFigures() {
    const body = element("tbody");
    const row = (words, cell, part = false) => body.append(element("tr", {},
      element("th", {scope: "row", class: part ? "part" : null}, words),
      ...runs.map((run) => element("td", {}, cell(run)))));
    const heading = (words) => body.append(element("tr", {class: "group"},
      element("th", {scope: "rowgroup", colspan: runs.length + 1}, words)));
    row("pods placed", (run) => text(run.placed));
    row("pods failed", (run) => text(run.failed));
    const failed = (run, reason) => run.failures.find((failure) => failure.reason === reason)?.pods_mainly ?? 0;
    for (const reason of new Set(runs.flatMap((run) => run.failures.map((failure) => failure.reason)))) {
      if (runs.some((run) => failed(run, reason) > 0)) row(reason, (run) => text(failed(run, reason)), true);
    }
    for (const [kind, words] of Object.entries({
      deleting: "pods left out: being deleted", scheduling_gates: "pods left out: scheduling gates",
      other_schedulers: "pods left out: of other schedulers",
    })) {
      if (runs.some((run) => run.left_out[kind] > 0)) row(words, (run) => text(run.left_out[kind]));
    }
    if (runs.some((run) => run.preemption?.victims)) row("victims", (run) => text(run.preemption?.victims ?? 0));
    const asking = (run, what) => {
      const found = run.not_considered.find((entry) => entry.what === what);
      return found ? found.pods + found.pods_there : 0;
    };
    const asked = new Set(runs.flatMap((run) => run.not_considered.map((entry) => entry.what)));
    if (asked.size > 0) heading("not considered: pods that ask for");
    for (const what of asked) row(what, (run) => text(asking(run, what)));
    const first = resourceOf(runs[0]);
    if (first) {
      const of = (measure, figure, digits) => (run) => text(run.series.summary[first.name]?.[measure][figure], digits);
      heading(`${first.name}: requests, of each node's allocatable`);
      row("mean of the nodes (%)", of("requested", "mean_percent", 1));
      heading(`${first.name}: limits, of each node's allocatable`);
      row("mean of the nodes (%)", of("limits", "mean_percent", 1));
      row("p99 of the nodes (%)", of("limits", "p99_percent", 1));
      row("fullest node, at most (%)", of("limits", "max_percent", 1));
      row("nodes above 100 %", of("limits", "nodes_above_100", 1));
      row("nodes above 100 %, at most", of("limits", "nodes_above_100_max", 0));
      for (const measure of ["estimated_usage", "usage"]) {
        if (!first[measure]) continue;
        heading(`${first.name}: ${kMeasures[measure]}, of each node's allocatable`);
        row("p99 of the nodes (%)", of(measure, "p99_percent", 1));
        row("fullest node, at most (%)", of(measure, "max_percent", 1));
        row("nodes above 100 %", of(measure, "nodes_above_100", 1));
        row(`hot nodes, above ${first.hot_percent} %`, of(measure, "hot_nodes", 1));
        row(`hot nodes, above ${first.hot_percent} %, at most`, of(measure, "hot_nodes_max", 0));
      }
    }
    heading("speed");
    row("pods per second", (run) => text(run.speed.pods_per_second));
    const head = element("tr", {}, element("td"), ...runs.map((run) => element("th", {scope: "col"}, name(run))));
    places.figures.querySelectorAll(":scope > :not(h2)").forEach((old) => old.remove());
    places.figures.append(
      element("p", {class: "about"}, `Means over ${runs[0].series.seconds.length} moments, evenly spread over the ` +
        `${axis.title === "pods decided" ? "decisions" : "simulated time"}.`),
      element("div", {class: "table", tabindex: 0, role: "region", "aria-label": "Figures"},
        element("table", {}, element("thead", {}, head), body)));
  }

  function draw() {
    for (const chart of drawn) chart.destroy();
    drawn = [];
    places.charts.replaceChildren();
    drawFigures();
    drawCluster();
    drawNodes();
    drawPods();
    drawElasticQuotas();
    drawCapacityQuotas();
  }

  // --- The page. --------------------------------------------------------------------------------

  function writeHeader() {
    const title = `Simulation: ${data.input}`;
    document.title = title;
    document.getElementById("title").textContent = title;
    const facts = {
      [runs.length > 1 ? "Profiles" : "Profile"]: runs.map(name).join(", "),
      Nodes: text(data.nodes), Pods: text(data.pods), Seed: String(data.seed),
      "Simulated time": `${text(latest("seconds") / oneOfTime, 1)} ${timeUnit} from ${from}`,
    };
    for (const [term, words] of Object.entries(facts)) {
      document.getElementById("facts").append(element("div", {}, element("dt", {}, term), element("dd", {}, words)));
    }
    const about = document.getElementById("about");
    for (const note of data.notes ?? []) about.append(element("p", {}, note));
    for (const {what, count, first} of data.warnings ?? []) {
      about.append(element("p", {}, `${text(count)} ${what}: ${first.join(", ")}${count > first.length ? ", ..." : ""}`));
    }
    const {command} = read("origin");
    if (command) about.append(element("p", {}, "This command gives the page again, but for the speed:"),
      element("pre", {}, element("code", {}, command)));
    if (about.childElementCount === 1) about.remove();
  }

  function fillChoices() {
    const resources = runs[0].series.resources.map((resource) => resource.name);
    choices.resource.append(...resources.map((resource) => element("option", {value: resource}, resource)));
    if (resources.includes("cpu")) choices.resource.value = "cpu";
    fillMeasures();
    if (!runs.some((run) => run.series.elastic_quota_totals)) return;
    document.getElementById("quota-choice").hidden = false;
    const quotas = new Set(runs.flatMap((run) => (run.series.elastic_quotas ?? []).map((quota) => `${quota.namespace}/${quota.name}`)));
    choices.quota.append(element("option", {value: ""}, "all"));
    choices.quota.append(...[...quotas].sort().map((quota) => element("option", {value: quota}, quota)));
  }

  function fillMeasures() {
    const before = choices.measure.value || "limits";
    const resource = resourceOf(runs[0]);
    const there = Object.keys(kMeasures).filter((measure) => resource?.[measure]);
    choices.measure.replaceChildren(...there.map((measure) => element("option", {value: measure}, kMeasures[measure])));
    choices.measure.value = there.includes(before) ? before : "limits";
  }

  function listen() {
    choices.resource.addEventListener("change", () => {
      fillMeasures();
      draw();
    });
    choices.measure.addEventListener("change", draw);
    choices.quota.addEventListener("change", draw);
    openTables.addEventListener("click", () => {
      const open = openTables.getAttribute("aria-pressed") !== "true";
      openTables.setAttribute("aria-pressed", String(open));
      openTables.textContent = open ? "Hide all numbers" : "Show all numbers";
      for (const details of places.charts.querySelectorAll("details")) details.open = open;
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    // Paper is light, and has the numbers.
    const about = document.getElementById("about");
    const print = (begins) => {
      printing = begins;
      root.classList.toggle("printing", begins);
      if (about) about.open = begins;
      draw();
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
  }

  writeHeader();
  fillChoices();
  listen();
  draw();
})();
