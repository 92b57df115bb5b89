#!/usr/bin/env bash
# libheadroom shows what headroom.h declares, and nothing else.
#
#   tests/c/c_abi_symbols_test.sh NM LIBRARY HEADER
set -euo pipefail

shown=$("$1" -D --defined-only "$2" | awk '{print $NF}' | sort)
declared=$(grep -oE '\bheadroom_[a-z_]+\(' "$3" | tr -d '(' | sort -u)
diff <(echo "$declared") <(echo "$shown") ||
  { echo '^ < declared and not shown, > shown and not declared'; exit 1; }
