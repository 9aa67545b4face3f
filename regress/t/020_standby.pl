# Where nothing can be written, on a standby and in READ ONLY, every call is refused alike; a promoted standby goes on,
# with the ledger and with attached tables.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my @before = call($primary, 't', 'before');
$primary->safe_psql(
    'postgres', q{
    CREATE TABLE payment (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id text NOT NULL,
        idempotency_key text NOT NULL, request_hash bytea, amount int, UNIQUE (tenant_id, idempotency_key));
    SELECT idem_attach('payment', fixed_operation => 'pay');}
);
my $pay = sub { "SELECT outcome, \"row\" ->> 'id' FROM idem_insert('payment', 't', '$_[0]', '{\"amount\": 1}')" };
my $paid = $primary->safe_psql('postgres', $pay->('before'));
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

# Calls that would replay, create, conflict, or be refused for what they are sent.
my %calls = (
    'a replay' => "'t', 'before', 1000, 'EUR'",
    'a new key' => "'t', 'new', 1000, 'EUR'",
    'a changed request' => "'t', 'before', 1001, 'EUR'",
    'a NULL key' => "'t', NULL, 1000, 'EUR'",
    'NULL everywhere' => 'NULL, NULL, NULL, NULL, NULL, NULL, NULL',
    'a bad currency' => "'t', 'new', 1000, 'euro'"
);

# H71
for my $name (sort keys %calls)
{
    for my $function ('idem_create_transaction', 'idem_try_create_transaction')
    {
        my $sql = "SELECT * FROM $function($calls{$name})";
        is(sqlstate($standby, $sql), '25006', "$name on a standby: $function");
        is(sqlstate($primary, "BEGIN READ ONLY; $sql"), '25006', "$name in READ ONLY: $function");
    }
}
for my $key ('before', 'new')
{
    is(sqlstate($standby, $pay->($key)), '25006', "idem_insert on a standby: key $key");
    is(sqlstate($primary, 'BEGIN READ ONLY; ' . $pay->($key)), '25006', "idem_insert in READ ONLY: key $key");
}
is(
    sqlstate(
        $primary, "SET default_transaction_read_only = on; SELECT * FROM idem_create_transaction($calls{'a replay'})"
    ),
    '25006',
    'default_transaction_read_only is the same'
);
is(
    $standby->safe_psql('postgres', "SELECT idem_canonical(jsonb_build_object('b', 1.0, 'a', null))"),
    '{"a":null,"b":1}', 'the canonical form is to be had on a standby'
);
is(
    $standby->safe_psql('postgres', "SELECT idem_fingerprint(1000, 'EUR') = request_hash FROM idem_transactions"),
    't', 'and so is the fingerprint'
);

# H79: a COMMIT that no standby confirmed, cancelled while it waited, is not there after the failover.
$primary->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'");
$primary->reload;
$standby->stop;
{
    my ($out, $err) = ('', '');
    my $psql = start_psql($primary, create('t', 'unconfirmed') . '; ' . $pay->('unconfirmed'), \$out, \$err);
    my $waiting = q{FROM pg_stat_activity WHERE wait_event = 'SyncRep'};
    $primary->poll_query_until('postgres', "SELECT count(*) = 1 $waiting") or die 'the commit does not wait';
    $primary->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $waiting");
    $psql->finish;
    like($out, qr/^created\|/, 'the cancelled commit is answered');
    like($err, qr/WARNING/, 'with a warning');
}
$primary->stop('immediate');
$standby->start;
$standby->promote;

is_deeply([ call($standby, 't', 'before') ], [ 'replayed', $before[1] ], 'a key from before the promotion replays');
my ($outcome) = call($standby, 't', 'unconfirmed');
is($outcome, 'created', 'a key that only the lost primary had is created');
($outcome) = call($standby, 't', 'new');
is($outcome, 'created', 'a new key is created');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), 3, 'every key is stored once');
is($standby->safe_psql('postgres', $pay->('before')), $paid =~ s/created/replayed/r, 'so it is in an attached table: replayed');
like($standby->safe_psql('postgres', $pay->('unconfirmed')), qr/^created\|/, 'created');
like($standby->safe_psql('postgres', $pay->('unconfirmed')), qr/^replayed\|/, 'and replayed again');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM payment'), 2, 'once each');

$standby->stop;
done_testing();
