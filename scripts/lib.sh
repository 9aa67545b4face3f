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

# Builds the targets named of the client, its command and their tests.
build_client() {
    cmake -S "$root" -B "$root/build/client" -DIDEM_CLIENT=ON -DIDEM_TESTS=ON \
        "-DPostgreSQL_ROOT=$(dirname "$("$pg_config" --bindir)")" || return
    cmake --build "$root/build/client" -j2 --target "$@"
}
