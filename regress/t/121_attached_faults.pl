# Calls on an attached table that meet a broken index, a table of another session, a timeout or a huge row.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = new_server('faults', conf => "autovacuum = off\n");
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
my $columns = q{id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
    request_hash bytea, note jsonb, seconds float8};
$node->safe_psql(
    'postgres', qq{
    CREATE TABLE pay ($columns, CONSTRAINT pay_scope UNIQUE (tenant_id, operation, idempotency_key));
    SELECT idem_attach('pay');}
);

# SQL of one call.
sub insert
{
    my ($key, $row, $table) = @_;
    $row   //= '{}';
    $table //= 'pay';
    return "SELECT outcome FROM idem_insert('$table', 't', '$key', '$row', 'op')";
}

# The whole error report of a call, and how long it took.
sub report
{
    my ($sql) = @_;
    my ($out, $err);
    my $start = time;
    $node->psql('postgres', $sql, stdout => \$out, stderr => \$err, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
    return ($err, time - $start);
}

# H14: an index that leads to the row of another key. The key is changed while the index counts as dropped, so that the
# new version of the row stays in the chain that the index's entry leads to.
{
    is($node->safe_psql('postgres', insert('broken')), 'created', 'a row');
    for my $statement (
        q{UPDATE pg_index SET indislive = false WHERE indexrelid = 'pay_scope'::regclass},
        q{UPDATE pay SET idempotency_key = 'moved'},
        q{UPDATE pg_index SET indislive = true WHERE indexrelid = 'pay_scope'::regclass})
    {
        $node->safe_psql('postgres', "SET allow_system_table_mods = on; $statement");
    }
    my ($err, $time) = report(insert('broken'));
    like($err, qr/ERROR:  (?:XX001|55\w{3}): [^\n]*\bpay_scope\b/, 'a broken index is an error that names it');
    cmp_ok($time, '<', 1, '... within a second');
    $node->safe_psql('postgres', 'REINDEX TABLE pay');
    is($node->safe_psql('postgres', insert('broken')), 'created', '... and a rebuilt one serves again');
}

# Flags that are changed behind the server's back: the call says so.
for my $flag (qw(indisvalid indisready indisunique indimmediate))
{
    my $set = "SET allow_system_table_mods = on; UPDATE pg_index SET $flag = %s WHERE indexrelid = 'pay_scope'::regclass";
    $node->safe_psql('postgres', sprintf $set, 'false');
    my ($err) = report(insert('flag'));
    like($err, qr/ERROR:  55000: .*DETAIL:  [^\n]*\bpay_scope\b/s, "an index without $flag is refused by name");
    $node->safe_psql('postgres', sprintf $set, 'true');
}
is($node->safe_psql('postgres', insert('flag')), 'created', 'with all of them it serves');

# A temporary table of another session.
{
    my $other = $node->background_psql('postgres');
    $other->query_safe("CREATE TEMP TABLE theirs ($columns, UNIQUE (tenant_id, operation, idempotency_key))");
    my $oid = $other->query_safe(q{SELECT 'theirs'::regclass::oid});
    is(sqlstate($node, "SELECT idem_attach('$oid')"), '0A000', 'a temporary table of another session cannot be attached');
    is(sqlstate($node, insert('k', '{}', $oid)), '0A000', '... nor written to');
    is(sqlstate($node, "SELECT idem_detach('$oid')"), '0A000', '... nor detached');
    $other->quit;
}

# A cancel and a timeout in the middle of a call, which sleeps in a trigger: its own code, and nothing stored.
$node->safe_psql(
    'postgres', q{
    CREATE FUNCTION doze() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_sleep(NEW.seconds);
        RETURN NEW;
    END $$;
    CREATE TRIGGER doze BEFORE INSERT ON pay FOR EACH ROW WHEN (NEW.seconds > 0) EXECUTE FUNCTION doze();}
);
{
    my $session = $node->background_psql('postgres', on_error_stop => 0);
    $session->query('\set VERBOSITY sqlstate');
    my $answer = sub {
        $session->{stderr} = '';
        my $out = $session->query($_[0]);
        return $session->{stderr} =~ /ERROR:  (\w{5})/ ? $1 : $out;
    };
    $answer->(q{SET statement_timeout = '50ms'});
    for my $round (1 .. 5)
    {
        is($answer->(insert("slow$round", '{"seconds": 60}')), '57014', 'a timeout ends a call with its own code');
        is($answer->(insert("quick$round")), 'created', '... and the next one works');
    }
    $answer->('SET statement_timeout = 0');
    my $pid = $answer->('SELECT pg_backend_pid()');
    $session->query_until(qr/runs/, "\\echo runs\n" . insert('cancelled', '{"seconds": 60}') . ";\n");
    $node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid");
    $node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
    $session->query('SELECT 1');
    like($session->{stderr}, qr/57014/, 'so does a cancel');
    is($answer->(insert('cancelled')), 'created', '... after which the key is free');
    is($answer->("BEGIN; SAVEPOINT s"), '', 'in a subtransaction');
    is($answer->(insert('sub')), 'created', '... a row is created');
    is($answer->('ROLLBACK TO s; ' . insert('sub', '{"note": 2}')), 'created', '... and forgotten with it');
    $answer->('COMMIT');
    is($answer->(insert('sub', '{"note": 2.0}')), 'replayed', 'what came after it stays');
    $session->quit;
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM pay WHERE idempotency_key LIKE 'slow%'}), 0, 'nothing is stored');

# Huge and deep documents.
my $huge = q{jsonb_build_object('note', jsonb_build_object('text', (SELECT string_agg(md5(n::text), '') FROM
    generate_series(1, 40000) n), 'list', (SELECT jsonb_agg(n) FROM generate_series(1, 100000) n)))};
my $huge_call = "SELECT outcome FROM idem_insert('pay', 't', 'huge', %s, 'op')";
is($node->safe_psql('postgres', sprintf $huge_call, $huge), 'created', 'a row of more than a megabyte');
is($node->safe_psql('postgres', sprintf $huge_call, $huge), 'replayed', '... replays');
is(sqlstate($node, sprintf $huge_call, "jsonb_set($huge, '{note,list,99999}', '0')"), 'ID001', '... and its last element counts');
for my $depth (100, 1000)
{
    my $deep = "('{\"note\": ' || repeat('[', $depth) || repeat(']', $depth) || '}')::jsonb";
    my $call = "SELECT outcome FROM idem_insert('pay', 't', 'deep$depth', $deep, 'op')";
    is($node->safe_psql('postgres', $call), 'created', "a document with $depth levels");
    is($node->safe_psql('postgres', $call), 'replayed', '... replays');
}
{
    # The server reads a deep document with less stack than it takes to walk through it; so with less for the call.
    my $session = $node->background_psql('postgres', on_error_stop => 0);
    $session->query('\set VERBOSITY sqlstate');
    $session->query_safe(q{CREATE TEMP TABLE deep AS SELECT ('{"note": ' || repeat('{"a":', 6000) || '1' || repeat('}', 6000)
        || '}')::jsonb AS row});
    $session->query_safe(q{SET max_stack_depth = '100kB'});
    $session->{stderr} = '';
    $session->query(q{SELECT outcome FROM deep, idem_insert('pay', 't', 'too deep', row, 'op')});
    like($session->{stderr}, qr/54001/, 'a document that is nested too deeply is refused');
    $session->{stderr} = '';
    is($session->query(insert('after')), 'created', '... and the session goes on');
    $session->quit;
}

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server was not started again');
my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC|crash of another server process/, 'no process of it died');

$node->stop;
done_testing();
