# The disk is full: a call that needs space fails with 53100, calls that need none are served, and once there is space
# again all is as it was. A disk that is full for the WAL stops the server; what was committed replays after that.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Faults;
use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the library of faults needs Linux and glibc' unless $^O eq 'linux';
my $node = new_faulty_server(
    'full',
    extra => ['--wal-segsize=1'],
    conf => "restart_after_crash = off\nmin_wal_size = 2MB\nmax_wal_size = 1GB\ncheckpoint_timeout = 1h\nwal_recycle = off\n"
);
my $full = $node->basedir . '/full';

# Files whose path holds this text cannot grow any more.
sub fill
{
    my ($what) = @_;
    append_to_file($full, $what);
    return;
}

my $details = q{jsonb_build_object('text', repeat(md5('x'), 40))};
my %calls = (
    create => [ qq{SELECT outcome FROM idem_create_transaction('t', 'KEY', 1, 'EUR', $details, order_ref => 'KEY')}, 'created' ],
    batch => [ qq{SELECT count(outcome) FROM idem_create_transactions('{t}', ARRAY(SELECT 'KEY-' || i FROM generate_series(1, 200) i),
        '{1}', '{EUR}', ARRAY[$details])}, '200' ],
    attached => [ qq{SELECT outcome FROM idem_insert('pay', 't', 'KEY', jsonb_build_object('note', $details), 'op')}, 'created' ]
);

for my $path ('on', 'off')
{
    my $set = "SET idem.direct_path = $path";
    for my $name (sort keys %calls)
    {
        my ($call, $answer) = @{ $calls{$name} };
        my $session = $node->background_psql('postgres', on_error_stop => 0);
        $session->query("\\set VERBOSITY sqlstate\n$set;");
        fill('/base/');
        my ($failed, $tries, $state) = ('', 0, '');
        for my $n (1 .. 2000)
        {
            ($failed = "$name $path $n", $tries = $n);
            $session->{stderr} = '';
            $session->query($call =~ s/KEY/$failed/gr);
            last if ($state) = $session->{stderr} =~ /ERROR:  (\w{5})/;
        }
        is($state, '53100', "$name, direct path $path: 53100 after $tries calls");
        $session->{stderr} = '';
        is(
            $session->query(q{SELECT outcome FROM idem_create_transaction('t', 'stored', 1, 'EUR', '{"a": [1, {"b": "x"}]}', order_ref => 'stored')}),
            'replayed', "... a replay is served by the same session on the full disk"
        );
        unlink $full or die "could not remove $full: $!";
        is($session->query($call =~ s/KEY/$failed/gr), $answer, '... with space the same call works');
        is($session->{stderr}, '', '... without an error');
        $session->quit;
        my $table = $name eq 'attached' ? 'pay' : 'idem_transactions';
        is(
            $node->safe_psql('postgres', "SELECT count(DISTINCT idempotency_key) = count(*) AND count(*) > 0 FROM $table WHERE idempotency_key LIKE '$name $path %'"),
            't', '... and every key has one row'
        );
    }
}
check_nothing_half_done($node, 'a full disk');

# The WAL has no space.
for my $path ('on', 'off')
{
    my ($out, $err) = ('', '');
    # The first calls have a segment of the WAL that is almost empty.
    $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
    call($node, 'wal', $path);
    fill('/pg_wal/');
    my $file = PostgreSQL::Test::Utils::tempdir() . "/wal_$path.sql";
    append_to_file($file, "SET idem.direct_path = $path;\n");
    append_to_file($file, "SELECT $_, outcome, transaction_id FROM idem_create_transaction('wal $path', 'k$_', $_, 'EUR', $details);\n")
        for 1 .. 4000;
    start_psql($node, \$file, \$out, \$err, stop => 1)->finish;
    my %acknowledged = map { my ($n, undef, $id) = split /\|/; $n => $id } $out =~ /^(\d+\|created\|[-0-9a-f]{36})\n/mg;
    my $answered = keys %acknowledged;
    cmp_ok($answered, '<', 4000, "direct path $path: a full disk for the WAL ends the calls after $answered");
    cmp_ok($answered, '>', 0, '... not at once');
    like(slurp_file($node->logfile), qr/PANIC:.*No space left on device/, '... the server stops');
    unlink $full or die "could not remove $full: $!";
    for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
    {
        last unless -e $node->data_dir . '/postmaster.pid';
        select undef, undef, undef, 0.1;
    }
    $node->_update_pid(0);
    ok(start_faulty($node, fail_ok => 1), '... with space it recovers');
    my %now = map { split /\|/ } split /\n/,
        $node->safe_psql('postgres', "SELECT amount_minor, id FROM idem_transactions WHERE tenant_id = 'wal $path'");
    is_deeply([ grep { ($now{$_} // '') ne $acknowledged{$_} } sort keys %acknowledged ], [], '... all acknowledged rows are there');
    my $all = $node->safe_psql('postgres', qq{SET idem.direct_path = $path;
        SELECT count(outcome) FROM idem_create_transactions('{"wal $path"}', ARRAY(SELECT 'k' || i FROM generate_series(1, 4000) i),
            ARRAY(SELECT i::bigint FROM generate_series(1, 4000) i), '{EUR}', ARRAY[$details]) WHERE outcome IN ('created', 'replayed')});
    is($all, 4000, '... and every key is answered');
    is($node->safe_psql('postgres', "SELECT count(*) FROM idem_transactions WHERE tenant_id = 'wal $path'"), 4000, '... once');
    check_nothing_half_done($node, '... and', since => -s $node->logfile);
}

$node->stop;
done_testing();
