#!/usr/bin/env bash
# The headroom command as a user meets it: help, exit codes, errors, and the same bytes twice.
#
#   tests/tools/cli_test.sh HEADROOM
set -euo pipefail

headroom=$1
data=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../data" && pwd)
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
for command in simulate generate explain quota load conformance; do
  expect 0 "$command" "$headroom" "$command" --help
done
expect 0 'kubectl get' "$headroom" simulate --help
expect 0 'Exit codes' "$headroom" --help

expect 2 'Examples:' "$headroom"
expect 2 'frobnicate' "$headroom" frobnicate
expect 2 '--nodes' "$headroom" simulate --nodes 0
for seed in -1 99999999999999999999999 x; do
  expect 2 'not in range 0 to 9223372036854775807' "$headroom" simulate --seed "$seed"
done
expect 2 '--seed' "$headroom" generate --seed -3
expect 2 '--seed' "$headroom" load --seed -3
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

# Applications: the same bytes, with what goes with their pods; and the trace twice.
"$headroom" generate --nodes 30 --pods 200 --applications --seed 5 -o applications.json
"$headroom" generate --nodes 30 --pods 200 --applications --seed 5 | cmp - applications.json
for kind in ReplicaSet StatefulSet Service PersistentVolumeClaim CSINode; do
  grep -q "\"kind\":\"$kind\"" applications.json
done
expect 0 '30 nodes, 145 pods' "$headroom" simulate --cluster applications.json --validate
expect 0 'the openb trace, 2 times: 1,523 nodes, 16,304 pods' "$headroom" simulate --repeat 2
expect 2 '--repeat' "$headroom" simulate --repeat 2 --nodes 5

# Quotas, budgets and priorities: generated, simulated with every rule checked, and reported.
"$headroom" generate --nodes 40 --pods 600 --elastic-quotas 6 --fill 1400 --seed 5 -o quotas.json
"$headroom" generate --nodes 40 --pods 600 --elastic-quotas 6 --fill 1400 --seed 5 | cmp - quotas.json
"$headroom" generate --nodes 40 --pods 300 --elastic-quotas 0 --fill 700 --seed 5 | cmp - first.json
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
"$headroom" simulate --nodes 30 --pods 600 --elastic-quotas 5 --no-departures --validate --json >json
grep -q '"given_back_pods"' json
expect 2 '--elastic-quotas' "$headroom" simulate --elastic-quotas 5
expect 2 'excludes' "$headroom" simulate --preemption --no-preemption
"$headroom" generate --nodes 1 --pods 0 --elastic-quotas 1 --json-lines | grep ElasticQuota >quota-only.json
expect 2 'give those with' "$headroom" simulate --cluster nodes.json --pods quota-only.json
{
  cat nodes.json
  echo '{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"ElasticQuota",'
  echo '"metadata":{"name":"q","namespace":"a"},"spec":{"max":{"cpu":1}}}'
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{"containers":'
  echo '[{"name":"c","resources":{"requests":{"cpu":2}}}]}}'
} >rejected.json
expect 0 'ElasticQuota a/q: cpu: used 0 + nominated 0 + requested 2 is more than max 1' \
  "$headroom" explain --cluster rejected.json --pod a/p

# What pods ask for and no plugin here looks at; pods that are not this scheduler's, or wait at gates.
{
  cat nodes.json
  for n in 1 2 3 4 5; do
    echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"claims-'$n'","namespace":"a"},"spec":'
    echo '{"resourceClaims":[{"name":"gpu","resourceClaimName":"g"}],"containers":[]}}'
  done
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"gated"},"spec":{"schedulingGates":[{"name":"g"}]}}'
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"other"},"spec":{"schedulerName":"other"}}'
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"done"},"spec":{"nodeName":"n"},'
  echo '"status":{"phase":"Succeeded"}}'
} >asking.json
claims='5 pods ask for resource claims, which was not considered'
expect 0 "$claims" "$headroom" simulate --cluster asking.json
grep -qE 'left out: scheduling gates +1$' output
grep -qE 'left out: of other schedulers +1$' output
grep -qE '^  placed +5 ' output
if grep -q 'there before' output; then
  echo "a pod that has ended was there before"
  exit 1
