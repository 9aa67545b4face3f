# Batches of many sessions at once: no deadlock, every key once, and nothing left of a batch that is cancelled.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('batches', conf => "deadlock_timeout = 20ms\nmax_connections = 50\n");
my $sessions = 8;
$node->safe_psql('postgres',
    'CREATE TABLE answers (tenant text, key text, session int, outcome idem_outcome, sqlstate text, id uuid)');

# H03: overlapping windows of keys, shuffled, that move along with the rounds.
for my $case ([ 200, 40 ], [ 1000, 6 ])
{
    my ($size, $rounds) = @$case;
    my $tenant = "of $size";
    my ($exit, $output) = run_pgbench(
        $node, qq{
        \\set round :round + 1
        \\set base :round * $size / 4 + random(0, $size / 2)
        WITH request AS MATERIALIZED (
            SELECT array_agg('k' || g) AS keys, array_agg('o' || g) AS orders
            FROM (SELECT g FROM generate_series(:base, :base + $size - 1) g ORDER BY random()) s)
        INSERT INTO answers
        SELECT '$tenant', keys[ord], :client_id, outcome, sqlstate, transaction_id
        FROM request, idem_create_transactions('{$tenant}', keys, '{1}', '{EUR}', order_refs => orders);
        }, '-c', $sessions, '-j', 2, '-t', $rounds, '-D', 'round=0'
    );
    is($exit, 0, "batches $tenant: no session fails");
    like($output, qr/number of failed transactions: 0 /, "batches $tenant: no deadlock") or diag($output);
    is(
        $node->safe_psql(
            'postgres', qq{
            SELECT count(*), count(sqlstate), count(*) FILTER (WHERE outcome NOT IN ('created', 'replayed')) FROM answers
            WHERE tenant = '$tenant'}
        ),
        join('|', $sessions * $rounds * $size, 0, 0),
        "batches $tenant: every request gets a transaction"
    );
    is(
        $node->safe_psql(
            'postgres', qq{
            SELECT count(*) FROM (SELECT key FROM answers WHERE tenant = '$tenant' GROUP BY key
                HAVING count(DISTINCT id) <> 1 OR count(*) FILTER (WHERE outcome = 'created') <> 1) s}
        ),
        0,
        "batches $tenant: every key is created once, and has one id"
    );
    is(
        $node->safe_psql(
            'postgres', qq{
            SELECT count(*) FILTER (WHERE t.id IS NULL), count(*) FILTER (WHERE a.id IS NULL), count(*) > $size
            FROM (SELECT DISTINCT key, id FROM answers WHERE tenant = '$tenant') a
            FULL JOIN (SELECT * FROM idem_transactions WHERE tenant_id = '$tenant') t ON t.idempotency_key = a.key AND t.id = a.id}
        ),
        '0|0|t',
        "batches $tenant: the answers are the rows of the ledger"
    );
}

# The requests of the demo, as arguments of a batch from this one on.
my @requests;
open my $lines, '<', "$FindBin::Bin/../../demo/requests.jsonl" or die "could not read the requests: $!";
push @requests, JSON::PP->new->utf8->decode($_) while <$lines>;
close $lines;
is(scalar @requests, 4000, 'there are 4000 requests');

