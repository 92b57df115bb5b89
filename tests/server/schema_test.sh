#!/usr/bin/env bash
# The wire schema may only grow. Holds schema/headroom.fbs against the newest committed form that says
# something else, unless kProtocolVersion changed since.
#
#   tests/server/schema_test.sh SOURCE-DIRECTORY FLATC
#
# Two judges. `flatc --conform` knows the binary layout: fields, members and types that moved, other
# defaults. Version 2.0.8 lets pass what changes no offset it looks at: the last field removed, a
# renamed field, table or namespace, `required` put or taken away. So each declaration of the old form
# must also begin one of the new form, word by word, and what it gains may not be required.
#
# No name of a table, an enum or a type is in a frame. One that got another name is in `renamed` below,
# and the older form is read by its new name: fields, types and places are held as ever.
#
# Both are tried on changes that they must refuse or accept before they are believed. Exit code 77 and
# "skipped: ..." where there is no git or no earlier form to hold the schema against.
set -euo pipefail

source=$1
flatc=$2
schema=$source/schema/headroom.fbs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Old name and new. A name that was given up is not given to anything else.
renamed='QuotaClass CapacityQuotaClass
QuotaRow CapacityQuotaRow
SkippedQuota SkippedCapacityQuota
QuotaStatus ElasticQuotaStatus
QuotaAmount ElasticQuotaAmount
NamespaceQuota ElasticQuotaState
QuotaStatusReply ElasticQuotaStatusReply'
by_new_names() { sed -E "$(sed -E 's/(.*) (.*)/s=\\<\1\\>=\2=g/' <<<"$renamed")"; }

keywords='namespace|file_identifier|attribute|struct|table|union|enum|root_type'
# A line per declaration, without comments; the closing brace and a comma before it are left out.
declarations() {
  { sed 's|//.*||' "$1" | tr -s ' \n' ' ' && echo; } |
    sed -E "s/(^|[;}] *)($keywords) /\1\n\2 /g" |
    sed -E 's/^ +//; s/[ ,]*\}? *$//; /^$/d'
}

# grows OLD NEW: every declaration of OLD begins one of NEW, and gains nothing required.
grows() {
  local old line lines gained found
  mapfile -t lines < <(declarations "$2")
  while IFS= read -r old; do
    found=
    for line in "${lines[@]}"; do
      if [ "$line" = "$old" ]; then
        found=same
      elif [[ $line == "$old"[\ ,]* ]]; then
        gained=${line#"$old"}
        if [[ $gained =~ \([^\)]*required ]]; then
          echo "gains a required field: $old"
          return 1
        fi
        found=grown
      fi
    done
    if [ -z "$found" ]; then
      echo "changed otherwise than at its end, or gone: $old"
      return 1
    fi
  done < <(declarations "$1")
}

conforms() { "$flatc" --conform "$1" "$2"; }

# --- Can they fail? ---

mkdir "$work/other"
other=$work/other/headroom.fbs
# try JUDGE VERDICT WHAT SED-SCRIPT: how the judge finds the schema after that edit.
try() {
  local judge=$1 verdict=$2 what=$3 script=$4 found=accepts
  sed -E "$script" "$schema" >"$other"
  if cmp -s "$schema" "$other"; then
    echo "self-check: the schema has no place for: $what"
    exit 1
  fi
  "$judge" "$schema" "$other" >"$work/output" 2>&1 || found=refuses
  if [ "$found" != "$verdict" ]; then
    echo "self-check: $judge $found: $what"
    cat "$work/output"
    exit 1
  fi
}
for judge in conforms grows; do
  "$judge" "$schema" "$schema"
  try "$judge" refuses 'a field removed from the middle' '/^table Pod \{/,/^\}/{/: bool;/d}'
  try "$judge" refuses 'a field inserted' 's/^table Node \{/&\n  self_check: bool;/'
  try "$judge" refuses 'a field of another type' '/^table Pod \{/,/^\}/s/: bool;/: int;/'
  try "$judge" refuses 'another default' 's/: uint32 = 1;/: uint32 = 2;/'
  try "$judge" refuses 'a member inserted into an enum' '/^enum ErrorCode /{n;s/$/\n  SelfCheck,/}'
  try "$judge" refuses 'a member inserted into a union' 's/^union Fact \{/& Stats,/'
  try "$judge" accepts 'a field appended' '/^table Facts \{/,/^\}/s/^\}/  self_check: string;\n}/'
  try "$judge" accepts 'a member appended to an enum' '/^enum ErrorCode /,/^\}/s/^\}/  SelfCheck,\n}/'
  try "$judge" accepts 'a member appended to a union' \
    '/^union Fact /{:a;/\}/!{N;ba};s/,?[ \n]*\}/, Stats }/}'
  try "$judge" accepts 'a table added' 's/^table KeyValue /table SelfCheck { a: int; }\n&/'
done
try grows refuses 'the last field removed' '/^table Facts \{/{:a;N;/\n\}/!ba;s/\n[^\n]*(\n\})/\1/}'
try grows refuses 'a field renamed' 's/^  sequence: /  self_check: /'
try grows refuses 'a field no longer required' '/^table Frame /,/^\}/s/ \(required\)//'
try grows refuses 'a required field appended' \
  '/^table Facts \{/,/^\}/s/^\}/  self_check: string (required);\n}/'
try grows refuses 'another file identifier' 's/"HDRM"/"HDRN"/'
try grows refuses 'another root' 's/^root_type Frame/root_type Stats/'

try grows refuses 'a table renamed' 's/\bExplainVictims\b/SelfCheck/'
while read -r former name; do
  if grep -qw "$former" <(declarations "$schema") || ! grep -qw "$name" <(declarations "$schema"); then
    echo "renamed: $former is still a name, or $name is none"
    exit 1
  fi
done <<<"$renamed"

# --- The schema against its last form. ---

skip() {
  echo "skipped: $1 (the checks themselves passed their self-check)"
  exit 77
}
command -v git >/dev/null || skip 'no git'
git -C "$source" rev-parse --git-dir >/dev/null 2>&1 || skip 'not a git tree'

protocol_version() { sed -nE 's/.*\bkProtocolVersion = ([0-9]+);.*/\1/p' "$1"; }

mkdir "$work/old"
old=$work/old/headroom.fbs
declarations "$schema" >"$work/new.txt"
revision=
for candidate in $(git -C "$source" log --format=%H -- schema/headroom.fbs 2>/dev/null || true); do
  # The commit that removed it has none.
  git -C "$source" show "$candidate:./schema/headroom.fbs" 2>/dev/null | by_new_names >"$old" || continue
  declarations "$old" >"$work/old.txt"
  if ! cmp -s "$work/old.txt" "$work/new.txt"; then
    revision=$candidate
    break
  fi
done
[ -n "$revision" ] || skip 'no earlier form of schema/headroom.fbs'

if git -C "$source" show "$revision:./schema/limits.h" >"$work/limits.h" 2>/dev/null; then
  before=$(protocol_version "$work/limits.h")
  now=$(protocol_version "$source/schema/limits.h")
  if [ "$before" != "$now" ]; then
    echo "kProtocolVersion was $before at ${revision:0:12} and is $now: any change is allowed"
    exit 0
  fi
fi
if ! conforms "$old" "$schema" || ! grows "$old" "$schema"; then
  echo "schema/headroom.fbs cannot follow its form of ${revision:0:12}: add at the end only, or raise"
  echo 'kProtocolVersion in schema/limits.h'
  exit 1
fi
echo "schema/headroom.fbs follows its form of ${revision:0:12}"
