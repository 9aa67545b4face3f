# A server that preloads the library counts calls, whoever makes them and whatever happens to their transactions.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('stats');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
    "shared_preload_libraries = 'idem'\nrestart_after_crash = on\nlog_statement = none\n");
$node->start;

my @counters = qw(created replayed conflict order_taken in_progress serialization_failures waits);

# The counters of an operation that are not zero, as 'created=1 replayed=2'.
sub counted
{
    my ($operation, $datname) = @_;
    $datname //= 'postgres';
    my $columns = join ', ', @counters;
    my $row = $node->safe_psql('postgres',
        "SELECT $columns FROM idem_stats WHERE operation = '$operation' AND datname = '$datname'");
    my @values = split /\|/, $row;
    return join ' ', map { "$counters[$_]=$values[$_]" } grep { $values[$_] } 0 .. $#values;
}

sub call_of
{
    my ($operation, $key, %option) = @_;
    my $function = $option{try} ? 'idem_try_create_transaction' : 'idem_create_transaction';
    my $amount = $option{amount} // 1;
    my $order = $option{order} ? ", order_ref => '$option{order}'" : '';
    return "SELECT outcome FROM $function('t', '$key', $amount, 'EUR', operation => '$operation'$order)";
}

# Preloaded, and no extension: nothing is amiss.
{
    is($node->safe_psql('postgres', 'SELECT 1'), 1, 'a server that preloads the library works without the extension');
    $node->safe_psql('postgres', 'CREATE EXTENSION idem');
    is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_stats'), 0, 'nothing has been counted');
    is($node->safe_psql('postgres', 'SHOW idem.busy_timeout'), '-1', 'settings are known from the start');
}

# Each outcome, by each call.
{
    $node->safe_psql('postgres', call_of('kinds', 'k1', order => 'o1'));
    is(counted('kinds'), 'created=1', 'created');
    $node->safe_psql('postgres', call_of('kinds', 'k1', order => 'o1', try => $_)) for 0, 1;
    is(counted('kinds'), 'created=1 replayed=2', 'replayed');
    is(sqlstate($node, call_of('kinds', 'k1', amount => 2)), 'ID001', 'a conflict');
    is(counted('kinds'), 'created=1 replayed=2 conflict=1', 'is counted as an error');
    is($node->safe_psql('postgres', call_of('kinds', 'k1', amount => 2, try => 1)), 'conflict', 'and');
    is(counted('kinds'), 'created=1 replayed=2 conflict=2', 'as an outcome');
    is(sqlstate($node, call_of('kinds', 'k2', order => 'o1')), 'ID003', 'a taken order');
    is($node->safe_psql('postgres', call_of('kinds', 'k2', order => 'o1', try => 1)), 'order_taken', 'and');
    is(counted('kinds'), 'created=1 replayed=2 conflict=2 order_taken=2', 'is counted both ways, too');
    is(sqlstate($node, call_of('kinds', 'k3', amount => -1)), '22023', 'a malformed request');
    is(counted('kinds'), 'created=1 replayed=2 conflict=2 order_taken=2', 'is not counted');

    my $total = $node->safe_psql('postgres', 'SELECT count(*), sum(wait_time) FROM idem_stats');
    is($total, '1|0', 'nobody has waited');
}

# Calls on attached tables count under their operation, given or fixed.
{
    $node->safe_psql(
        'postgres', q{
        CREATE TABLE payments (tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
            id bigint GENERATED ALWAYS AS IDENTITY, payee text, UNIQUE (tenant_id, idempotency_key));
        SELECT idem_attach('payments', operation_column => NULL, fixed_operation => 'pay')});
    my @calls = map { "SELECT outcome FROM idem_${_}insert('payments', 't', 'k', " } '', 'try_';
    $node->safe_psql('postgres', qq{$_'{"payee":"a"}')}) for @calls;
    is(sqlstate($node, qq{$calls[0]'{"payee":"b"}')}), 'ID001', 'a conflict on an attached table');
    is($node->safe_psql('postgres', qq{$calls[1]'{"payee":"b"}')}), 'conflict', 'and');
    is(sqlstate($node, qq{$calls[0]'{"paye":"b"}')}), '42703', 'a malformed row');
    is(counted('pay'), 'created=1 replayed=1 conflict=2', 'calls on an attached table are counted in the same way');
}

# Calls count, whatever becomes of their transactions.
{
    $node->safe_psql('postgres', 'BEGIN; ' . call_of('rolled back', 'k1') . '; ROLLBACK');
    $node->safe_psql('postgres',
        'BEGIN; SAVEPOINT s; ' . call_of('rolled back', 'k1') . '; ROLLBACK TO s; COMMIT');
    is(counted('rolled back'), 'created=2', 'calls of transactions that roll back are counted');
}

