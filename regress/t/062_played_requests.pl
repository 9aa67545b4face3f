# Four sessions play the same stream of requests, many with an order_ref, in the same order at the same time. H81

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('played');
my $sessions = 4;

sub literal
{
    my ($value) = @_;
    return 'NULL' unless defined $value;
    $value =~ s/'/''/g;
    return "'$value'";
}

# One statement, and so one transaction, for each request; a session prints number, outcome and id.
my $file = PostgreSQL::Test::Utils::tempdir() . '/requests.sql';
my $requests = 0;
open my $lines, '<', "$FindBin::Bin/../../demo/requests.jsonl" or die "could not read the requests: $!";
open my $script, '>', $file                                    or die "could not write $file: $!";
print $script "SET client_encoding = 'UTF8';\n";
while (my $line = <$lines>)
{
    my $request = JSON::PP->new->utf8->decode($line);
    my $values = join ', ',
        map { literal($request->{$_}) } qw(tenant_id idempotency_key amount_minor currency details operation order_ref);
    utf8::encode($values);
    print $script "SELECT $requests, outcome, transaction_id FROM idem_try_create_transaction($values);\n";
    ++$requests;
}
close $script;
close $lines;
is($requests, 4000, 'there are 4000 requests');

my (@out, @err, @running);
for my $i (0 .. $sessions - 1)
{
    ($out[$i], $err[$i]) = ('', '');
    push @running, start_psql($node, \$file, \$out[$i], \$err[$i]);
}
$_->finish for @running;

my (@ids, %outcomes);
for my $i (0 .. $sessions - 1)
{
    is($err[$i], '', "session $i gets no error");
    my @answers = split /\n/, $out[$i];
    is(scalar @answers, $requests, "session $i gets an answer for every request");
    my $conflicts = 0;
    for my $answer (@answers)
    {
        my ($number, $outcome, $id) = split /\|/, $answer, -1;
        ++$outcomes{$outcome};
        ++$conflicts if $outcome eq 'conflict';
        $ids[$number]{$id} = 1;
    }
    is($conflicts, 64, "session $i is told of every changed request");
}
is(scalar(grep { keys %$_ != 1 } @ids), 0, 'the sessions get the same id for every request');
is($outcomes{created}, 2691, 'every transaction is created once');
is($outcomes{replayed}, $sessions * ($requests - 64) - 2691, 'and replayed to all others');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), 2691, 'the ledger has a row for each');

$node->stop;
done_testing();
