#!/usr/bin/env bash
# Loads a headroomd with churn for a while: its resident memory stays flat, its answers right, and at
# the end the digest of its facts is that of an engine in process.
#
#   tests/soak.sh DIRECTORY-OF-THE-PROGRAMS SECONDS
set -euo pipefail
programs=$1 seconds=$2
work=$(mktemp -d)
daemon=
stop() {
  if [ -n "$daemon" ]; then kill "$daemon" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap stop EXIT

"$programs/headroomd" --listen "unix://$work/s" --metrics none --log-level warning --cache-mib 64 &
daemon=$!
for _ in $(seq 100); do [ -S "$work/s" ] && break; sleep 0.05; done

# load SECONDS: a mix of everything, with events beside it, verified before and after. Closed loop: a
# slow machine answers less and loses nothing.
load() {
  "$programs/headroom" load --endpoint "unix://$work/s" --replace-facts --nodes 2000 --pods 20000 \
    --connections 4 --depth 8 --events 2000 --mix evaluate=6,reserve=3,place=1 --place-pods 8 \
    --seconds "$1" --no-echo --busy-poll-us 0 >"$work/report" || { cat "$work/report"; exit 1; }
}
resident_kib() { awk '/^VmRSS/ {print $2}' "/proc/$daemon/status"; }

# Twice to warm up: caches, both clusters of a resync, the allocator's own store.
load $((seconds / 10 + 2))
load $((seconds / 10 + 2))
before=$(resident_kib)
load "$seconds"
after=$(resident_kib)
tail -n 4 "$work/report"
echo "resident memory: $before KiB before, $after KiB after $seconds s"
# What a heap may wander.
if [ "$after" -gt $((before + before / 5 + 16384)) ]; then
  echo "resident memory grew"
  exit 1
fi
