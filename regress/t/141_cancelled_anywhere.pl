# A cancel arrives at any step of a call: 57014 or the answer, never anything else; the next call of the session works,
# and nothing is half done.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Faults;
use IdemTest;
use Test::More;

plan skip_all => 'the library of faults needs Linux and glibc' unless $^O eq 'linux';
my $node = new_faulty_server('cancelled');
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

my %calls = (
    create => [q{SELECT c.outcome FROM (SELECT %s AS k OFFSET 0) AS a, idem_create_transaction('t', k, 1000, 'EUR', '{"a": [1.50]}',
            order_ref => k) AS c}, 'created', 'replayed'],
    replay => [q{SELECT outcome FROM idem_create_transaction('t', %s, 1, 'EUR', '{"a": [1, {"b": "x"}]}', order_ref => 'stored')},
        'replayed', 'replayed', 'stored'],
    conflict => [q{SELECT outcome FROM idem_create_transaction('t', %s, 1, 'EUR', '{"a": [1, {"b": "y"}]}')}, 'ID001', 'ID001', 'stored'],
    batch => [q{SELECT count(*) FILTER (WHERE outcome = 'created'), count(*) FILTER (WHERE outcome = 'replayed') FROM (SELECT %s AS k OFFSET 0) AS a,
            idem_create_transactions('{t}', ARRAY(SELECT k || '-' || i FROM generate_series(1, 20) i), '{7}', '{EUR}')}, '20|0', '0|20'],
    attached => [q{SELECT outcome FROM idem_insert('pay', 't', %s, '{"amount": 5, "note": {"a": [1.0, "z"]}}', 'op')}, 'created', 'replayed']
);

for my $path ('on', 'off')
{
    for my $limit ('-1', '100s')
    {
        my $before = "SET idem.direct_path = $path; SET idem.busy_timeout = '$limit'";
        for my $name (sort keys %calls)
        {
            my ($call, $new, $used, $key) = @{ $calls{$name} };
            my $what = "$name, direct path $path, busy timeout $limit";
            for my $cold (0, 1)
            {
                my $events = count_events($node, $call, $CANCEL, $key // 'counted', before => $before, cold => $cold);
                my $most = $cold ? 10 : 60;
                my $stride = $events > $most ? $events / $most : 1;
                my @steps = map { 1 + int($_ * $stride) } 0 .. ($events < $most ? $events : $most) - 1;
                my ($cancelled, @wrong) = (0);
                for my $step (play($node, $call, $CANCEL, \@steps, name => "$what, $events steps" . ($cold ? ', cold' : ''), key => $key,
                    before => $before, cold => $cold))
                {
                    my $first = $step->{answer} ne '' ? $step->{answer} : $step->{state};
                    my $again = $step->{again} ne '' ? $step->{again} : $step->{again_state};
                    $cancelled += $first eq '57014';
                    push @wrong, "step $step->{step}: $first, then $again"
                        unless ($first eq '57014' && $again eq $new) || ($first eq $new && $again eq $used);
                }
                is_deeply([ splice @wrong, 0, 5 ], [], "$what: 57014 or the answer, then the answer");
                cmp_ok($cancelled, '>', 0, "$what: $cancelled of " . @steps . ' were cancelled');
            }
        }
    }
}
check_nothing_half_done($node, 'after all this');
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server was not started again');

$node->stop;
done_testing();