# A batch: each request under its operation, malformed ones not at all; a batch that is raised by what raises it.
{
    my $batch = q{SELECT count(*) FROM idem_create_transactions('{t}', '{a,b,a,a,c,d,x}', '{1,1,1,2,1,1,0}', '{EUR}',
        operations => '{batch,batch,batch,batch,batch,batch 2,batch}', order_refs => '{NULL,o,NULL,NULL,o,o,NULL}'%s)};
    $node->safe_psql('postgres', sprintf $batch, '');
    is(counted('batch'), 'created=2 replayed=1 conflict=1 order_taken=1', 'the outcomes of a batch are counted');
    is(counted('batch 2'), 'created=1', 'each under its operation');
    my $all = q{SELECT count(*) FROM idem_create_transactions('{t}', '{e,a,c}', '{1,2,1}', '{EUR}', operations => '{batch}',
        order_refs => '{NULL,NULL,o}', mode => 'all')};
    is(sqlstate($node, $all), 'ID001', 'a batch in mode all');
    is(counted('batch'), 'created=2 replayed=1 conflict=2 order_taken=1', 'counts the request that it raises');
    my $holder = $node->background_psql('postgres');
    $holder->query_safe('BEGIN; ' . call_of('batch', 'held'));
    my $busy = q{SET idem.busy_timeout = 10; SELECT count(*) FROM idem_create_transactions('{t}', '{a,held}', '{1}', '{EUR}',
        operations => '{batch}')};
    is(sqlstate($node, $busy), 'ID002', 'a batch that gives up');
    $holder->query_safe('ROLLBACK');
    $holder->quit;
    is(counted('batch'), 'created=3 replayed=1 conflict=2 order_taken=1 in_progress=1 waits=1',
        'counts once, and so does its wait');
}

# Waits.
my $holder = $node->background_psql('postgres', on_error_stop => 0);
{
    $holder->query_safe('BEGIN; ' . call_of('waits', 'k1'));
    is(sqlstate($node, "SET idem.busy_timeout = '300ms'; " . call_of('waits', 'k1')), 'ID002', 'a call that gives up');
    is(counted('waits'), 'created=1 in_progress=1 waits=1', 'is counted as one that waited');
    my $ms = $node->safe_psql('postgres', "SELECT wait_time FROM idem_stats WHERE operation = 'waits'");
    cmp_ok($ms, '>=', 295, 'for as long as it did');
    cmp_ok($ms, '<', 10_000, 'in milliseconds');
    is(sqlstate($node, "SET lock_timeout = '10ms'; " . call_of('waits', 'k1')), '55P03', 'one that lock_timeout ended');
    is(counted('waits'), 'created=1 in_progress=1 waits=2', 'has waited, too');

    my ($out, $err) = ('', '');
    my $psql = start_psql($node, call_of('waits', 'k1'), \$out, \$err);
    wait_until_blocked($node, '%idem_create_transaction%') or die 'the call does not wait';
    $holder->query_safe('COMMIT');
    $psql->finish;
    is($out, "replayed\n", 'one that got the row of the first');
    is(counted('waits'), 'created=1 replayed=1 in_progress=1 waits=3', 'as well');
    $node->safe_psql('postgres', call_of('waits', 'k1'));
    is(counted('waits'), 'created=1 replayed=2 in_progress=1 waits=3', 'one that found the row has not');
}

# Serialization failures: those of idem, and those of the server within the call.
{
    $holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    $node->safe_psql('postgres', call_of('40001', 'k1'));
    $holder->query(call_of('40001', 'k1'));
    like($holder->{stderr}, qr/could not serialize access/, 'a row outside of the snapshot');
    $holder->{stderr} = '';
    $holder->query_safe('ROLLBACK');
    is(counted('40001'), 'created=1 serialization_failures=1', 'is counted');

    $node->safe_psql(
        'postgres', q{
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = NEW.details ->> 'code'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON idem_transactions FOR EACH ROW WHEN (NEW.operation = 'refused')
            EXECUTE FUNCTION refuse()});
    for my $code (qw(40001 ID001 P0001))
    {
        is(
            sqlstate(
                $node,
                qq{SELECT idem_create_transaction('t', 'k$code', 1, 'EUR', '{"code":"$code"}', 'refused')}
            ),
            $code,
            "a trigger's $code"
        );
    }
    is(counted('refused'), 'serialization_failures=1', 'only its serialization failure is one of the call');
    $node->safe_psql('postgres', 'DROP TRIGGER refuse ON idem_transactions');
}