fi
expect 0 '1 pod names another scheduler, which was not considered' \
  "$headroom" simulate --cluster asking.json --all-pods
expect 0 '"what": "resource claims"' "$headroom" simulate --cluster asking.json --json
grep -q '"scheduling_gates": 1' output
grep -q '"other_schedulers": 1' output
expect 0 'pods with resource claims, not considered' "$headroom" simulate \
  --cluster asking.json --config standard "$data/least-allocated.yaml"
expect 0 'Not considered: resource claims.' \
  "$headroom" explain --cluster asking.json --pod a/claims-1
expect 0 '"resource claims"' \
  "$headroom" explain --cluster asking.json --pod a/claims-1 --json
expect 2 'preemption: profile limit-aware does not enable CapacityScheduling' \
  "$headroom" simulate --cluster asking.json --config "$data/limit-aware.yaml" --preemption

# What is probably not meant so: a count and the first names, in text and in JSON.
{
  cat nodes.json
  for n in 1 2; do
    echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"resources":'
    echo '{"reqests":{"cpu":1}}}]}}'
  done
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"lost"},"spec":{"nodeName":"nowhere"}}'
  echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"done"},"spec":{"nodeName":"nowhere"},'
  echo '"status":{"phase":"Failed"}}'
  echo '{"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"ElasticQuota","metadata":{"name":"q",'
  echo '"namespace":"a"},"spec":{"min":{"cpu":4},"max":{"cpu":2}}}'
} >odd.json
for command in 'simulate' 'simulate --json' 'explain --pod default/p' 'explain --pod default/p --json'; do
  # shellcheck disable=SC2086  # a command and its options
  for text in '2 unknown fields that are nearly a known one: Pod default/p: spec.containers[0].resources.reqests' \
    '1 objects that come twice, of which the last counts: Pod default/p' \
    '1 pods on nodes that are not there: default/lost on nowhere' \
    '1 ElasticQuotas with min above max: a/q cpu 4 > 2'; do
    expect 0 "$text" "$headroom" $command --cluster odd.json
  done
done
for command in 'simulate' 'explain --pod default/p'; do
  # shellcheck disable=SC2086
  "$headroom" $command --cluster odd.json --json >json 2>/dev/null
  grep -q '"what": "pods on nodes that are not there"' json
  grep -q 'default/lost on nowhere' json
done

# So with quotas and budgets, and by every command that reads them.
{
  cat nodes.json
  echo '{"apiVersion":"autoscaling.x-k8s.io/v1alpha1","kind":"CapacityQuota","metadata":{"name":"q"},'
  echo '"spec":{"limit":{},"limits":{"resources":{"nodes":900}}}}'
} >odd-quota.json
sed 's/"q"/"r"/; s/"limit"/"selectors"/' odd-quota.json >odd-change.json
for command in '' headroom lint 'what-if --quota odd-change.json'; do
  # shellcheck disable=SC2086  # a command and its options
  "$headroom" capacity-quota $command --cluster odd-quota.json --json >json 2>output || [ $? -eq 1 ]
  grep -q '1 unknown fields that are nearly a known one: CapacityQuota q: spec.limit (limits?)' output
  grep -q '"CapacityQuota q: spec.limit (limits?)"' json
done
grep -q 'CapacityQuota r: spec.selectors (selector?)' output
grep -q '"CapacityQuota r: spec.selectors (selector?)"' json

# Output that cannot be written is no success, whatever prints; a report leaves no half of a file.
full() {
  local result=0
  "$@" >/dev/full 2>output || result=$?
  if [ "$result" -ne 2 ] || ! grep -q 'write\|No space' output; then
    echo "exit code $result with a full output: $*"
    cat output
    exit 1
  fi
}
full "$headroom" --version
full "$headroom" simulate --help
full "$headroom" simulate --nodes 3
full "$headroom" simulate --nodes 3 --json
full "$headroom" simulate --nodes 3 --out -
full "$headroom" generate --nodes 3
full "$headroom" explain --cluster rejected.json --pod a/p
full "$headroom" explain --cluster rejected.json --pod a/p --json
full "$headroom" capacity-quota --cluster "$data/quota-example.yaml"
echo '{"name":"none","plugin":"Quantity","steps":[]}' >case.jsonl
full "$headroom" conformance case.jsonl
expect 0 '1 passed, 0 failed' "$headroom" conformance case.jsonl
expect 2 '/dev/null: no case' "$headroom" conformance /dev/null
expect 2 'Is a directory' "$headroom" conformance .
expect 2 '--name some: no case has that in its name' "$headroom" conformance --name some case.jsonl
expect 2 'No space left on device' "$headroom" simulate --nodes 3 --report /dev/full

