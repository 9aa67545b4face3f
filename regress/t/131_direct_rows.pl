# Rows that were written without a statement are rows as any other: for logical decoding and subscribers, in prepared
# transactions, after savepoints, after crashes, and for pg_amcheck; those that were taken back never were.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 8;
my $publisher = new_server(
    'direct',
    allows_streaming => 'logical',
    conf => "max_prepared_transactions = 10\nlogical_decoding_work_mem = 64kB\nautovacuum = off\n"
);
my $subscriber = new_server('subscriber', allows_streaming => 'logical');

is($publisher->safe_psql('postgres', 'SELECT idem_write_path()'), '(direct,)', 'calls write without a statement');
$publisher->safe_psql(
    'postgres', q{
    CREATE PUBLICATION idem FOR TABLE idem_transactions;
    SELECT pg_create_logical_replication_slot('decoded', 'test_decoding');
    CREATE FUNCTION noise(octets int) RETURNS text LANGUAGE sql VOLATILE AS
        'SELECT string_agg(md5(random()::text || g), '''') FROM generate_series(1, octets / 32) g';
    CREATE TABLE document (tenant text, round int, body jsonb);}
);
$subscriber->safe_psql('postgres',
          "CREATE SUBSCRIPTION idem CONNECTION '"
        . $publisher->connstr
        . " dbname=postgres' PUBLICATION idem WITH (streaming = on)");
make_barrier($publisher, $sessions);

# Twins that meet in the middle of their inserts: large documents take a while to be stored, before the indexes are told.
# Half of the sessions fight for a key, and all of them for an order.
sub taken_back
{
    return $publisher->safe_psql('postgres',
        "SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'idem_transactions'");
}
for my $case ([ 'key', q{'k' || :round}, 'NULL' ], [ 'order', q{'k' || :round || '-' || :client_id % 2}, q{'o' || :round} ])
{
    my ($tenant, $key, $order) = @$case;
    my $rounds = 20;
    my $before = taken_back();
    $publisher->safe_psql('postgres',
        "INSERT INTO document SELECT '$tenant', r, jsonb_build_object('n', r, 'text', noise(400000)) FROM generate_series(1, $rounds) r");
    my ($exit, $output) = race(
        $publisher, $sessions, $rounds, qq{
        SELECT outcome FROM document, idem_try_create_transaction('$tenant', $key, round, 'EUR', body, order_ref => $order)
        WHERE tenant = '$tenant' AND round = :round;
    }
    );
    is($exit, 0, "$tenant: no session fails");
    unlike($output, qr/ERROR|error:/, "$tenant: without an error") or diag($output);
    is(
        $publisher->safe_psql(
            'postgres', qq{SELECT count(*), count(DISTINCT amount_minor), bool_and(details = body)
            FROM idem_transactions LEFT JOIN document ON tenant = tenant_id AND round = amount_minor WHERE tenant_id = '$tenant'}
        ),
        "$rounds|$rounds|t",
        "$tenant: one row in each round, with its document"
    );
    cmp_ok(taken_back(), '>', $before, "$tenant: rows were taken back");
}

# Savepoints, subtransactions, prepared transactions.
$publisher->safe_psql(
    'postgres',
    join(';', 'BEGIN', create('s', 'kept'), 'SAVEPOINT a', create('s', 'dropped'), 'SAVEPOINT b', create('s', 'dropped too'),
        'ROLLBACK TO a', create('s', 'dropped'), 'ROLLBACK TO a', 'SAVEPOINT c', create('s', 'inner'), 'RELEASE c', 'COMMIT')
);
$publisher->safe_psql('postgres', join(';', 'BEGIN', create('s', 'lost'), 'ROLLBACK'));
$publisher->safe_psql('postgres', join(';', 'BEGIN', create('s', $_), "PREPARE TRANSACTION '$_'")) for 'held', 'forgotten';
$publisher->safe_psql('postgres', "COMMIT PREPARED 'held'");
$publisher->safe_psql('postgres', "ROLLBACK PREPARED 'forgotten'");
is(
    $publisher->safe_psql('postgres', "SELECT string_agg(idempotency_key, ',' ORDER BY idempotency_key) FROM idem_transactions WHERE tenant_id = 's'"),
    'held,inner,kept', 'what was rolled back is gone'
);

# One statement's rows see each other, but not the statement.
is(
    $publisher->safe_psql(
        'postgres', q{
        SELECT outcome, (SELECT count(*) FROM idem_transactions WHERE tenant_id = 'v')
        FROM generate_series(1, 4) g, idem_create_transaction('v', 'k' || g / 2, 1, 'EUR')}
    ),
    join("\n", 'created|0', 'created|0', 'replayed|0', 'created|0'),
    'a call sees what calls before it wrote, the statement does not'
);

# Whoever decodes sees each row once, and no other.
my @decoded = split /\n/,
    $publisher->safe_psql(
        'postgres', q{SELECT substring(data FROM ' id\[uuid\]:''([-0-9a-f]+)''') FROM pg_logical_slot_get_changes('decoded', NULL, NULL)
        WHERE data LIKE 'table public.idem_transactions:%'}
    );
