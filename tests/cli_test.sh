#!/usr/bin/env bash
# The headroom command as a user meets it: help, exit codes, errors, and the same bytes twice.
#
#   tests/cli_test.sh HEADROOM
set -euo pipefail

headroom=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# expect CODE TEXT COMMAND...: the command exits with CODE and its output has TEXT.
expect() {
  local code=$1 text=$2 result=0
  shift 2
  "$@" >output 2>&1 </dev/null || result=$?
  if [ "$result" -ne "$code" ] || ! grep -qF -e "$text" output; then
    echo "exit code $result, expected $code and '$text': $*"
    cat output
    exit 1
  fi
}
# The report without the lines that depend on the machine and the moment.
without_speed() { sed '/^speed$/,$d' "$1"; }

expect 0 'Examples:' "$headroom" --help
expect 0 'headroom 0.' "$headroom" --version
for command in simulate generate explain load conformance; do
  expect 0 "$command" "$headroom" "$command" --help
done
expect 0 'kubectl get' "$headroom" simulate --help
expect 0 'Exit codes' "$headroom" --help

expect 2 'Examples:' "$headroom"
expect 2 'frobnicate' "$headroom" frobnicate
expect 2 '--nodes' "$headroom" simulate --nodes 0
expect 2 'several' "$headroom" simulate --nodes 5 --pods several
expect 2 '--pods needs a cluster' "$headroom" simulate --pods 5
expect 2 'nowhere.json' "$headroom" simulate --cluster nowhere.json
expect 2 'nowhere.yaml' "$headroom" simulate --config nowhere.yaml
expect 2 'no-such-folder' "$headroom" generate --nodes 2 --pods 2 -o no-such-folder/cluster.json
printf '{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},%s}' \
  '"status":{"allocatable":{"cpu":"x"}}' >bad.json
expect 2 'bad.json' "$headroom" simulate --cluster bad.json
echo '{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}}' >no-node.json
expect 2 'no Node' "$headroom" simulate --cluster no-node.json

"$headroom" generate --nodes 3 --pods 9 -o small.json
"$headroom" generate --nodes 3 --pods 9 --json-lines | grep '"kind":"Pod"' >small-pods.json
expect 2 'take it out of one' "$headroom" simulate --cluster small.json --pods small-pods.json
expect 2 'nodes or metrics' "$headroom" simulate --cluster small.json --pods small.json
"$headroom" generate --nodes 3 --pods 0 -o nodes.json
expect 0 '3 nodes, 9 pods' "$headroom" simulate --cluster nodes.json --pods small-pods.json

# Same seed, same bytes; another seed, others.
"$headroom" generate --nodes 40 --pods 300 --seed 5 >first.json
"$headroom" generate --nodes 40 --pods 300 --seed 5 -o second.json
"$headroom" generate --nodes 40 --pods 300 --seed 6 >other.json
cmp first.json second.json
if cmp -s first.json other.json; then
  echo "two seeds gave the same cluster"
  exit 1
fi
"$headroom" generate --nodes 40 --pods 300 --seed 5 --json-lines >lines.json
for option in '' --no-cache '--threads 2'; do
  # shellcheck disable=SC2086  # an option and its value
  "$headroom" simulate --cluster first.json --out "decisions$option" --validate $option >report
done
cmp decisions 'decisions--no-cache'
cmp decisions 'decisions--threads 2'
"$headroom" simulate --cluster lines.json --out decisions-of-lines --validate >report
cmp decisions decisions-of-lines
[ "$(wc -l <decisions)" -gt 20 ]

