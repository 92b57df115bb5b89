"""How an engine shows itself in a notebook."""

from __future__ import annotations

from headroom._results import Stats, html_table


def engine(stats: Stats) -> str:
    rows = [[name.replace("_", " "), f"{getattr(stats, name):,}"] for name in Stats.__slots__]
    return html_table(rows, ["", ""], "headroom.Engine")
