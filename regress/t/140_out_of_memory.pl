# Memory is refused at any step of a call: the error is 53200, the next call of the session works, and nothing is half
# done.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Faults;
use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the library of faults needs Linux and glibc' unless $^O eq 'linux';
my $node = new_faulty_server('no_memory');
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

# Each call, with the answer that it has without a fault, where its key is new and where it was just used. What is
# stored is stored under one key, so that calls which store nothing can be repeated at will.
my $details = q('{"a": [1.50, {"b": "x"}], "long": ") . 'y' x 3000 . q("}');
my %calls = (
    create => ["SELECT outcome FROM idem_create_transaction('t', %s, 1000, 'EUR', $details)", 'created', 'replayed'],
    order => [q{SELECT c.outcome FROM (SELECT %s AS k OFFSET 0) AS a, idem_create_transaction('t', k, 1000, 'EUR', order_ref => k) AS c},
        'created', 'replayed'],
    replay => [q{SELECT outcome, amount_minor FROM idem_create_transaction('t', %s, 1, 'EUR', '{"a": [1, {"b": "x"}]}', order_ref => 'stored')},
        'replayed|1', 'replayed|1', 'stored'],
    conflict => [q{SELECT outcome FROM idem_create_transaction('t', %s, 1, 'EUR', '{"a": [1, {"b": "y"}]}')}, 'ID001', 'ID001', 'stored'],
    try => [q{SELECT outcome FROM idem_try_create_transaction('t', %s, 2, 'EUR')}, 'conflict', 'conflict', 'stored'],
    taken => [q{SELECT outcome FROM idem_try_create_transaction('t', %s, 2, 'EUR', order_ref => 'stored')}, 'order_taken', 'order_taken', 'other'],
    batch => [q{SELECT string_agg(outcome::text, ' ' ORDER BY ord) FROM idem_create_transactions('{t}', ARRAY[%s, 'stored', 'another'],
            '{7}', '{EUR}', order_refs => ARRAY[NULL, NULL, 'stored'])}, 'created conflict order_taken', 'replayed conflict order_taken'],
    attached => [q{SELECT outcome FROM idem_insert('pay', 't', %s, '{"amount": 5, "note": {"a": [1.0, "z"]}}', 'op')}, 'created', 'replayed']
);

# Play a call with a fault at these steps, and look at each answer.
sub check
{
    my ($name, $steps, %option) = @_;
    my ($call, $new, $used, $key) = @{ $calls{$option{call}} };
    my @wrong;
    my $failed = 0;
    for my $step (play($node, $call, $MEMORY, $steps, name => $name, key => $key, %option))
    {
        my $first = $step->{answer} ne '' ? $step->{answer} : $step->{state};
        my $again = $step->{again} ne '' ? $step->{again} : $step->{again_state};
        my $refused = $first eq '53200';
        $failed += $refused;
        push @wrong, "step $step->{step}: $first, then $again"
            unless ($refused && $again eq $new) || ($first eq $new && $again eq $used);
    }
    is_deeply([ splice @wrong, 0, 5 ], [], "$name: 53200 or the answer, then the answer");
    cmp_ok($failed, '>=', @$steps / 3, "$name: memory was refused at $failed of " . @$steps . ' steps');
    return;
}

# Steps from 1 to `events`, so many at most.
sub steps
{
    my ($events, $most) = @_;
    my $stride = $events > $most ? $events / $most : 1;
    my %steps = map { (1 + int($_ * $stride)) => 1 } 0 .. ($events < $most ? $events : $most) - 1;
    return [ sort { $a <=> $b } keys %steps ];
}

for my $path ('on', 'off')
{
    my $before = "SET idem.direct_path = $path";
    for my $call (sort keys %calls)
    {
        my $name = "$call, direct path $path";
        my $key = $calls{$call}[3] // 'counted';
        my $cold = count_events($node, $calls{$call}[0], $MEMORY, $key, before => $before, cold => 1);
        my $warm = count_events($node, $calls{$call}[0], $MEMORY, $key, before => $before);
        note("$name: $warm requests for memory, $cold in a fresh session");
        check("$name, first of a session", steps($cold, 40), call => $call, before => $before, cold => 1);
        check($name, steps($warm, 60), call => $call, before => $before);
        check("$name, three in a row", steps($warm, 20), call => $call, before => $before, length => 3);
    }
}
check_nothing_half_done($node, 'after all this');
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server was not started again');

$node->stop;
done_testing();
