#!/usr/bin/env bash
# A run of tools/test that had no time for a step is incomplete: it says so, names the step, and ends with
# an exit code of its own.
#
#   tests/tools/incomplete_test.sh SOURCE-DIRECTORY
set -euo pipefail
cd "$1"
result=0
printed=$(HEADROOM_TEST_SECONDS_MAX=1 tools/test format asan) || result=$?
if [ "$result" -ne 3 ] || ! grep -qx 'incomplete: no time was left for format asan' <<<"$printed" ||
  [ "$(tail -n 1 <<<"$printed")" != '0 passed, 0 failed, 2 skipped' ]; then
  printf '%s\n' "$printed" "exit code $result; 3 was due"
  exit 1
fi
