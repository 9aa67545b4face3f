# shellcheck shell=bash
# Functions that several scripts share. Source it after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pg_config=${PG_CONFIG:-pg_config}

# Prints one line for the reader.
say() { printf '%s\n' "$*"; }

# Prints what went wrong on stderr and ends the script with status 1.
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Tells whether the named command is there.
has() { command -v "$1" >/dev/null 2>&1; }

# Runs a command with the rights of root: directly, through sudo, or not at all.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        die "this needs root, and sudo is not installed: $*"
    fi
}

# Prints the user that a server may run as: the caller, or postgres where the caller is root.
server_user() {
    if [ "$(id -u)" -ne 0 ]; then
        id -un
    else
        id -un postgres 2>/dev/null || die "root cannot run a PostgreSQL server, and there is no user postgres"
    fi
}

# Replaces the shell that calls it by a command which runs as the server's user. No process stays in between, so that a
# signal sent to the process id reaches the command.
become_server_user() {
    local user
    user=$(server_user)
    [ "$(id -u)" -eq 0 ] || exec "$@"
    exec setpriv "--reuid=$user" "--regid=$(id -g "$user")" --init-groups -- env "USER=$user" "LOGNAME=$user" "$@"
}

# Builds the extension and installs it for the server of pg_config, with sudo only where the folders ask for it.
build_and_install() {
    local make=(make -s -C "$root" "PG_CONFIG=$pg_config")
    say "building idem for $("$pg_config" --version)"
    "${make[@]}" -j2 all || return
    say "installing idem into $("$pg_config" --pkglibdir)"
    if [ -w "$("$pg_config" --pkglibdir)" ] && [ -w "$("$pg_config" --sharedir)/extension" ]; then
        "${make[@]}" install
    else
        as_root "${make[@]}" install
    fi
}

# Prepares the build of the client, its command and all their tests; IDEM_WERROR=ON takes warnings for errors.
configure_client() {
    cmake -S "$root" -B "$root/build/client" -DIDEM_CLIENT=ON -DIDEM_TESTS=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
        ${IDEM_WERROR:+"-DIDEM_WERROR=$IDEM_WERROR"} "-DPostgreSQL_ROOT=$(dirname "$("$pg_config" --bindir)")"
}

# Builds the targets named of that.
build_client() {
    configure_client || return
    cmake --build "$root/build/client" -j2 --target "$@"
}

# Copies the server of pg_config into a folder, so that an extension can be installed there and the system's server
# knows nothing of it, and prints the pg_config of the copy. PostgreSQL finds its files by the place of its programs.
private_server() {
    local kind from
    for kind in bindir pkglibdir sharedir; do
        from=$("$pg_config" "--$kind")
        mkdir -p "$1$from"
        tar -C "$from" --exclude=./bitcode --exclude='*/idem[.-]*' -cf - . | tar -C "$1$from" -xf -
    done
    # Headers are only read.
    for kind in includedir pkgincludedir includedir-server; do
        from=$("$pg_config" "--$kind")
        [ -e "$1$from" ] || { mkdir -p "$1${from%/*}" && ln -s "$from" "$1$from"; }
    done
    chmod -R a+rX "$1"
    say "$1$("$pg_config" --bindir)/pg_config"
}

# Copies the sources into an empty folder, without anything that was built from them.
copy_sources() {
    mkdir -p "$1"
    tar -C "$root" --exclude=./.git --exclude=./build --exclude=node_modules --exclude='*.o' --exclude='*.so' -cf - . |
        tar -C "$1" --no-same-owner -xf -
}

# Prints the major release that a pg_config belongs to.
release_of() { "$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'; }

# Prints the release of Debian that a release of PostgreSQL is taken from.
debian_of() {
    case $1 in
        15) say bookworm ;;
        17) say trixie ;;
        18) say forky ;;
        *) die "there is no system for PostgreSQL $1, only for 15, 17 and 18" ;;
    esac
}

# Tells whether this machine runs that Debian, and pg_config belongs to that release.
is_own_release() {
    has "$pg_config" && [ "$(release_of "$pg_config")" = "$1" ] &&
        grep -qx "VERSION_CODENAME=$(debian_of "$1")" /etc/os-release
}

# Prints a sign of life now and then, as long as the script lives. It waits for a pipe on which nothing comes: a sleep
# would be a process of its own, and outlive this one.
keep_alive() {
    local start=$SECONDS silence
    exec {silence}<> <(:)
    until read -r -t 20 -u "$silence" || ! kill -0 $$ 2>/dev/null; do
        say "... $1: $((SECONDS - start)) s"
    done
}

# Prints `passed failed` for the output of a suite: ctest's lines, pg_regress's (since release 16 they are TAP), TAP's,
# unittest's, GoogleTest's. What was skipped did not run; what is marked as to do may fail.
count() {
    awk '
        /^ok [0-9]+/ && !/# (SKIP|skip)/                 { passed++ }
        /^not ok [0-9]+/ && !/# (TODO|todo)/             { failed++ }
        /\.\.\. ok +[0-9]+ ms/                           { passed++ }
        /\.\.\. FAILED/                                  { failed++ }
        /^test_.* \.\.\. ok$/                            { passed++ }
        /^test_.* \.\.\. (FAIL|ERROR)$/                  { failed++ }
        /^\[       OK \] .* \([0-9]+ ms\)$/              { passed++ }
        /^\[  FAILED  \] .* \([0-9]+ ms\)$/              { failed++ }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .* Passed /    { passed++ }
        /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: .*\*\*\*/ && !/\*\*\*Skipped/ { failed++ }
        END { print passed + 0, failed + 0 }' "$1"
}

# Prints the sum of the lines `N passed, N failed` of a file as one, and fails where something failed, or where the
# status given says so.
sum_up() {
    local passed failed
    read -r passed failed < <(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 } END { print p + 0, f + 0 }' "$1")
    if [ "$2" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    say "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
