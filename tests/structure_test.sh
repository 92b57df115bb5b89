#!/usr/bin/env bash
# The rules of the tree that a compiler does not check. Prints every line that breaks one.
#
#   tests/structure_test.sh SOURCE-DIRECTORY
set -euo pipefail
cd "$1"

broken=0
# forbid WHAT PATTERN PATH...: no file of those may have a line that matches.
forbid() {
  local what=$1 pattern=$2
  shift 2
  if grep -rnE --include='*.h' --include='*.cpp' --include='*.in' -e "$pattern" "$@"; then
    echo "^ $what"
    broken=1
  fi
}

# Each folder may include only what stands to its left: kernels, objects | autoscaling, engine, schema |
# c, server, client | bench, tests, tools. Those between two bars do not know each other, but that objects may
# be read by schema.
forbid 'kernels include the standard library and xsimd only' \
  '#include (<(tbb|fmt|yaml-cpp|simdjson|tl)[/.]|"(objects|autoscaling|engine|schema|c|server|client|tools|tests|bench)/)' \
  kernels
forbid 'objects include neither kernels nor engine, and no TBB' \
  '#include (<tbb/|"(kernels|autoscaling|engine|schema|c|server|client|tools|tests|bench)/)' objects
forbid 'engine includes kernels and objects only; no wire types, no sockets' \
  '#include (<(flatbuffers|asio|sys/socket|netinet|CLI)|"(autoscaling|schema|c|server|client|tools|tests|bench)/)' engine
forbid 'autoscaling includes objects only; no threads, no wire types' \
  '#include (<(tbb|flatbuffers|asio)/|"(kernels|engine|schema|c|server|client|tools|tests|bench)/)' \
  autoscaling
forbid 'the protocol knows objects only' '#include "(kernels|autoscaling|engine|c|server|client|tools|tests|bench)/' \
  schema
forbid 'c includes engine, autoscaling and objects only' '#include "(schema|server|client|tools|tests|bench)/' c
forbid 'nothing includes c' '#include "(c/[^"]*|headroom\.h)"' server client tools
forbid 'the server does not know who asks it' '#include "(client|tools|tests|bench)/' server
forbid 'a client is thin: no engine' '#include "(kernels|autoscaling|engine|server|tools|tests|bench)/' client
forbid 'nothing includes bench or tests but themselves' '#include "(tests|bench)/' tools
forbid 'python binds the engine, not the daemon' '#include "(schema|server|client|tests|bench)/' python
forbid 'nothing includes python but itself' '#include "python/' kernels objects autoscaling engine schema server \
  client tools tests bench
forbid 'the standard library has no expected before C++23: use objects/error.h' \
  '#include <expected>' kernels objects autoscaling engine schema c server client tools python

# yaml-cpp by itself does not end on every text.
if grep -rnE --include='*.h' --include='*.cpp' '#include <yaml-cpp/' kernels objects autoscaling engine schema c \
  server client tools python tests | grep -vE '^objects/yaml_'; then
  echo '^ YAML is read by objects/yaml_parser alone'
  broken=1
fi

# The plugin compiles into any kube-scheduler, and the client knows no plugin.
if grep -rnE --include='*.go' '"k8s.io/kubernetes/' shim/plugin shim/client ||
  grep -rnE --include='*.go' '"headroom.dev/shim/(plugin|lab|bench)' shim/client; then
  echo '^ shim/plugin and shim/client import no k8s.io/kubernetes, and the client no plugin'
  broken=1
fi

# Headers say that they are read once. Every file opens with its purpose; a .cpp may leave that to
# its header. headroom.h is written for C.
while IFS= read -r file; do
  if ! head -n 1 "$file" | grep -q '^// ' && [ ! -f "${file%.cpp}.h" ]; then
    echo "$file: the first line does not say what the file is for"
    broken=1
  fi
  if [ "${file##*.}" = h ] && ! grep -q '^#pragma once$' "$file"; then
    echo "$file: no #pragma once"
    broken=1
  fi
done < <(find kernels objects autoscaling engine schema c server client tools bench tests python examples \
  \( -name '*.h' -o -name '*.cpp' \) -not -path c/headroom.h)

# No leftovers and no paths of one machine in what is committed.
list_files() {
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard
  else
    find . -path ./build -prune -o -type f -print0
  fi
}
leftovers='(TO''DO|FIX''ME|XX''X)([^A-Za-z]|$)'
paths='(^|[^A-Za-z0-9_.$}])/(ho''me|ro''ot|wo''rk)/[a-z]'
for rule in "$leftovers" "$paths"; do
  found=$(list_files | xargs -0 -r grep -nIE -e "$rule" -- || true)
  if [ -n "$found" ]; then
    printf '%s\n^ leftovers and paths of one machine do not belong into the tree\n' "$found"
    broken=1
  fi
done
exit "$broken"