# Quotas, budgets and priorities: generated, simulated with every rule checked, and reported.
"$headroom" generate --nodes 40 --pods 600 --quotas 6 --fill 1400 --seed 5 -o quotas.json
"$headroom" generate --nodes 40 --pods 600 --quotas 6 --fill 1400 --seed 5 | cmp - quotas.json
"$headroom" generate --nodes 40 --pods 300 --quotas 0 --fill 700 --seed 5 | cmp - first.json
"$headroom" simulate --cluster quotas.json --out quotas1 --validate >report-quotas
"$headroom" simulate --cluster quotas.json --out quotas2 --threads 2 >report-quotas2
cmp quotas1 quotas2
cmp <(without_speed report-quotas) <(without_speed report-quotas2)
grep -q '^preemption$' report-quotas
grep -q 'team-005/quota' report-quotas
grep -q '"again":true' quotas1
"$headroom" simulate --cluster quotas.json --no-preemption >report-quotas
if grep -q '^preemption$' report-quotas; then
  echo "victims without preemption"
  exit 1
fi
"$headroom" simulate --nodes 30 --pods 600 --quotas 5 --no-departures --validate --json >json
grep -q '"given_back_pods"' json
expect 2 '--quotas' "$headroom" simulate --quotas 5
expect 2 'excludes' "$headroom" simulate --preemption --no-preemption
"$headroom" generate --nodes 1 --pods 0 --quotas 1 --json-lines | grep ElasticQuota >quota-only.json
expect 2 'give those with' "$headroom" simulate --cluster nodes.json --pods quota-only.json
{
  cat nodes.json
  echo '{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"ElasticQuota",'
  echo '"metadata":{"name":"q","namespace":"a"},"spec":{"max":{"cpu":1}}}'
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{"containers":'
  echo '[{"name":"c","resources":{"requests":{"cpu":2}}}]}}'
} >rejected.json
expect 0 'ElasticQuota a/q: cpu: used 0 + nominated 0 + requested 2000 is more than max 1000' \
  "$headroom" explain --cluster rejected.json --pod a/p

# The trace, small generated clusters, with metrics, and as JSON.
"$headroom" simulate --out trace1 --validate >report1
"$headroom" simulate --out trace2 >report2
cmp trace1 trace2
cmp <(without_speed report1) <(without_speed report2)
[ "$(wc -l <trace1)" -eq 8152 ]
# Two pods ask for 120 cores and 8 GPUs; the few nodes that large are partly taken by then.
grep -qE 'placed +8,150 +100.0 %' report1
"$headroom" simulate --nodes 30 --pods 1000 --no-departures --out full --validate >report-full
grep -q 'Insufficient' report-full
[ "$(wc -l <full)" -eq 1000 ]
"$headroom" simulate --nodes 30 --pods 300 --metrics-every 60 --validate --random-ties --json >json
grep -q '"metric_reports"' json
"$headroom" simulate --nodes 30 --pods 10 --out - 2>report >decisions
[ "$(wc -l <decisions)" -eq 10 ]

# A load test starts its own headroomd, verifies its answers, and writes figures and a picture.
"$headroom" load --nodes 40 --pods 300 --seconds 0.3 --warm-up 0.1 --connections 2 --depth 4 --events 500 \
  --mix evaluate=3,reserve=2,place=1 --place-pods 5 --out load.json --plot load.svg >load
grep -q '^0 errors, 0 lost' load
grep -q '^verified: ' load
grep -q 'echo of evaluate' load
grep -q '"verified": true' load.json
grep -q '<polyline' load.svg
"$headroom" load --cluster quotas.json --seconds 0.2 --warm-up 0.1 --events 500 --mix evaluate=1,reserve=1 \
  --no-echo >load
grep -q '^0 errors, 0 lost' load
grep -q '^verified: ' load
"$headroom" load --nodes 40 --pods 300 --seconds 0.2 --warm-up 0 --find-limit 100000 --rate 500000 --no-echo \
  >limit
grep -q 'highest rate within the bound' limit
expect 2 'reserve and place' "$headroom" load --mix evaluate=
expect 2 'accepted are unix' "$headroom" load --endpoint nowhere
expect 2 'replace-facts' "$headroom" load --endpoint unix:///nowhere/s --events 5
echo "the command passed"