sub batch_of
{
    my ($first, $count) = @_;
    my @arrays;
    for my $field ([ tenant_id => 'text' ], [ idempotency_key => 'text' ], [ amount_minor => 'bigint' ],
        [ currency => 'text' ], [ details => 'jsonb' ], [ operation => 'text' ], [ order_ref => 'text' ])
    {
        my ($name, $type) = @$field;
        my @values = map {
            my $value = $_->{$name};
            defined $value ? "'" . ($value =~ s/'/''/gr) . "'" : 'NULL'
        } @requests[ $first .. $first + $count - 1 ];
        push @arrays, 'ARRAY[' . join(', ', @values) . "]::${type}[]";
    }
    my $sql = "SELECT ord - 1 + $first, outcome, transaction_id FROM idem_create_transactions(" . join(', ', @arrays) . ");\n";
    utf8::encode($sql);
    return $sql;
}

sub script_of
{
    my ($size) = @_;
    my $file = PostgreSQL::Test::Utils::tempdir() . "/batches_of_$size.sql";
    open my $script, '>', $file or die "could not write $file: $!";
    print $script "SET client_encoding = 'UTF8';\n";
    print $script batch_of($_ * $size, $size) for 0 .. 4000 / $size - 1;
    close $script;
    return $file;
}

# H81: four sessions play them at the same time, in batches; and one plays all of them in one batch.
for my $case ([ 4, 500 ], [ 1, 4000 ])
{
    my ($players, $size) = @$case;
    $node->safe_psql('postgres', 'TRUNCATE idem_transactions');
    my $file = script_of($size);
    my (@out, @err, @running);
    for my $i (0 .. $players - 1)
    {
        ($out[$i], $err[$i]) = ('', '');
        push @running, start_psql($node, \$file, \$out[$i], \$err[$i]);
    }
    $_->finish for @running;
    my (@ids, %outcomes);
    for my $i (0 .. $players - 1)
    {
        is($err[$i], '', "batches of $size: session $i gets no error");
        for my $answer (split /\n/, $out[$i])
        {
            my ($number, $outcome, $id) = split /\|/, $answer, -1;
            ++$outcomes{$outcome};
            $ids[$number]{$id} = 1;
        }
    }
    is_deeply(
        \%outcomes,
        { created => 2691, replayed => $players * 3936 - 2691, conflict => $players * 64 },
        "batches of $size: every request gets its answer"
    );
    is(scalar(grep { keys %$_ == 1 } @ids), 4000, "batches of $size: the sessions get the same id for every request");
    is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), 2691, "batches of $size: the ledger has a row for each");
}

# A batch that is ended while it waits, while it inserts and while it reads leaves nothing, and the session goes on.
{
    my $many = q{(SELECT array_agg('c' || g) FROM generate_series(1, 100000) g)};
    my $held = $node->background_psql('postgres');
    $held->query_safe('BEGIN; ' . create('cancel', 'c5'));
    my ($out, $err) = ('', '');
    my $caller = start_psql(
        $node, qq{
        SELECT count(*) FROM idem_create_transactions('{cancel}', '{c9,c5,c1}', '{1}', '{EUR}') /* waits */},
        \$out, \$err
    );
    wait_until_blocked($node, '%waits%') or die 'the batch does not wait';
    $node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%waits%'});
    $caller->finish;
    like($err, qr/57014/, 'a batch that waits is cancelled');
    $held->query_safe('ROLLBACK');
    $held->quit;
    # How far each of these gets depends on the machine; that nothing is left does not.
    for my $limit (20, 100, 200, 300)
    {
        is(
            sqlstate(
                $node, qq{
                SET statement_timeout = $limit;
                SELECT count(*) FROM idem_create_transactions('{cancel}', $many, '{1}', '{EUR}',
                    (SELECT array_agg(jsonb_build_object('n', repeat('x', 900))) FROM generate_series(1, 100000) g))}
            ),
            '57014',
            "a batch of 100,000 that takes more than $limit ms is ended"
        );
    }
    is($node->safe_psql('postgres', q{SELECT count(*) FROM idem_transactions WHERE tenant_id = 'cancel'}), 0, 'nothing of them is stored');
    is(
        $node->safe_psql(
            'postgres', q{
            BEGIN;
            SAVEPOINT s;
            \set ON_ERROR_STOP off
            SET LOCAL statement_timeout = 50;
            SELECT count(*) FROM idem_create_transactions('{cancel}', (SELECT array_agg('c' || g) FROM generate_series(1, 100000) g), '{1}', '{EUR}');
            ROLLBACK TO s;
            SELECT string_agg(outcome::text, ' ') FROM idem_create_transactions('{cancel}', '{c1,c2}', '{1}', '{EUR}');
            COMMIT;}, on_error_stop => 0
        ),
        'created created',
        'the transaction goes on from a savepoint'
    );
}

$node->stop;
done_testing();
