#!/usr/bin/env bash
# A run of tools/test in which a step did not run says so and names it with the reason; it is incomplete, with
# an exit code of its own, where time was short or the step is a sanitizer's. Every run says where its time went.
#
#   tests/tools/incomplete_test.sh SOURCE-DIRECTORY
set -euo pipefail
cd "$1"

# run STEP...: with no time for any.
run() {
  result=0
  printed=$(HEADROOM_TEST_SECONDS_MAX=1 tools/test "$@") || result=$?
}
# says LINE: that the run printed one that begins so.
says() {
  grep -q "^$1" <<<"$printed" || { printf '%s\n' "$printed" "no line begins with: $1"; exit 1; }
}

run format asan
says '--- asan: SKIPPED'
says '  format: no time left'
says '  asan: no time left'
says 'INCOMPLETE'
says 'slowest of'
if [ "$result" -ne 3 ] || [ "$(tail -n 1 <<<"$printed")" != '0 passed, 0 failed, 2 skipped' ]; then
  printf '%s\n' "$printed" "exit code $result; 3 was due"
  exit 1
fi