# What files say does not command the terminal.
printf 'apiVersion: v1\nkind: Node\nmetadata: {name: "a\\e[31mred"}\nstatus: {allocatable: {cpu: "4\\e]0;x\\a"}}\n' \
  >escapes.yaml
for command in 'simulate' 'explain --pod a/b' 'capacity-quota'; do
  # shellcheck disable=SC2086  # a command and its options
  "$headroom" $command --cluster escapes.yaml >output 2>&1 && { echo "$command took escapes.yaml"; exit 1; }
  if grep -q "$(printf '\033')" output; then
    echo "an escape of a file reached the terminal: $command"
    exit 1
  fi
done
echo '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":' \
  '{"requests":{"cpu":1}}}]}}' >one-pod.json
sed 's/cpu: "[^"]*"/cpu: 4, pods: 9/' escapes.yaml >escapes-name.yaml
expect 0 'a\x1b[31mred' "$headroom" simulate --cluster escapes-name.yaml --pods one-pod.json

# Capacity quotas: the table, each question, the exit codes that answer, and what cannot be used.
quota() { "$headroom" capacity-quota "$@"; }
example=$data/quota-example.yaml
expect 0 'Exit codes' quota --help
for command in check plan headroom most what-if lint; do
  expect 0 "$command" quota "$command" --help
done
expect 0 'CapacityQuota/team-a: 3 nodes (team=a)' quota --cluster "$example"
expect 0 'memory          100Gi  111.5Gi         0   -11.5Gi  [######################|!] 112%' \
  quota --cluster "$example"
quota --cluster "$example" >table1
quota --cluster - <"$example" | cmp table1 -
expect 0 'cpu                32       24         8         0  [##################======] 100%' \
  quota --cluster "$example" --reserve web-1=1
expect 0 'max-nodes: 9 nodes (all nodes)' quota --cluster "$example" --max-nodes 20
expect 0 '"limit": 90000' quota --cluster "$example" --cluster-limit cpu=90,memory=1Ti --json
expect 0 'NodeGroup/team=b: 4 nodes (team=b)' quota --cluster "$example" --group-limit team=b:nodes=9
expect 0 'allowed: 1 of 1 more node like web-1' quota check --cluster "$example" --like web-1
expect 1 'raise cpu of CapacityQuota/team-a from 32 to 48' \
  quota check --cluster "$example" --like web-1 --count 3
expect 1 'BINDS' quota --cluster "$example" check --like web-1 --count 3
expect 1 '"allowed": 0' quota check --cluster "$example" --like batch-1 --json
expect 0 'removed first, then added: fits' quota plan --cluster "$example" --add web-1=1 --remove web-2
expect 1 'stops after 1 of 2 nodes like web-1' \
  quota plan --cluster "$example" --add web-1=2 --remove web-2 web-3
expect 0 'CapacityQuota/zone-b: nodes (full)' quota headroom --cluster "$example"
expect 0 '2 more nodes in all; no choice has more' quota most --cluster "$example"
expect 0 '"exact": true' quota most --cluster "$example" --count 1 --json
expect 1 'web-1 is NEWLY BLOCKED by CapacityQuota/team-a' \
  quota what-if --cluster "$example" --set team-a.cpu=24