# A call within a call: both are counted, the wait once.
{
    $node->safe_psql(
        'postgres', q{
        CREATE FUNCTION nest() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM idem_create_transaction('t', NEW.idempotency_key, 1, 'EUR', operation => 'inner');
            RETURN NEW;
        END $$;
        CREATE TRIGGER nest BEFORE INSERT ON idem_transactions FOR EACH ROW WHEN (NEW.operation = 'outer')
            EXECUTE FUNCTION nest()});
    $holder->query_safe('BEGIN; ' . call_of('inner', 'k1'));
    my ($out, $err) = ('', '');
    my $psql = start_psql($node, call_of('outer', 'k1'), \$out, \$err);
    wait_until_blocked($node, '%idem_create_transaction%') or die 'the call does not wait';
    $holder->query_safe('COMMIT');
    $psql->finish;
    is($out, "created\n", 'a call whose trigger calls');
    is(counted('outer'), 'created=1', 'is counted without the wait');
    is(counted('inner'), 'created=1 replayed=1 waits=1', 'of the call within');
    $node->safe_psql('postgres', 'DROP TRIGGER nest ON idem_transactions');
}
$holder->quit;

# Many at once: nothing is lost.
{
    my $script = q{
        \set k random(1, 500)
        \set op random(1, 20)
        SELECT outcome FROM idem_create_transaction('load', 'k' || :k, 1, 'EUR', operation => 'load' || :op);
    };
    my ($exit, $output) = run_pgbench($node, $script, '-c', 8, '-j', 2, '-t', 1500);
    is($exit, 0, 'eight sessions call') or diag($output);
    my $rows = $node->safe_psql('postgres', "SELECT count(*) FROM idem_transactions WHERE tenant_id = 'load'");
    my $sums = $node->safe_psql('postgres',
        q{SELECT sum(created), sum(created + replayed), count(*) FROM idem_stats WHERE operation LIKE 'load%'});
    is($sums, "$rows|12000|20", 'every call of eight sessions is counted once, under its operation');
}

# Sessions that queue for new pages of a table wait, but not for each other's keys.
{
    my $script = q{
        \set n :n + 1
        SELECT outcome FROM idem_create_transaction('wide', 'k' || :client_id || '-' || :n, 1, 'EUR',
            (SELECT jsonb_build_object('x', string_agg(md5(:client_id || '-' || :n || '-' || g), ''))
                FROM generate_series(1, 320) g), 'wide');
    };
    my ($exit, $output) = run_pgbench($node, $script, '-c', 24, '-j', 2, '-t', 60, '-D', 'n=0');
    is($exit, 0, 'sessions create wide rows') or diag($output);
    is(counted('wide'), 'created=1440', 'and none of them waits for a twin');
}

