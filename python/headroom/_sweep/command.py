"""The command python -m headroom.sweep."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Sequence

from headroom._errors import Error
from headroom._sweep.config import read_config
from headroom._sweep.sweep import sweep

_HELP = """\
Simulates every trace under every profile with every seed, and writes the figures of all runs into
OUT/runs.parquet. Started again, it continues.

config.yaml; paths in it are relative to its own directory:

  traces:                        by name, the input of headroom.simulate()
    openb: {}                    the trace that comes with headroom; repeat: 4 plays it 4 times
    small: {nodes: 500, pods: 2000, elastic_quotas: 10}
    ours: {cluster: [nodes.json, pods.yaml]}
  profiles:                      by name, a path, or a KubeSchedulerConfiguration itself
    standard: null
    mine: profiles/mine.yaml
  seeds: {from: 1, count: 16}    or a list: [1, 2, 3]
  options:                       of headroom.simulate(), for all runs: departures, metrics_every,
    departures: false            preemption, autoscale, provision_seconds, random_ties,
                                 all_pods, validate
  out: results
  workers: 4                     runs at the same time; without it all cores; 0, without Ray
  address: auto                  of a Ray cluster; without it Ray runs on this machine

Exit codes: 0 every run is in the table; 1 some failed, and the table says which and why; 2 the
config cannot be used; 130 stopped.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m headroom.sweep",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("config", type=pathlib.Path)
    path = parser.parse_args(arguments).config
    try:
        result = sweep(**read_config(path))
    except (Error, ImportError) as error:
        print(f"headroom.sweep: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"headroom.sweep: {stop}", file=sys.stderr)
        return 130
    print(result)
    return 1 if len(result.failed) else 0