expect 0 '24 -> 16' quota what-if --cluster "$example" --label web-1:team=c
expect 0 '0 -> 1' quota what-if --cluster "$example" --remove-quota CapacityQuota/zone-b
expect 0 '0 findings in 6 quotas' quota lint --cluster "$example"
{
  echo '{"apiVersion":"autoscaling.x-k8s.io/v1beta1","kind":"CapacityQuota","metadata":{"name":'
  echo '"zone-b"},"spec":{"limits":{"resources":{"cpu":"2x"}}}}'
} >broken-quota.json
cat >new-quota.yaml <<'END'
apiVersion: autoscaling.x-k8s.io/v1alpha1
kind: CapacityQuota
metadata: {name: new}
spec: {limits: {resources: {pods: 2k}}}
END
# A node that leaves, and a limit by another name.
{
  echo '{"apiVersion":"v1","kind":"Node","metadata":{"name":"leaving","labels":{"team":"a"},'
  echo '"deletionTimestamp":"2026-06-01T00:00:00Z"},"status":{"capacity":{"cpu":"8"}}}'
} >leaving.json
cat >alias-quota.yaml <<'END'
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata: {name: by-alias}
spec: {limits: {resources: {gpu: 100}}}
END
expect 0 'CapacityQuota/team-a: 4 nodes (team=a)' quota --cluster "$example" leaving.json
expect 0 'CapacityQuota/team-a: 3 nodes (team=a)' quota --cluster "$example" leaving.json --ignore-deleting
expect 0 'gpu               100        0         0       100' quota --cluster "$example" alias-quota.yaml
expect 0 'gpu               100        4         0        96' \
  quota --cluster "$example" alias-quota.yaml --alias gpu=nvidia.com/gpu
expect 0 'allowed: 1 of 1 more node like leaving' quota check --cluster "$example" --template leaving.json
expect 1 'CapacityQuota/zone-b: InvalidSpec' quota lint --cluster "$example" broken-quota.json
expect 0 'SKIPPED, limits nothing: spec.limits.resources.cpu: "2x" is not a quantity' \
  quota --cluster "$example" broken-quota.json
expect 0 'CapacityQuota/zone-b is skipped' \
  quota check --cluster "$example" broken-quota.json --like web-1
expect 2 '--cluster is missing' quota lint
expect 2 'nowhere.yaml' quota --cluster nowhere.yaml
expect 2 'no such template or node; there is control-1' quota check --cluster "$example" --like web-9
expect 2 'no template: give' quota check --cluster "$example"
expect 2 'no Node to be a template' quota check --cluster "$example" --template broken-quota.json
expect 2 '--count' quota check --cluster "$example" --like web-1 --count -1
expect 2 '--count' quota check --cluster "$example" --like web-1 --count 0
expect 2 '--max-nodes' quota --cluster "$example" --max-nodes 99999999999999999999
expect 2 '"4x" is not a quantity' quota --cluster "$example" --cluster-limit cpu=4x
expect 2 'KEY=VALUE:RESOURCE=QUANTITY' quota --cluster "$example" --group-limit nodes=4
expect 2 'the quotas allow 1 of them' quota --cluster "$example" --reserve web-1=2
expect 2 'no plan' quota plan --cluster "$example"
expect 2 'NAME=COUNT' quota plan --cluster "$example" --add web-1=-1
expect 2 '--remove web-9: no such node' quota plan --cluster "$example" --remove web-9
expect 2 'no change' quota what-if --cluster "$example"
expect 2 'no such quota' quota what-if --cluster "$example" --set team-z.cpu=4
expect 2 'no such quota' quota what-if --cluster "$example" --cluster-limit cpu=99 --set .cpu=4
expect 2 'spec.limits.resources.' quota what-if --cluster "$example" --set team-a.=4
expect 2 'want QUOTA.RESOURCE=VALUE' quota what-if --cluster "$example" --set cpu
expect 2 '--remove-quota team-z: no such quota' \
  quota what-if --cluster "$example" --remove-quota team-z
expect 1 'cluster-wide: cpu  99 -> 40' \
  quota what-if --cluster "$example" --cluster-limit cpu=99 --set cluster-wide.cpu=40
expect 0 'CapacityQuota/new: pods' quota what-if --cluster "$example" --quota new-quota.yaml
expect 2 'has no label zone' quota what-if --cluster "$example" --label web-1:zone-