# Two databases; one has another encoding.
{
    $node->safe_psql('postgres', q{CREATE DATABASE other TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'});
    $node->safe_psql('other', 'CREATE EXTENSION idem');
    $node->safe_psql('other', call_of('kinds', 'k1'));
    is(counted('kinds', 'other'), 'created=1', 'another database counts for itself');
    like(counted('kinds'), qr/^created=1 replayed=2/, 'and leaves the first one alone');

    $node->safe_psql('other', qq{SET client_encoding = 'UTF8'; } . call_of("caf\xC3\xA9", 'k1'));
    my $shown = q{SELECT operation FROM idem_stats WHERE operation LIKE 'caf%'};
    is($node->safe_psql('other', "SET client_encoding = 'UTF8'; $shown"),
        "caf\xC3\xA9", 'its operations are shown there as they are');
    is($node->safe_psql('postgres', $shown), 'caf\xe9', 'and elsewhere without octets that have no meaning there');

    $node->safe_psql('postgres', 'DROP DATABASE other');
    is(
        $node->safe_psql('postgres', q{SELECT operation, created FROM idem_stats WHERE datname IS NULL ORDER BY 1}),
        "caf\\xe9|1\nkinds|1",
        'the counts of a dropped database stay, without a name'
    );
}

# Who may look, and who may reset.
{
    $node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor');
    is(sqlstate($node, 'SET ROLE nobody; SELECT * FROM idem_stats'), '42501', 'a role without rights may not look');
    is(sqlstate($node, 'SET ROLE nobody; SELECT _idem_stats()'), '42501', 'nor past the view');
    is(sqlstate($node, 'SET ROLE nobody; SELECT idem_stats_reset()'), '42501', 'nor reset');
    is(sqlstate($node, 'SET ROLE watcher; SELECT * FROM idem_stats'), '', 'a member of pg_monitor may look');
    is(sqlstate($node, 'SET ROLE watcher; SELECT idem_stats_reset()'), '42501', 'but not reset');
}

# Reset.
{
    my $reset = 'SELECT DISTINCT stats_reset FROM idem_stats';
    my $before = $node->safe_psql('postgres', $reset);
    $node->safe_psql('postgres', 'SELECT idem_stats_reset()');
    is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_stats'), 0, 'a reset empties the table');
    my $session = $node->background_psql('postgres');
    $session->query_safe(call_of('reset', 'k1'));
    is($node->safe_psql('postgres', "SELECT stats_reset > '$before' FROM idem_stats"), 't', 'its time is told');
    for my $round (1 .. 3)
    {
        $node->safe_psql('postgres', 'SELECT idem_stats_reset()');
        $session->query_safe(call_of('reset', 'k1'));
        is(counted('reset'), 'replayed=1', "a session counts on after $round resets");
    }
    $session->quit;

    # While others count.
    my ($out, $err) = ('', '');
    my $calls = "SELECT count(outcome) FROM generate_series(1, 30000) g, LATERAL idem_create_transaction('t', 'r' || g % 7, 1,"
        . " 'EUR', operation => 'busy' || g % 50)";
    my @sessions = map { start_psql($node, $calls, \$out, \$err) } 1 .. 4;
    my $resets = 0;
    my $running = q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT count(outcome)%' AND state = 'active'};
    $node->poll_query_until('postgres', "SELECT ($running) > 0");
    while ($node->safe_psql('postgres', $running) > 0)
    {
        $node->safe_psql('postgres', 'SELECT idem_stats_reset()');
        ++$resets;
        my $bad = $node->safe_psql('postgres',
            q{SELECT count(*) FROM idem_stats WHERE datname <> 'postgres' OR operation !~ '^busy\d+$'
                OR created < 0 OR replayed < 0 OR created + replayed > 120000});
        is($bad, 0, 'whatever is counted after a reset makes sense') if $bad || $resets == 1;
    }
    $_->finish for @sessions;
    cmp_ok($resets, '>', 0, 'there were resets while sessions counted');
    is($out . $err, "30000\n" x 4, "resets ($resets of them) do not disturb those who count");
    $node->safe_psql('postgres', 'SELECT idem_stats_reset()');
    $node->safe_psql('postgres', $calls);
    is($node->safe_psql('postgres', 'SELECT count(*), sum(created + replayed) FROM idem_stats'),
        '50|30000', 'after which counting is exact again');
}

# More operations than the table takes.
{
    $node->safe_psql('postgres', 'SELECT idem_stats_reset()');
    my $script = q{
        \set op random(1, 1100)
        SELECT outcome FROM idem_try_create_transaction('many', 'k', 1, 'EUR', operation => 'many' || :op);
    };
    my ($exit, $output) = run_pgbench($node, $script, '-c', 8, '-j', 2, '-t', 2000);
    is($exit, 0, 'eight sessions call many operations') or diag($output);
    my ($used) = $node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions WHERE tenant_id = \'many\'');
    cmp_ok($used, '>', 1024, 'more than there is space for');
    is(
        $node->safe_psql('postgres', 'SELECT count(*), sum(created + replayed) FROM idem_stats'),
        '1025|16000',
        'all calls are counted'
    );
    my ($rows, $other) = split /\|/,
        $node->safe_psql('postgres',
            q{SELECT count(*), sum(created) FROM idem_stats WHERE datid IS NULL AND operation = '(other)'});
    is($rows, 1, 'the operations that found no place are counted together');
    is($other, $used - 1024, 'each of them');
    $node->safe_psql('postgres', 'SELECT idem_stats_reset()');
    $node->safe_psql('postgres', call_of('(other)', 'k1'));
    is(counted('(other)'), 'created=1', 'a reset makes space, and an operation of that name is not mistaken for the rest');
}

# Counters end with the server's shared memory.
{
    $node->restart;
    is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_stats'), 0, 'a restart starts from zero');
    $node->safe_psql('postgres', call_of('kept', 'k1'));
    my $session = $node->background_psql('postgres', on_error_stop => 0);
    my $pid = $session->query('SELECT pg_backend_pid()');
    $session->query(call_of('kept', 'k1'));
    is(counted('kept'), 'created=1 replayed=1', 'calls are counted');
    kill 'KILL', $pid;
    $session->{run}->kill_kill;
    $node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
        or die 'the server did not recover';
    is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_stats'), 0, 'so does the recovery from a crash');
    $node->safe_psql('postgres', call_of('kept', 'k1'));
    is(counted('kept'), 'replayed=1', 'after which calls are counted again');
}

# Without preloading everything but the counters works, and the counters say what is missing.
{
    $node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
    $node->restart;
    is($node->safe_psql('postgres', call_of('kept', 'k1')), 'replayed', 'without preloading calls work');
    is(sqlstate($node, 'SELECT * FROM idem_stats'), '55000', 'the view is refused');
    is(sqlstate($node, 'SELECT idem_stats_reset()'), '55000', 'and the reset');
    is(sqlstate($node, q{SET session_preload_libraries = 'idem'; LOAD 'idem'; SELECT * FROM idem_stats}),
        '55000', 'no other way of loading helps');
}

$node->stop;
done_testing();
