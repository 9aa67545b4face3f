# A batch of 100,000 requests with 1 kB of details each takes the memory that its arguments take and less than 100 MB
# more, and gives all of it back.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

# The C library would keep the more of what is freed the larger it was, by rules that differ from release to release.
local $ENV{MALLOC_MMAP_THRESHOLD_} = 128 * 1024;
local $ENV{MALLOC_TRIM_THRESHOLD_} = 128 * 1024;
my $node = new_server('batch_memory', conf => "shared_buffers = 16MB\nmax_wal_size = 4GB\nautovacuum = off\nwork_mem = 4MB\n");
plan skip_all => 'needs /proc' unless -r '/proc/self/status';

# The peak is that of the kernel, which counts shared memory, too.
$node->safe_psql(
    'postgres', q{
    CREATE FUNCTION memory(line text) RETURNS bigint LANGUAGE sql AS
        $$SELECT substring(pg_read_file('/proc/self/status'), line || ':\s+(\d+) kB')::bigint / 1024$$;
    CREATE TABLE arguments AS
    SELECT array_agg('k' || g) AS keys, array_agg('o' || g) AS orders,
        array_agg(jsonb_build_object('n', g, 'text', repeat(md5(g::text), 31))) AS details
    FROM generate_series(1, 100000) g;}
);

# One session for each.
sub measure
{
    my ($name, $call, $answer) = @_;
    my $row = $node->safe_psql(
        'postgres', qq{
        SELECT count(*) FROM idem_create_transactions('{warm}', '{up}', '{1}', '{EUR}');
        SELECT memory('VmHWM') AS before \\gset
        SELECT memory('RssAnon') AS anonymous \\gset
        SELECT outcome, count(*) FROM arguments, $call GROUP BY outcome;
        SELECT memory('VmHWM') - :before, memory('RssAnon') - :anonymous;}
    );
    my (undef, $outcome, $growth) = split /\n/, $row;
    is($outcome, $answer, "$name get their answers");
    my ($peak, $left) = split /\|/, $growth;
    note("$name: peak $peak MB, left $left MB");
    cmp_ok($peak, '<', 105 + 100, "$name: the peak is below 100 MB beside the 105 MB of the arguments");
    cmp_ok($left, '<', 5, "$name: less than 5 MB are kept");
    return;
}

my $call = q{idem_create_transactions('{%s}', keys, '{1}', '{EUR}', details%s)};
measure('100,000 new requests', sprintf($call, 't', ''), 'created|100000');
measure('100,000 replays', sprintf($call, 't', ''), 'replayed|100000');
measure('100,000 new requests with an order', sprintf($call, 'u', ', order_refs => orders'), 'created|100000');
measure('100,000 conflicts', sprintf($call, 'u', ''), 'conflict|100000');
measure('100,000 taken orders', q{idem_create_transactions('{u}', (SELECT array_agg('other' || k) FROM unnest(keys) k), '{1}', '{EUR}',
    details, order_refs => orders)}, 'order_taken|100000');

# Many batches in one transaction, half of them refused, grow the session by nothing.
{
    my ($out, $err);
    $node->psql(
        'postgres', q{
        SET client_min_messages = notice;
        DO $do$
        DECLARE
            before bigint;
            keys text[];
            details jsonb[];
        BEGIN
            FOR i IN 1 .. 1000 LOOP
                SELECT array_agg('k' || g) INTO keys FROM generate_series(i * 50, i * 50 + 100) g;
                SELECT array_agg(jsonb_build_object('n', g, 'text', repeat('x', 950))) INTO details
                FROM generate_series(i * 50, i * 50 + 100) g;
                PERFORM idem_create_transactions('{many}', keys, '{1}', '{EUR}', details);
                BEGIN
                    PERFORM idem_create_transactions('{many}', keys, '{2}', '{EUR}', mode => 'all');
                    RAISE 'no conflict';
                EXCEPTION WHEN SQLSTATE 'ID001' THEN
                END;
                IF i = 100 THEN
                    before := memory('RssAnon');
                END IF;
            END LOOP;
            RAISE NOTICE 'growth %', memory('RssAnon') - before;
        END $do$}, stdout => \$out, stderr => \$err
    );
    my ($growth) = $err =~ /growth (-?\d+)/;
    cmp_ok($growth // 1000, '<', 10, 'a transaction with 2,000 batches grows by less than 10 MB') or diag($err);
}

$node->stop;
done_testing();