# Nodes that come when pods wait, as far as capacity quotas allow.
cat >templates.yaml <<'EOF'
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
EOF
cat >growth-quotas.yaml <<'EOF'
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityQuota
metadata: {name: all}
spec: {limits: {resources: {nodes: 40, cpu: 9000}}}
EOF
grow=(simulate --start-nodes 20 --autoscale templates.yaml --capacity-quotas growth-quotas.yaml --validate)
"$headroom" "${grow[@]}" --out grown1 >report1
"$headroom" "${grow[@]}" --out grown2 >report2
cmp grown1 grown2
cmp <(without_speed report1) <(without_speed report2)
grep -qE '^  v100 +7 ' report1
grep -q '"binding":\[{"quota":"CapacityQuota/gpus","resource":"nvidia.com/gpu","limit":60,' grown1
grep -qE '^    nvidia.com/gpu +60 +0 +56 .* %' report1
grep -q 'no template takes openb/openb-pod-1639: c32: Insufficient cpu, ' report1
"$headroom" "${grow[@]}" --no-departures --provision-seconds 600 --json >json
grep -q '"nodes_refused"' json
"$headroom" generate --nodes 30 --pods 900 --fill 1500 --elastic-quotas 4 --capacity-quotas 9 --seed 5 -o growth.json
"$headroom" generate --nodes 30 --pods 900 --fill 1500 --elastic-quotas 4 --seed 5 |
  cmp - <(grep -v '"kind":"CapacityQuota"' growth.json)
"$headroom" generate --nodes 4 --pods 0 --json-lines | grep '"kind":"Node"' | sed 's/"name":"node-/"name":"kind-/' \
  >kinds.json
"$headroom" simulate --cluster growth.json --autoscale kinds.json --validate >report
grep -q '^  CapacityQuota/all-000$' report
grep -q '^nodes added, by template$' report
if "$headroom" simulate --cluster growth.json | grep -q '^capacity quotas$'; then
  echo "capacity quotas without an autoscaler"
  exit 1
fi
printf '{"apiVersion":"v1","kind":"Node","metadata":{"name":"bare"}}' >bare.json
expect 2 'Node bare: status.capacity is missing' "$headroom" simulate --autoscale bare.json
expect 2 'nowhere.yaml' "$headroom" simulate --autoscale nowhere.yaml
expect 2 'nowhere.yaml' "$headroom" simulate --autoscale templates.yaml --capacity-quotas nowhere.yaml
expect 2 'no CapacityQuota' "$headroom" simulate --autoscale templates.yaml --capacity-quotas bare.json
expect 2 'no Node to take' "$headroom" simulate --autoscale growth-quotas.yaml
expect 2 'of kind Pod' "$headroom" simulate --autoscale growth.json
expect 2 'of kind Node' "$headroom" simulate --autoscale templates.yaml --capacity-quotas templates.yaml
for kind in NodeMetric ElasticQuota PodDisruptionBudget PriorityClass Service; do
  case $kind in
    NodeMetric) version=slo.koordinator.sh/v1alpha1 ;;
    ElasticQuota) version=scheduling.x-k8s.io/v1alpha1 ;;
    PodDisruptionBudget) version=policy/v1 ;;
    PriorityClass) version=scheduling.k8s.io/v1 ;;
    Service) version=v1 ;;
  esac
  object=$(printf -- '---\napiVersion: %s\nkind: %s\nmetadata: {name: x, namespace: x}\nvalue: 1\n' $version $kind)
  (cat templates.yaml; echo "$object") >more.yaml
  expect 2 "of kind $kind" "$headroom" simulate --autoscale more.yaml
  (cat growth-quotas.yaml; echo "$object") >more.yaml
  expect 2 "of kind $kind" "$headroom" simulate --autoscale templates.yaml --capacity-quotas more.yaml
done
expect 2 'CapacityQuota all: there are two' "$headroom" simulate --autoscale templates.yaml \
  --autoscale growth-quotas.yaml --capacity-quotas growth-quotas.yaml
