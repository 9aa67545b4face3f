# Twins race on a partitioned ledger, one partition of which has a unique index of its own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my ($sessions, $seconds) = (8, 8);
my $node = new_server('partition_twins', conf => "max_connections = 30\n");
$node->safe_psql(
    'postgres', q{
    BEGIN;
    DROP EXTENSION idem;
    ALTER TABLE idem_transactions RENAME TO plain;
    CREATE TABLE idem_transactions (LIKE plain INCLUDING DEFAULTS,
        PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, operation, idempotency_key)) PARTITION BY HASH (tenant_id);
    CREATE UNIQUE INDEX ON idem_transactions (tenant_id, operation, order_ref) WHERE order_ref IS NOT NULL;
    CREATE TABLE part_0 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE part_1 PARTITION OF idem_transactions FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    CREATE EXTENSION idem;
    COMMIT;
    CREATE UNIQUE INDEX part_0_invoice ON part_0 (tenant_id, (details->>'invoice'));
    CREATE TABLE answers (key text, outcome idem_outcome, id uuid);}
);
# A tenant in each partition.
my %tenant = map { split /\|/ } split /\n/, $node->safe_psql(
    'postgres', q{
    SELECT DISTINCT ON (part) CASE WHEN satisfies_hash_partition('idem_transactions'::regclass, 2, 0, 't' || g)
        THEN 'part_0' ELSE 'part_1' END AS part, 't' || g
    FROM generate_series(1, 50) g ORDER BY part, g}
);
is(join(' ', sort keys %tenant), 'part_0 part_1', 'there is a tenant in each partition');

# The key is the time, in steps of two milliseconds: sessions that call within one step are twins.
for my $part ('part_0', 'part_1')
{
    my $script = qq{
        SELECT (extract(epoch FROM clock_timestamp()) * 500)::bigint AS key \\gset
        SELECT outcome, transaction_id AS id FROM idem_create_transaction('$tenant{$part}', 'k' || :key, 1, 'EUR',
            jsonb_build_object('invoice', :key::text)) \\gset
        INSERT INTO answers VALUES (:key, ':outcome', ':id');
    };
    my ($exit, $output) = run_pgbench($node, $script, '-c', $sessions, '-j', 4, '-T', $seconds / 2);
    is($exit, 0, "$part: no session fails");
    unlike($output, qr/ERROR|error:/, "$part: nor gets an error") or diag(substr($output, 0, 2000));
    is(
        $node->safe_psql(
            'postgres', q{SELECT count(*) FROM (SELECT FROM answers GROUP BY key
                HAVING count(DISTINCT id) <> 1 OR count(*) FILTER (WHERE outcome = 'created') <> 1) wrong}
        ),
        0,
        "$part: every key has one id, and is created once"
    );
    cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM answers WHERE outcome = 'replayed'}),
        '>', 50, "$part: there were twins");
    is(
        $node->safe_psql('postgres', "SELECT count(*) = (SELECT count(DISTINCT key) FROM answers) FROM $part"),
        't', "$part: and all keys are in it"
    );
    $node->safe_psql('postgres', 'TRUNCATE answers');
}

# A clash on the partition's own key is still told as what it is.
my $clash = "SELECT idem_create_transaction('$tenant{part_0}', 'clash', 1, 'EUR', details) FROM part_0 LIMIT 1";
is(sqlstate($node, $clash), '23505', 'another key that clashes on the index of its partition gets 23505');

$node->stop;
done_testing();
