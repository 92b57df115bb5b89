#!/usr/bin/env bash
# The dump of a real API server is replayed and explained with nothing ignored. It has no ReplicaSets, which is said;
# with one beside it nothing is left to say. Exits with 77 where the dump is not there.
#
#   tests/tools/real_dump_test.sh HEADROOM SHARED-DIRECTORY
set -euo pipefail
headroom=$1
dump=$2/data/cluster-200.json
[ -f "$dump" ] || { echo "no $dump"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Whether a report, or what was printed beside it, says that something was not looked at.
says_ignored() { grep -niE 'not considered|left out|ignored|passed over' report || [ -s warnings ]; }
fail() {
  echo "$1"
  head -20 report warnings
  exit 1
}

cat >replica-set.json <<'END'
{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "batch"},
 "spec": {"selector": {"matchLabels": {"app": "web"}}}}
END
"$headroom" simulate --cluster "$dump" >report 2>warnings
[ "$(wc -l <warnings)" = 1 ] && grep -q 'refer to a kind of which there is no object' warnings ||
  fail 'simulate says something else than that there is no ReplicaSet'

"$headroom" simulate --cluster "$dump" replica-set.json >report 2>warnings
! says_ignored || fail 'simulate ignores something'
"$headroom" simulate --cluster "$dump" replica-set.json --json >report 2>warnings
! grep -q '"warnings"' report || fail 'simulate --json warns'
for nothing in '"not_considered": []' '"deleting": 0' '"scheduling_gates": 0' '"other_schedulers": 0'; do
  grep -qF "$nothing" report || fail "simulate --json does not say $nothing"
done
"$headroom" explain --cluster "$dump" replica-set.json --pod batch/openb-pod-2198 >report 2>warnings
! says_ignored || fail 'explain ignores something'

# What is ignored would be said.
cat >claims.json <<'END'
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asks", "namespace": "batch"},
 "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c"}],
          "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}}
END
"$headroom" simulate --cluster "$dump" replica-set.json claims.json >report 2>warnings
says_ignored >/dev/null || fail 'simulate does not say that it looks at no resource claims'
echo "nothing of the dump is ignored"
