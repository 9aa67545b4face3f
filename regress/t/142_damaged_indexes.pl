# The indexes of the ledger are damaged: whatever can be seen of it is XX001 or XX002, and never a second row, nor one of
# another key.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('damaged');
$node->init(extra => [ '--encoding=UTF8', '--locale=C', '--data-checksums' ]);
$node->append_conf('postgresql.conf', "log_statement = none\nautovacuum = off\nfull_page_writes = off\n");
$node->start;
$node->safe_psql(
    'postgres', q{
    CREATE EXTENSION idem;
    CREATE EXTENSION amcheck;
    SELECT count(*) FROM idem_create_transactions('{t}', ARRAY(SELECT 'k' || i FROM generate_series(1, 3000) i), '{1}', '{EUR}',
        order_refs => ARRAY(SELECT 'o' || i FROM generate_series(1, 3000) i));
    -- Rows of their own page, all of them, whose entries can be found in the indexes' files.
    SELECT idem_create_transaction('t', 'needle-a', 1, 'EUR', order_ref => 'noodle-a');
    SELECT idem_create_transaction('t', 'needle-b', 1, 'EUR', order_ref => 'noodle-b');
    VACUUM FREEZE idem_transactions;
    CHECKPOINT;}
);
my ($scope, $order, $primary) = split /\n/, $node->safe_psql(
    'postgres', q{
    SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid
    WHERE i.indrelid = 'idem_transactions'::regclass AND a.attname IN ('idempotency_key', 'order_ref', 'id')
    ORDER BY CASE a.attname WHEN 'idempotency_key' THEN 1 WHEN 'order_ref' THEN 2 ELSE 3 END}
);
my %file = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')") }
    $scope, $order, $primary;
my $rows = 3002;
my %whole;
for my $index (keys %file)
{
    $whole{$index} = slurp_file($file{$index});
}
$node->stop;

sub write_file
{
    my ($file, $octets) = @_;
    open my $handle, '>:raw', $file or die "could not write $file: $!";
    print $handle $octets;
    close $handle or die "could not write $file: $!";
    return;
}

# Start the server with this file in the place of an index, look at some calls under both write paths, put it back.
sub with_damage
{
    my ($what, $index, $octets, $conf, $look) = @_;
    write_file($file{$index}, $octets);
    $node->start;
    for my $path ('on', 'off')
    {
        $look->("$what, direct path $path", "$conf SET idem.direct_path = $path; ");
    }
    # This looks at no index, not even at its size.
    my @stored = split /\n/, $node->safe_psql('postgres', 'COPY idem_transactions (id) TO STDOUT');
    is(scalar @stored, $rows, "$what: no second row");
    $node->stop;
    write_file($file{$index}, $whole{$index});
    return;
}

# SQL of calls that meet row needle-a: by the main call, try, and in a batch.
my $single = q{SELECT outcome FROM idem_create_transaction('t', 'needle-a', 1, 'EUR', order_ref => 'noodle-a')};
my $conflict = q{SELECT outcome FROM idem_try_create_transaction('t', 'needle-a', 2, 'EUR')};
my $taken = q{SELECT outcome FROM idem_try_create_transaction('t', 'new', 2, 'EUR', order_ref => 'noodle-a')};
my $batch = q{SELECT outcome FROM idem_create_transactions('{t}', '{needle-a}', '{1}', '{EUR}', order_refs => '{noodle-a}')};
my $batch_taken = q{SELECT outcome FROM idem_create_transactions('{t}', '{new}', '{1}', '{EUR}', order_refs => '{noodle-a}')};
my $other = q{SELECT outcome FROM idem_create_transaction('t', 'k1', 1, 'EUR', order_ref => 'o1')};

# The leaf entry with this text, which is in the index once: where its heap TID stands.
sub entry_of
{
    my ($octets, $text) = @_;
    my $at = rindex $octets, $text;
    die "no entry $text" if $at < 0;
    # An entry begins with the TID of its row; three short texts come before this one, or parts of them.
    my $page = int($at / 8192) * 8192;
    my $lower = unpack 'v', substr $octets, $page + 12, 2;
    my $best = -1;
    for (my $line = $page + 24; $line < $page + $lower; $line += 4)
    {
        my $pointer = unpack 'V', substr $octets, $line, 4;
        my $offset = $page + ($pointer & 0x7fff);
        $best = $offset if $offset < $at && $offset > $best;
    }
    return $best;
}

# The pages' checksums are the server's business, not this test's.
my $ignore = 'SET ignore_checksum_failure = on;';