my @stored = split /\n/, $publisher->safe_psql('postgres', 'SELECT id FROM idem_transactions');
is_deeply([ sort @decoded ], [ sort @stored ], 'decoded are exactly the rows that are there');
$publisher->wait_for_catchup('idem');
my $digest = q{SELECT count(*), md5(string_agg(t::text, '' ORDER BY id)) FROM idem_transactions t};
is($subscriber->safe_psql('postgres', $digest), $publisher->safe_psql('postgres', $digest), 'and so are those of a subscriber');
my ($outcome) = split /\|/, $subscriber->safe_psql('postgres',
    "SELECT f.* FROM idem_transactions t, LATERAL (SELECT outcome FROM idem_create_transaction(t.tenant_id, 'k1', 1, 'EUR', details)) f
     WHERE tenant_id = 'key' AND idempotency_key = 'k1'");
is($outcome, 'replayed', 'where they replay');

# The server dies with a call's transaction open.
{
    my ($out, $err) = ('', '');
    my $psql = start_psql($publisher, 'BEGIN; ' . create('c', 'open') . '; SELECT pg_sleep(600)', \$out, \$err);
    $publisher->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'})
        or die 'the session does not sleep';
    my (undef, $id) = call($publisher, 'c', 'committed');
    $publisher->stop('immediate');
    $psql->finish;
    $publisher->start;
    is_deeply([ call($publisher, 'c', 'committed') ], [ 'replayed', $id ], 'after a crash a committed row replays');
    ($outcome) = call($publisher, 'c', 'open');
    is($outcome, 'created', 'and an open one is gone');
}
my @amcheck = qw(pg_amcheck --install-missing --heapallindexed --parent-check -t idem_* postgres);
$publisher->command_ok(\@amcheck, 'pg_amcheck finds nothing');
$subscriber->stop;
$publisher->stop;

# With the least WAL: rows in a ledger that was made in the same transaction, and in one that was there.
my $minimal = new_server('minimal', conf => "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
is(
    $minimal->safe_psql(
        'postgres',
        'SELECT idem_write_path();'
            . create('t', 'before')
            . q{; BEGIN; DROP TABLE idem_transactions; SELECT idem_create_ledger(); SELECT idem_write_path();}
            . create('t', 'same')
            . '; COMMIT;'
            . create('t', 'after')
    ) =~ s/\|[-0-9a-f]{36}//gr,
    join("\n", '(direct,)', 'created', 'idem_transactions', '(direct,)', 'created', 'created'),
    'wal_level minimal: calls write without a statement'
);
$minimal->stop('immediate');
$minimal->start;
is((call($minimal, 't', $_))[0], 'replayed', "wal_level minimal: key $_ replays after a crash") for 'same', 'after';
is((call($minimal, 't', 'before'))[0], 'created', 'wal_level minimal: what was dropped is gone');
$minimal->command_ok(\@amcheck, 'wal_level minimal: pg_amcheck finds nothing');

$minimal->stop;
done_testing();
