# A backend that may not grow any more: large calls fail with 53200, the session goes on with small ones, and nothing of
# the large ones is stored.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs prlimit and /proc' unless -r '/proc/self/status' && system('prlimit --version >/dev/null 2>&1') == 0;
my $node = new_server('memory_limit', conf => "max_wal_size = 4GB\nautovacuum = off\njit = off\n");
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
$node->safe_psql(
    'postgres', q{
    CREATE EXTENSION amcheck;
    CREATE TABLE pay (id bigserial PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
        request_hash bytea, note jsonb, UNIQUE (tenant_id, operation, idempotency_key));
    SELECT idem_attach('pay');}
);

# Let a process have so many octets more than it has, or as many as it likes.
sub limit
{
    my ($pid, $octets) = @_;
    my $soft = 'unlimited';
    if (defined $octets)
    {
        my ($size) = slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m;
        $soft = $size * 1024 + $octets;
    }
    system('prlimit', '--pid', $pid, "--as=$soft:") == 0 or die 'could not set a limit';
    return;
}

my $keys = q{ARRAY(SELECT 'KEY-' || i FROM generate_series(1, 100000) i)};
my $long = q{repeat(md5('x'), 400000)};
my %calls = (
    'a batch of 100,000' => [ "SELECT count(outcome) FROM idem_create_transactions('{t}', $keys, '{1}', '{EUR}')", 100_000 ],
    'a large document' => [ "SELECT outcome FROM idem_create_transaction('t', 'KEY', 1, 'EUR', jsonb_build_object('x', $long))", 'created' ],
    'a document with many members' => [ q{SELECT outcome FROM idem_create_transaction('t', 'KEY', 1, 'EUR',
        (SELECT jsonb_object_agg('member ' || i, i) FROM generate_series(1, 100000) i))}, 'created' ],
    'a deep document' => [ q{SELECT outcome FROM idem_create_transaction('t', 'KEY', 1, 'EUR',
        ('{"d":' || repeat('[', 5000) || (SELECT string_agg(i::text, ',') FROM generate_series(1, 200000) i) || repeat(']', 5000) || '}')::jsonb)}, 'created' ],
    'a large row of an attached table' => [ "SELECT outcome FROM idem_insert('pay', 't', 'KEY', jsonb_build_object('note', $long), 'op')", 'created' ]
);

for my $path ('on', 'off')
{
    for my $name (sort keys %calls)
    {
        my ($call, $answer) = @{ $calls{$name} };
        my $key = "$name, $path";
        $call =~ s/KEY/$key/g;
        my $what = "$name, direct path $path";
        my $session = $node->background_psql('postgres', on_error_stop => 0);
        $session->query("\\set VERBOSITY sqlstate\nSET idem.direct_path = $path;");
        my $pid = $session->query('SELECT pg_backend_pid()');
        my $small = sub { return $session->query("SELECT outcome FROM idem_create_transaction('t', '$key small $_[0]', 1, 'EUR')") };
        $small->('first');
        # Where the kernel cannot let the stack grow it kills the process, whatever runs there; so it grows before.
        $session->query(q{SELECT idem_canonical(('{"d":' || repeat('[', 6000) || repeat(']', 6000) || '}')::jsonb) IS NULL});
        my ($refused, $served) = (0, 0);
        for my $megabytes (1, 2, 4, 8, 12, 16, 24, 32)
        {
            $session->{stderr} = '';
            limit($pid, $megabytes * 1024 * 1024);
            my $out = $session->query("BEGIN; $call; ROLLBACK");
            my ($state) = $session->{stderr} =~ /ERROR:  (\w{5})/;
            ++$refused if ($state // '') eq '53200';
            ++$served if !defined $state && $out eq $answer;
            is($small->($megabytes), 'created', "$what, $megabytes MB: the session goes on");
            limit($pid);
        }
        is($refused + $served, 8, "$what: 53200 ($refused times) or the answer ($served times)");
        cmp_ok($refused, '>', 0, "$what: at least once there was too little");
        $session->{stderr} = '';
        is($session->query($call), $answer, "$what: without the limit it is served, and new");
        is($session->{stderr}, '', "$what: ... without an error");
        $session->quit;
    }
}
is(
    $node->safe_psql(
        'postgres', q{
        SELECT count(bt_index_check(i.indexrelid, true)) FROM pg_index i
        WHERE i.indrelid IN ('idem_transactions'::regclass, 'pay'::regclass)}
    ),
    5, 'all rows are in all indexes'
);
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server was not started again');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC|WARNING/, 'no process died or complained');

$node->stop;
done_testing();
