# Instances of an application that start together all create the ledger and grant what they need: nobody gets an error.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my ($sessions, $rounds) = (6, 12);
my $node = new_server('administration', conf => "max_connections = 30\n");
$node->safe_psql('postgres', 'CREATE ROLE app1; CREATE ROLE app2');

# Run the statement in all sessions, which start at the same moment; gives the lines of their output and errors.
sub together
{
    my ($sql) = @_;
    my $keeper = $node->background_psql('postgres');
    $keeper->query_safe('SELECT pg_advisory_lock(1)');
    my (@out, @err, @psqls);
    for my $n (1 .. $sessions)
    {
        my $role = 'app' . (1 + $n % 2);
        ($out[$n], $err[$n]) = ('', '');
        push @psqls,
            start_psql($node, 'SELECT FROM pg_advisory_lock_shared(1); ' . $sql =~ s/ROLE/$role/gr,
            \$out[$n], \$err[$n]);
    }
    $node->poll_query_until('postgres',
        "SELECT count(*) = $sessions FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        or die 'the sessions do not wait';
    $keeper->quit;
    $_->finish for @psqls;
    return (join('', @out[ 1 .. $sessions ]), join('', @err[ 1 .. $sessions ]));
}

my ($answers, $errors) = ('', '');
for (1 .. $rounds)
{
    $node->safe_psql('postgres', 'DROP TABLE idem_transactions');
    my ($out, $err) = together('SELECT idem_create_ledger()');
    $answers .= $out;
    $errors .= $err;
}
is($errors, '', 'sessions that create the ledger at the same time get no error');
is($answers, "idem_transactions\n" x ($sessions * $rounds), 'but all of them the table');

($answers, $errors) = ('', '');
for (1 .. $rounds)
{
    $node->safe_psql('postgres', 'DROP OWNED BY app1, app2');
    my ($out, $err) = together(q{SELECT 'granted', idem_grant('ROLE')});
    $answers .= $out;
    $errors .= $err;
}
is($errors, '', 'sessions that grant at the same time get no error');
is($answers, "granted|\n" x ($sessions * $rounds), 'but all of them their answer');
is(
    $node->safe_psql(
        'postgres', q{SELECT bool_and(has_table_privilege(role, 'idem_transactions', right_))
            FROM unnest(ARRAY['app1', 'app2']) role, unnest(ARRAY['SELECT', 'INSERT']) right_}
    ),
    't',
    'and the roles have the rights'
);

($answers, $errors) = ('', '');
for (1 .. 4)
{
    $node->safe_psql('postgres', 'SELECT idem_disable_tenant_isolation()');
    my ($out, $err) = together(q{SELECT 'isolated', idem_enable_tenant_isolation()});
    $answers .= $out;
    $errors .= $err;
}
is($errors, '', 'sessions that isolate tenants at the same time get no error');
is($answers, "isolated|\n" x ($sessions * 4), 'but all of them their answer');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_policy'), 2, 'and the policies are there');

# All of it together, over and over.
my ($exit, $output) = run_pgbench(
    $node, q{
    \set n random(1, 2)
    SELECT idem_create_ledger();
    SELECT idem_grant('app' || :n);
    SELECT idem_enable_tenant_isolation();
    SELECT outcome FROM idem_create_transaction('t', 'k' || :n, 1, 'EUR');
    }, '-c', $sessions, '-j', 2, '-t', 100
);
is($exit, 0, 'sessions that do all of it and call, over and over, do not fail');
unlike($output, qr/ERROR|error:/, 'nor get an error') or diag(substr($output, 0, 2000));

$node->stop;
done_testing();
