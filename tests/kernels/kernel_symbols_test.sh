#!/usr/bin/env bash
# A linker keeps the first copy of an inline function that several objects export. If an object of
# one instruction set exported one under a name that others share, machines without that
# instruction set could be made to run it. So every weak function of a kernel object must have the
# instruction set in its name.
#
#   tests/kernels/kernel_symbols_test.sh NM PATTERN OBJECT...
#
# PATTERN: extended regular expression of the instruction set's names, "sse42|sse4_2".
set -euo pipefail
nm=$1
pattern=$2
shift 2

broken=0
kernels=0
for object in "$@"; do
  symbols=$("$nm" -C "$object")
  if grep -qE "^[0-9a-f]+ [A-Z] headroom::($pattern)::kKernels\$" <<<"$symbols"; then kernels=1; fi
  # W: weak functions; V would be weak data, which hold no instructions.
  shared=$(awk '$2 == "W"' <<<"$symbols" | grep -vE "$pattern" || true)
  if [ -n "$shared" ]; then
    printf '%s\n^ exported by %s without %s in the name\n' "$shared" "$object" "$pattern"
    broken=1
  fi
done
# What is looked through must be kernels at all.
if [ "$kernels" -eq 0 ]; then
  echo "no kernels of $pattern in these objects"
  broken=1
fi
exit "$broken"