# An entry that leads to the row of another key.
for my $case ([ $scope, 'needle-a', 'needle-b', 'scope' ], [ $order, 'noodle-a', 'noodle-b', 'order' ])
{
    my ($index, $from, $to, $name) = @$case;
    my $octets = $whole{$index};
    my $target = substr $octets, entry_of($octets, $to), 6;
    substr($octets, entry_of($octets, $from), 6) = $target;
    with_damage(
        "an entry of the $name index that leads to another row",
        $index, $octets, $ignore,
        sub {
            my ($what, $set) = @_;
            my @calls = $name eq 'scope' ? ($single, $conflict, $batch) : ($taken, $batch_taken);
            is(sqlstate($node, $set . $_), 'XX001', "$what: XX001") for @calls;
            is($node->safe_psql('postgres', $set . $other), 'replayed', "$what: other keys are served");
        }
    );
}

# A page of zeros, and pages that are no pages, in each index.
for my $case ([ $scope, 'scope' ], [ $order, 'order' ])
{
    my ($index, $name) = @$case;
    my $needle = $name eq 'scope' ? 'needle-a' : 'noodle-a';
    my $page = int(rindex($whole{$index}, $needle) / 8192) * 8192;
    my @calls = $name eq 'scope' ? ($single, $conflict, $batch) : ($taken, $batch_taken);
    my %damage = (
        'a page of zeros' => "\0" x 8192,
        'a torn page' => substr($whole{$index}, $page, 4096) . "\xff" x 4096,
        'a page of another index' => substr($whole{$primary}, 0, 8192)
    );
    for my $kind (sort keys %damage)
    {
        my $octets = $whole{$index};
        substr($octets, $page, 8192) = $damage{$kind};
        with_damage(
            "$kind in the $name index",
            $index, $octets, '',
            sub {
                my ($what, $set) = @_;
                like(sqlstate($node, $set . $_), qr/^XX00[12]$/, "$what: XX001 or XX002") for @calls;
            }
        );
    }
    for my $length (0, 8192, $page)
    {
        with_damage(
            "the $name index cut off after $length octets",
            $index, substr($whole{$index}, 0, $length), '',
            sub {
                my ($what, $set) = @_;
                like(sqlstate($node, $set . $_), qr/^XX00[12]$/, "$what: XX001 or XX002") for @calls;
            }
        );
    }
}

# A primary key that is damaged is met by new rows only; nothing of them is stored.
{
    my $octets = "\0" x length $whole{$primary};
    with_damage(
        'a primary key of zeros',
        $primary, $octets, '',
        sub {
            my ($what, $set) = @_;
            my $new = q{SELECT outcome FROM idem_create_transaction('t', 'new', 1, 'EUR')};
            like(sqlstate($node, $set . $new), qr/^XX00[12]$/, "$what: a new row is refused");
            # A statement looks into every unique index before it yields.
            like(sqlstate($node, $set . $single), $what =~ /path on/ ? qr/^$/ : qr/^XX00[12]$/, "$what: and stored rows");
        }
    );
}

# An index of an earlier time lacks the entries of later rows: the index of orders still knows them.
{
    $node->start;
    $node->safe_psql('postgres', q{SELECT idem_create_transaction('t', 'later', 1, 'EUR', order_ref => 'later'); CHECKPOINT});
    ++$rows;
    my $stale = $whole{$scope};
    $whole{$_} = slurp_file($file{$_}) for $scope, $order, $primary;
    $node->stop;
    with_damage(
        'a scope index of an earlier time',
        $scope, $stale, '',
        sub {
            my ($what, $set) = @_;
            my $later = q{SELECT outcome FROM idem_create_transaction('t', 'later', 1, 'EUR', order_ref => 'later')};
            is($node->safe_psql('postgres', $set . $later), 'replayed', "$what: what has an order_ref replays");
            my $changed = q{SELECT outcome FROM idem_create_transaction('t', 'later', 2, 'EUR', order_ref => 'later')};
            is(sqlstate($node, $set . $changed), 'ID001', "$what: or conflicts");
            is(sqlstate($node, "SELECT bt_index_check('$scope', true)"), 'XX001', "$what: amcheck sees it");
        }
    );
}

# Put right, all is well.
$node->start;
$node->safe_psql('postgres', 'REINDEX TABLE idem_transactions');
is($node->safe_psql('postgres', $single), 'replayed', 'with rebuilt indexes the row replays');
is(
    $node->safe_psql('postgres', qq{SELECT count(bt_index_check(i, true)) FROM unnest('{$scope,$order,$primary}'::regclass[]) i}),
    3, 'and amcheck finds nothing'
);
$node->stop;
done_testing();
