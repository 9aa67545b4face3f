#!/usr/bin/env bash
# Lets sqlsmith send queries to the server that scripts/with-server has started, and looks at what that server has to
# say. usage: smith.sh QUERIES SEED
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

queries=$1
seed=$2
log=$HOME/server.log # of scripts/with-server
work=$(mktemp -d)
number=0
failed=0

# shellcheck disable=SC2317
# Ends sqlsmith where it still runs, and removes its output.
clean_up() {
    [ -z "${smith:-}" ] || kill "$smith" 2>/dev/null || true
    rm -rf "$work"
}

# Prints the result of a check in the words of TAP: its name, and a command that tells whether it holds.
check() {
    local name=$1 result=ok
    shift
    number=$((number + 1))
    "$@" >"$work/check" 2>&1 || { result='not ok'; failed=1; }
    printf '%s %d - %s\n' "$result" "$number" "$name"
    [ "$result" = ok ] || sed 's/^/# /' "$work/check" | head -n 40
}

# Asks the server.
ask() { psql -XAtq -d postgres -c "$1"; }

# shellcheck disable=SC2317
# Tells whether the log has no line that matches, and prints those that do.
log_lacks() { ! grep -aE -A3 "$1" "$log"; }

# shellcheck disable=SC2317
# Tells whether the queries called what idem has, and more than once.
reached_all() {
    local missing
    missing=$(ask "
        SELECT string_agg(name, ', ') FROM unnest('{idem_create_transaction,idem_try_create_transaction,
          idem_create_transactions,idem_insert,idem_try_insert,idem_canonical,idem_fingerprint,idem_audit_table,
          idem_find_duplicates,idem_write_path,smith_call,smith_row,smith_hash}'::text[]) AS name
        WHERE coalesce((SELECT calls FROM pg_stat_user_functions WHERE funcname = name), 0) < least(1, $queries / 4000)")
    [ -z "$missing" ] || { echo "hardly called: $missing"; return 1; }
}

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
psql -Xq -v ON_ERROR_STOP=1 -f smith.sql postgres >/dev/null
started=$(ask 'SELECT pg_postmaster_start_time()')
echo "# sqlsmith, $queries queries, seed $seed"
sqlsmith --target="host=$PGHOST port=$PGPORT user=smith dbname=postgres" --exclude-catalog --seed="$seed" \
    --max-queries="$queries" --verbose >"$work/out" 2>"$work/err" </dev/null &
smith=$!
while kill -0 "$smith" 2>/dev/null; do
    sleep 1
    [ $((SECONDS % 20)) -ne 0 ] || echo "# sqlsmith: $SECONDS s"
done
status=0
wait "$smith" || status=$?
smith=

check "sqlsmith ends by itself" test "$status" -eq 0
check "it has sent $queries queries" grep -aq "queries: $queries" "$work/err"
check "no server process has crashed, nor failed an assertion" \
    log_lacks 'terminated by signal|PANIC:|TRAP:|server process .* exited|reinitializing'
check "no connection was lost" log_lacks 'FATAL:|could not (send|receive) data'
check "no internal error came from idem" log_lacks '^XX[0-9A-Z]{3} .*(idem|unexpected exception|ledger)'
check "the server is the one that was started" test "$started" = "$(ask 'SELECT pg_postmaster_start_time()')"
check "the queries called what idem has" reached_all
echo "1..$number"
exit "$failed"