expect 2 '--provision-seconds' "$headroom" simulate --autoscale templates.yaml --provision-seconds -5
expect 2 '--autoscale' "$headroom" simulate --capacity-quotas growth-quotas.yaml
expect 2 '--autoscale' "$headroom" simulate --start-nodes 5

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
grep -q 'Limits are drawn from the seed' report-full
[ "$(wc -l <full)" -eq 1000 ]
"$headroom" simulate --nodes 30 --pods 300 --metrics-every 60 --validate --random-ties --json >json
grep -q '"metric_reports"' json
"$headroom" simulate --nodes 30 --pods 10 --out - 2>report >decisions
[ "$(wc -l <decisions)" -eq 10 ]

# Profiles beside each other, and the page: the same decisions, and the page has the JSON.
profiles=(--config "$data/limit-aware.yaml" --config "$data/least-allocated.yaml")
expect 0 'limit-aware  least-allocated' "$headroom" simulate --nodes 20 --pods 300 "${profiles[@]}"
expect 0 'Limits are drawn from the seed' "$headroom" simulate --nodes 20 --pods 300 "${profiles[@]}"
"$headroom" simulate --cluster quotas.json --config "$data/limit-aware.yaml" "$data/least-allocated.yaml" \
  --validate --json --report page.html >json
[ "$(grep -c '"profile": ' json)" -eq 2 ]
grep -q '^<script id="data" type="application/json">{$' page.html
sed -n '/^<script id="data"/,/<\/script>$/p' page.html | sed '1s/.*/{/; s/<\/script>$//' | cmp - json
grep -q 'headroom simulate --cluster quotas.json --config .* --report page.html' page.html
if grep -qE '(src|href)="?(https?:)?//' page.html; then
  echo "the page asks a network"
  exit 1
fi
"$headroom" simulate --cluster quotas.json --out quotas3 --report page.html >report
cmp quotas1 quotas3
grep -q '^preemption$' report
"$headroom" simulate --nodes 20 --pods 50 --report - 2>report >page.html
grep -q '^pods$' report
[ "$(head -n 1 page.html)" = '<!DOCTYPE html>' ]
mkdir -p other && cp "$data/limit-aware.yaml" other/
expect 0 'other/limit-aware.yaml' "$headroom" simulate --nodes 20 --pods 50 --config "$data/limit-aware.yaml" \
  other/limit-aware.yaml
expect 2 'given twice' "$headroom" simulate --config "$data/limit-aware.yaml" "$data/limit-aware.yaml"
expect 2 '9 files; at most 8' "$headroom" simulate --config 1 2 3 4 5 6 7 8 9
expect 2 'give one --config' "$headroom" simulate "${profiles[@]}" --out decisions
expect 2 'standard output takes one' "$headroom" simulate --out - --report -
expect 2 'each takes a file of its own' "$headroom" simulate --out same --report same
expect 2 'no-such-folder' "$headroom" simulate --nodes 5 --report no-such-folder/page.html

# A load test starts its own headroomd, verifies its answers, and writes figures and a picture.
"$headroom" load --nodes 40 --pods 300 --seconds 0.3 --warm-up 0.1 --connections 2 --depth 4 --events 500 \
  --mix evaluate=3,reserve=2,place=1 --place-pods 5 --out load.json --plot load.svg >load
grep -q '^0 errors, 0 lost' load
grep -q '^verified: ' load
grep -q 'echo of evaluate' load
grep -q '"verified": true' load.json
grep -q '<polyline' load.svg
"$headroom" load --cluster quotas.json --seconds 0.2 --warm-up 0.1 --events 500 --mix evaluate=1,reserve=1 \
  --no-echo --top-k 2 --no-scores >load
grep -q '^0 errors, 0 lost' load
grep -q '^verified: ' load
"$headroom" load --nodes 40 --pods 300 --seconds 0.2 --warm-up 0 --find-limit 100000 --rate 500000 --no-echo \
  >limit
grep -q 'highest rate within the bound' limit
expect 2 'reserve and place' "$headroom" load --mix evaluate=
expect 2 'accepted are unix' "$headroom" load --endpoint nowhere
expect 2 'replace-facts' "$headroom" load --endpoint unix:///nowhere/s --events 5
echo "the command passed"
