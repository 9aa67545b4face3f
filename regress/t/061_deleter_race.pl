# Callers race with sessions that delete the rows of their keys: every call ends in an answer that fits it. H11

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('deleters', conf => "max_connections = 50\n");
my ($callers, $calls) = (8, 3000);
my $directory = PostgreSQL::Test::Utils::tempdir();

# A caller's script: calls for three keys, each with one of two amounts. A call that fails with 40001 is repeated.
sub write_script
{
    my ($file, $caller) = @_;
    open my $handle, '>', $file or die "could not write $file: $!";
    for my $n (1 .. $calls)
    {
        my $amount = ($n + $caller) % 2 ? 1000 : 2000;
        my $order_ref = $caller % 4 ? '' : ", order_ref => 'o'";
        my $key = $order_ref ? 'ordered' : 'k' . ($n % 3);
        my $sql = "SELECT $amount, outcome, amount_minor, transaction_id IS NOT NULL "
            . "FROM idem_create_transaction('deleted', '$key', $amount, 'EUR'$order_ref);";
        print $handle <<"SCRIPT";
\\set done false
\\set rounds 0
$sql
\\if :ERROR
SELECT :'LAST_ERROR_SQLSTATE' = '40001' AS again \\gset
\\if :again
\\echo again
$sql
\\endif
\\endif
SCRIPT
    }
    close $handle;
    return;
}

my (@out, @err, @sessions);
for my $caller (1 .. $callers)
{
    my $file = "$directory/caller$caller.sql";
    write_script($file, $caller);
    ($out[$caller], $err[$caller]) = ('', '');
    push @sessions, start_psql($node, \$file, \$out[$caller], \$err[$caller]);
}

# The deleters go on until the callers have ended.
my $delete = "$directory/delete.pgbench";
PostgreSQL::Test::Utils::append_to_file(
    $delete,
    "\\set n random(0, 3)\nDELETE FROM idem_transactions WHERE tenant_id = 'deleted' AND idempotency_key = "
        . "(ARRAY['k0', 'k1', 'k2', 'ordered'])[:n + 1];\n"
);
my ($delete_out, $delete_err) = ('', '');
my $deleters = IPC::Run::start(
    [ 'pgbench', '-n', '-f', $delete, '-c', 4, '-T', 3600, $node->connstr('postgres') ],
    '<', \'', '>', \$delete_out, '2>', \$delete_err
);
$_->finish for @sessions;
ok($deleters->pumpable, 'the deleters went on until the callers had ended') or diag($delete_err);
$deleters->kill_kill;

my (%seen, @wrong);
for my $caller (1 .. $callers)
{
    for my $answer (split /\n/, $out[$caller] . $err[$caller])
    {
        my ($asked, $outcome, $amount, $has_id) = split /\|/, $answer;
        if    ($answer =~ /ERROR:  (ID001|40001)$/) { ++$seen{$1} }
        elsif ($answer eq 'again')                  { ++$seen{again} }
        elsif (defined $has_id && $has_id eq 't' && $asked eq $amount && $outcome =~ /^(created|replayed)$/)
        {
            ++$seen{$outcome};
        }
        else { push @wrong, $answer }
    }
}
is_deeply([ @wrong[ 0 .. ($#wrong < 9 ? $#wrong : 9) ] ], [],
    'every answer is created, replayed with the same amount, or ID001');
is(
    $seen{created} + $seen{replayed} + $seen{ID001} + ($seen{40001} // 0) - ($seen{again} // 0), $callers * $calls,
    'every call has an answer'
);
is($seen{40001} // 0, $seen{again} // 0, 'a call that got 40001 succeeds when it is repeated');
cmp_ok($seen{$_} // 0, '>', 0, "there were calls that ended in $_") for 'created', 'replayed', 'ID001';
note(join ', ', map { "$_: $seen{$_}" } sort keys %seen);

my ($outcome) = call($node, 'deleted', 'afterwards');
is($outcome, 'created', 'the ledger is as good as before');

$node->stop;
done_testing();
