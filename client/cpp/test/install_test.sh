#!/usr/bin/env bash
# Installs the client from a build folder into a temporary one, and builds and runs a program with it: through CMake's
# find_package, shared and static, and through pkg-config. usage: install_test.sh BUILD_FOLDER COMPILER VERSION
set -euo pipefail
build=$1 compiler=$2 version=$3
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/consumer" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Fails unless the program prints what it must.
expect_version() {
    local output
    output=$("$@")
    [ "$output" = "$version 36" ] || { echo "$*: printed $output" >&2; exit 1; }
}

cmake --install "$build" --prefix "$work/installed" >/dev/null
cmake -S "$source" -B "$work/build" "-DCMAKE_PREFIX_PATH=$work/installed" "-DCMAKE_CXX_COMPILER=$compiler" >/dev/null
cmake --build "$work/build" >/dev/null
expect_version "$work/build/shared"
expect_version "$work/build/static"

library=$(dirname "$(find "$work/installed" -name libidem_client.a)")
# The file tells where it was meant to be installed.
sed -i "s|^prefix=.*|prefix=$work/installed|" "$library/pkgconfig/idem-client.pc"
read -ra flags < <(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --cflags --libs idem-client)
"$compiler" -std=c++20 "$source/consumer.cpp" "${flags[@]}" -o "$work/by_pkg_config"
expect_version env "LD_LIBRARY_PATH=$library" "$work/by_pkg_config"

# Nothing but the client's own names comes out of the shared library: of the core, nothing.
if nm -DC --defined-only "$library/libidem_client.so" | grep 'idem::core'; then
    echo "the core is visible" >&2
    exit 1
fi
