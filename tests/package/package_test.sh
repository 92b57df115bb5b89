#!/usr/bin/env bash
# Installs a build, and builds and runs a project outside the tree against it.
#
#   tests/package/package_test.sh BUILD-DIRECTORY
set -euo pipefail

build=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/installed" >"$work/log"
cp -r "$source" "$work/project"
cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" \
  -DCMAKE_BUILD_TYPE=Release >>"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" >>"$work/log" || { cat "$work/log"; exit 1; }
answer=$("$work/build/place_one")
if [ "$answer" != n1 ]; then
  echo "place_one chose '$answer', not n1"
  exit 1
fi
answer=$("$work/build/ask_nobody")
if [ "$answer" != Io ]; then
  echo "ask_nobody said '$answer', not Io"
  exit 1
fi
answer=$("$work/build/check_capacity_quota")
if [ "$answer" != 2 ]; then
  echo "check_capacity_quota allowed '$answer', not 2"
  exit 1
fi

# The examples, by CMake and by pkg-config.
examples=$(cd "$source/../../examples/embed" && pwd)
page=$(<"$source/../../docs/embedding.md")
for example in "$examples"/main.c "$examples"/main.cpp; do
  if [[ $page != *"$(<"$example")"* ]]; then
    echo "docs/embedding.md does not show $example as it is"
    exit 1
  fi
done
cp -r "$examples" "$work/embed"
cmake -S "$work/embed" -B "$work/embed/build" -DCMAKE_PREFIX_PATH="$work/installed" \
  -DCMAKE_BUILD_TYPE=Release >>"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/embed/build" >>"$work/log" || { cat "$work/log"; exit 1; }
export PKG_CONFIG_PATH=$work/installed/lib/pkgconfig
libraries=$(pkg-config --variable=libdir headroom)
# shellcheck disable=SC2046
cc "$work/embed/main.c" $(pkg-config --cflags --libs headroom) -Wl,-rpath,"$libraries" \
  -o "$work/embed/build/embed_pkg_config"
for example in embed_c embed_cpp embed_pkg_config; do
  answer=$("$work/embed/build/$example" | paste -sd ,)
  if [ "$answer" != 'web-1 n1,web-2 n2,web-3 n1' ]; then
    echo "$example placed '$answer'"
    exit 1
  fi
done
"$work/installed/bin/headroomd" --version
# The installed command runs without the source tree.
"$work/installed/bin/headroom" --version
# Their manual pages have every option and command that they have.
for page in man1/headroom.1 man8/headroomd.8; do
  program=$(basename "${page%.*}")
  if [ ! -f "$build/$(basename "$page")" ]; then continue; fi  # made where there is Python
  text=$(sed 's/\\-/-/g; s/\\f[BR]//g' "$work/installed/share/man/$page")
  for name in $("$work/installed/bin/$program" --help | grep -oE '^  (-h,)?--?[a-z-]+|^  [a-z]+' | sort -u); do
    if ! grep -qF -e "$name" <<<"$text"; then
      echo "the manual page of $program does not have $name"
      exit 1
    fi
  done
done
