#!/usr/bin/env bash
# Installs the client into a temporary folder, and builds and runs programs with it: through CMake's find_package and
# through pkg-config, shared and static, with the cache where that is built. Does so with the build folder of the tests,
# and then with a client whose libpq is where no system looks for it. usage: install_test.sh BUILD_FOLDER COMPILER VERSION
set -euo pipefail
build=$1 compiler=$2 version=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints what is wrong, and ends the test.
fail() {
    echo "$*" >&2
    exit 1
}

# Prints a variable from the cache of a build folder.
cached() { sed -n "s|^$2:[A-Z]*=||p" "$1/CMakeCache.txt"; }

# Prints the output of a command only where it fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }

# Fails unless the program prints what it must, loads this libpq, and loads the client's shared library or not.
expect() {
    local linked=$1 libpq=$2 program=$3 output loaded
    output=$("$program") || fail "$program: exit status $?"
    [ "$output" = "$version 36" ] || fail "$program: printed $output"
    loaded=$(ldd "$program")
    [ "$(realpath "$(awk '$1 ~ /^libpq\.so/ {print $3}' <<<"$loaded")")" = "$(realpath "$libpq")" ] ||
        fail "$program: loads another libpq than $libpq: $loaded"
    case $linked in
        shared) [[ $loaded = *libidem_client* ]] || fail "$program: does not load the shared library" ;;
        static) [[ $loaded != *libidem_* ]] || fail "$program: loads the shared library" ;;
    esac
}

# Builds the programs for the parts named with CMake, which is told nothing but where the client is.
try_cmake() {
    local installed=$1 libpq=$2 part
    shift 2
    quietly cmake -S "$here/consumer" -B "$work/by_cmake" "-DCMAKE_PREFIX_PATH=$installed" \
        "-DCMAKE_CXX_COMPILER=$compiler" "-DPARTS=$(IFS=';' && echo "$*")"
    quietly cmake --build "$work/by_cmake"
    for part in "$@"; do
        expect shared "$libpq" "$work/by_cmake/$part-shared"
        expect static "$libpq" "$work/by_cmake/$part-static"
    done
    rm -r "$work/by_cmake"
    # What is not there is missed, and not passed over.
    ! cmake -S "$here/consumer" -B "$work/by_cmake" "-DCMAKE_PREFIX_PATH=$installed" \
        "-DCMAKE_CXX_COMPILER=$compiler" -DPARTS=nonsense >"$work/log" 2>&1 || fail "find_package finds nonsense"
    grep -q "without its part nonsense" "$work/log" || fail "find_package does not say what is missing: $(cat "$work/log")"
    rm -r "$work/by_cmake"
}

# Builds the program for a part with what pkg-config says; the words behind it belong to what the static one needs.
try_pkg_config() {
    local pkgconfig=$1 libpq=$2 part=$3 flags
    shift 3
    local path=$pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    # As users do with a library in a folder of its own: they say where it is when the program runs.
    export LD_LIBRARY_PATH=${pkgconfig%/*}:${libpq%/*}
    read -ra flags < <(PKG_CONFIG_PATH=$path pkg-config --cflags --libs "idem-$part")
    quietly "$compiler" -std=c++20 "$here/consumer/$part.cpp" "${flags[@]}" -o "$work/by_pkg_config"
    expect shared "$libpq" "$work/by_pkg_config"
    read -ra flags < <(PKG_CONFIG_PATH=$path pkg-config --cflags --libs "idem-$part" libcrypto "$@" |
        sed 's/-l\(idem_[a-z]*\)/-l:lib\1.a/g')
    quietly "$compiler" -std=c++20 "$here/consumer/$part.cpp" "${flags[@]}" -pthread -o "$work/by_pkg_config"
    expect static "$libpq" "$work/by_pkg_config"
    unset LD_LIBRARY_PATH
}

# Installs what was built in a folder, and uses it in each way that there is.
try() {
    local folder=$1 installed=$2 libpq pkgconfig parts=(client)
    libpq=$(cached "$folder" PostgreSQL_LIBRARY_RELEASE)
    [[ $(cached "$folder" HIREDIS_LIBRARY) = *-NOTFOUND ]] || parts+=(cache)
    quietly cmake --install "$folder" --prefix "$installed"
    pkgconfig=$(dirname "$(find "$installed" -name idem-client.pc)")
    # The files tell where they were meant to be installed.
    sed -i "s|^prefix=.*|prefix=$installed|" "$pkgconfig"/*.pc
    try_cmake "$installed" "$libpq" "${parts[@]}"
    try_pkg_config "$pkgconfig" "$libpq" client
    [ ${#parts[@]} -eq 1 ] || try_pkg_config "$pkgconfig" "$libpq" cache hiredis
    # Nothing but the client's own names comes out of the shared library: of the core, nothing.
    if nm -DC --defined-only "${pkgconfig%/*}/libidem_client.so" | grep 'idem::core'; then
        fail "the core is visible"
    fi
}

# Builds the client with a libpq in a folder of its own, as a PostgreSQL that was built by hand has it.
build_elsewhere() {
    local libpq headers targets=(idem_client idem_client_static)
    libpq=$(cached "$build" PostgreSQL_LIBRARY_RELEASE)
    headers=$(cached "$build" PostgreSQL_INCLUDE_DIR)
    mkdir -p "$work/pg/lib" "$work/pg/include"
    cp "$headers"/*.h "$work/pg/include"
    cp "$(realpath "$libpq")" "$work/pg/lib/libpq.so.5"
    ln -s libpq.so.5 "$work/pg/lib/libpq.so"
    [[ $(cached "$build" HIREDIS_LIBRARY) = *-NOTFOUND ]] || targets+=(idem_cache idem_cache_static)
    quietly cmake -S "$(cached "$build" CMAKE_HOME_DIRECTORY)" -B "$work/elsewhere" "-DPostgreSQL_ROOT=$work/pg" \
        "-DCMAKE_CXX_COMPILER=$compiler" -DCMAKE_BUILD_TYPE=Debug -DIDEM_TESTS=OFF \
        -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
    quietly cmake --build "$work/elsewhere" -j2 --target "${targets[@]}"
    [ "$(cached "$work/elsewhere" PostgreSQL_LIBRARY_RELEASE)" = "$work/pg/lib/libpq.so" ] || fail "it has another libpq"
}

try "$build" "$work/installed"
build_elsewhere
try "$work/elsewhere" "$work/installed-elsewhere"
