# The way of docs/adopting.md, statement by statement, on a table that has duplicates and gets another one on the way.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('adopting');
my $page = PostgreSQL::Test::Utils::slurp_file("$FindBin::Bin/../../docs/adopting.md");

# The page's SQL by the heading it stands under.
my (%sql, $heading);
while ($page =~ /^#+ ([^\n]*)\n|^```sql\n(.*?)^```\n/gms)
{
    if (defined $1) { $heading = $1; }
    else { push @{ $sql{$heading} }, $2; }
}
is(
    join(' ', map { scalar @{ $sql{$_} } } sort keys %sql),
    '1 1 3 2 2 2 1 2 1 1', 'the page has the SQL that this test knows, under the headings that it knows'
) or diag explain \%sql;

# Run blocks of the page as its reader does; gives the rows, and dies of an error.
sub follow
{
    my ($where, @blocks) = @_;
    @blocks = (0 .. $#{ $sql{$where} }) unless @blocks;
    return $node->safe_psql('postgres', "SET client_min_messages = warning;\n" . join('', map { $sql{$where}[$_] } @blocks));
}

follow('Adopting a table');
$node->safe_psql('postgres', q{
    CREATE ROLE app;
    INSERT INTO payments (tenant_id, request_id, amount_minor, currency)
    SELECT 'shop-7', r, 1000, 'EUR'
    FROM unnest(ARRAY['req-1', 'req-2', 'req-3', NULL, NULL, 'req-4', 'req-1', 'req-3', 'req-3']) AS r;
    INSERT INTO refunds (payment_id) VALUES (1), (7), (9), (6);
});

is(
    follow('1. Look'),
    qq({"tenant_id": "shop-7", "request_id": "req-3"}|3|3000|[3, 8, 9]|2\n)
        . q({"tenant_id": "shop-7", "request_id": "req-1"}|2|2000|[1, 7]|2),
    'the duplicates are found'
);

follow('2. Stop new duplicates');
my $insert = q{INSERT INTO payments (tenant_id, request_id, amount_minor, currency) VALUES ('shop-7', '%s', 1000, 'EUR')};
$node->safe_psql('postgres', sprintf $insert, 'req-5');
is(sqlstate($node, sprintf $insert, 'req-5'), '23505', 'a new row is not repeated from then on');

is(follow('3. Move the duplicates away'), "3|2\n0", 'the duplicates are moved away');
is(
    $node->safe_psql('postgres', 'SELECT id, request_id, amount_minor, stays FROM payments_duplicates ORDER BY id'),
    "7|req-1|1000|1\n8|req-3|1000|3\n9|req-3|1000|3", 'with all that they hold'
);
is($node->safe_psql('postgres', "SELECT string_agg(payment_id::text, ' ' ORDER BY id) FROM refunds"),
    '1 1 3 6', 'what referred to them refers to the rows that stay');

follow('4. Forbid nulls');
is(
    $node->safe_psql(
        'postgres',
        q{SELECT string_agg(request_id, ' ' ORDER BY id), (SELECT attnotnull FROM pg_attribute
          WHERE attrelid = 'payments'::regclass AND attname = 'request_id'),
          (SELECT count(*) FROM pg_constraint WHERE conrelid = 'payments'::regclass AND contype = 'c') FROM payments}
    ),
    'req-1 req-2 req-3 before-4 before-5 req-4 req-5|t|0',
    'every row has a key, and no new one comes without'
);

# H66: an old key that comes again while the index is built leaves it behind, invalid.
$node->safe_psql('postgres', sprintf $insert, 'req-4');
is(sqlstate($node, $sql{'5. Build the unique index'}[0]), '23505', 'a duplicate that came in meanwhile ends the index');
is(
    sqlstate(
        $node, "ALTER TABLE payments ADD request_hash bytea; " . $sql{'6. Attach'}[0] =~ s/^ALTER TABLE.*\n//r
    ),
    '55000',
    'the invalid index is not taken for a protection'
);
$node->safe_psql('postgres', 'ALTER TABLE payments DROP request_hash');
like(follow('When the index fails'), qr/^error\|index_invalid\|public\.payments_request_key\|DROP INDEX/m, 'the audit names it');
$node->safe_psql('postgres', 'DROP TABLE payments_duplicates');
is(follow('3. Move the duplicates away'), "1|1\n0", 'what came in is moved away like the first ones');
follow('5. Build the unique index');

# The statements for a partitioned table, with two partitions.
my ($partitioned) = $page =~ /^```\n(CREATE UNIQUE INDEX parted.*?)^```$/ms;
my ($parent, $partition) = split /\n/, $partitioned, 2;
$node->safe_psql('postgres', q{
    CREATE TABLE parted (tenant_id text NOT NULL, request_id text NOT NULL, request_hash bytea) PARTITION BY HASH (tenant_id);
    CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);});
my $attach = q{SELECT idem_attach('parted', operation_column => NULL, id_column => NULL, key_column => 'request_id',
    fixed_operation => 'pay')};
$node->safe_psql('postgres', "$parent\n$partition");
is(sqlstate($node, $attach), '55000', 'the index of a partitioned table is invalid as long as a partition has none');
$node->safe_psql('postgres', $partition =~ s/parted_0/parted_1/gr);
is(sqlstate($node, $attach), '', 'and protects it with the last one');

is(
    follow('6. Attach', 0),
    "\nnotice|fingerprint_missing|7 of 7 rows have no fingerprint, as those from before the table was attached",
    'the table is attached, and nothing is wrong with it'
);
follow('6. Attach', 1);
my $calls = follow('7. Switch the application over');
like($calls, qr/^created\|(\d+)\nreplayed\|\1$/, 'a new call creates, and its retry replays');
is(sqlstate($node, sprintf $insert, 'req-100'), '23505', 'an instance that inserts by itself is stopped');
is(follow('Rows from before'), "replayed|1\nconflict", 'a row from before replays, and a changed request is a conflict');
is($node->safe_psql('postgres', 'SET ROLE app; ' . $sql{'Rows from before'}[0]),
    "replayed|1\nconflict", 'for the role of the application as well');

$node->stop;
done_testing();
