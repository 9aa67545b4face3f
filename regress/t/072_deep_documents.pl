# Documents nested more deeply than the stack allows end with 54001; the server lives on. H27

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('deep');
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

# A call whose details are nested `depth` times, as arrays or as objects.
sub nested
{
    my ($key, $open, $close, $depth) = @_;
    return "SELECT outcome FROM idem_try_create_transaction('t', '$key', 1, 'EUR',"
        . " ('{\"d\":' || repeat('$open', $depth) || '1' || repeat('$close', $depth) || '}')::jsonb);";
}

# The server's own limit for max_stack_depth depends on ulimit -s.
my $deep = $node->safe_psql('postgres',
    q{SELECT setting::int >= 2048 AND max_val::int >= 2048 FROM pg_settings WHERE name = 'max_stack_depth'});
is($deep, 't', 'the server has its usual stack');

my %served;
for my $stack ('100kB', '2MB', '7MB')
{
    for my $shape (['[', ']'], ['{"a":', '}'])
    {
        for my $depth (100, 6000, 20_000, 100_000)
        {
            my $sql = "SET max_stack_depth = '$stack'; " . nested("$stack $shape->[0] $depth", @$shape, $depth);
            my $state = sqlstate($node, $sql);
            like($state, qr/^(?:|54001|22023)$/, "$depth times $shape->[0] with a stack of $stack: '$state'");
            $served{$depth}++ if $state eq '';
            # A conflict compares the documents, which goes as deep.
            my $other = sqlstate($node, ($sql =~ s/\|\| '1' \|\|/|| '2' ||/r) =~ s/_try_/_/r);
            like($other, $state eq '' ? qr/^(?:ID001|54001)$/ : qr/^(?:|54001|22023|ID001)$/, "and its comparison: '$other'");
        }
    }
}
is($served{100}, 6, 'moderate nesting is served with every stack');

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server was not restarted');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process died');
$node->stop;
done_testing();
