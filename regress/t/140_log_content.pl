# What the server's log and the client see of a call that fails: no key, no amount and nothing of details, unless the
# administrator has statements or parameters logged.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('log_content', conf => "log_error_verbosity = verbose\nlog_min_messages = debug1\n");
my $position = 0;

sub new_log
{
    my $log = slurp_file($node->logfile, $position);
    $position += length $log;
    return $log;
}

# Each value of these requests is a word of its own, which must not turn up.
my $secret = qr/geheim|\b8157\b|\b4711\b/i;
$node->safe_psql(
    'postgres', q{
    CREATE TABLE pay (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id text NOT NULL, operation text NOT NULL,
      idempotency_key text NOT NULL, request_hash bytea, amount int CHECK (amount > 0), note text, invoice_no text UNIQUE,
      UNIQUE (tenant_id, operation, idempotency_key));
    SELECT idem_attach('pay');
    CREATE ROLE app LOGIN;
    SELECT idem_grant('app');
    GRANT SELECT, INSERT ON pay TO app;}
);

# Calls by the extended protocol, as drivers send them: the values are parameters, and the statement has none.
# psql of release 15 cannot bind, so pgbench does. Gives what the client is told, and what the log got.
sub log_of
{
    my ($call, @values) = @_;
    new_log();
    my ($exit, $output) = run_pgbench($node, "$call;\n", '-M', 'extended', '-t', '1', map { ('-D', $_) } @values);
    return ($output, new_log());
}

my $call = 'SELECT outcome FROM idem_create_transaction(:t, :k, :a, :c, :d, :o, :r)';
my @request = ('t=geheim-t', 'k=geheim-k', 'a=8157', 'c=EUR', 'd={"m":"geheim-4711","n":4711}', 'o=geheim-o', 'r=geheim-r');

# The request with some values replaced.
sub with
{
    my (%other) = @_;
    return map { my ($name) = /^(\w)=/; exists $other{$name} ? "$name=$other{$name}" : $_ } @request;
}

{
    my ($output, $log) = log_of($call, @request);
    unlike($output, qr/error/i, 'a call that creates');
    unlike($log, $secret, 'leaves nothing in the log');
}
my %refusal = (
    'ID001' => [ with(a => 4711, d => '{"n":"geheim"}') ],
    'ID003' => [ with(k => 'geheim-2') ],
    '22023' => [ with(k => ' geheim') ],
);
for my $state ('ID001', 'ID003', '22023')
{
    my ($output, $log) = log_of($call, @{ $refusal{$state} });
    like($log, qr/ERROR:  $state:/, "$state is logged");
    unlike($log, $secret, 'with its statement and without a value');
    unlike($output, $secret, 'and so it is told to the client');
}
{
    my ($output, $log) = log_of($call, with(a => 4711, d => '{"names of members are shown": 1}'));
    like($log, qr/names of members are shown/, 'names of members that differ are shown, as documented');
}

my $row = q{SELECT outcome FROM idem_insert('pay', :t, :k, :d, 'op')};
my @row = ('t=geheim-t', 'k=geheim-k', 'd={"amount":8157,"note":"geheim-4711","invoice_no":"geheim-i"}');
log_of($row, @row);
{
    my ($output, $log) = log_of($row, $row[0], $row[1], 'd={"amount":4711,"note":"geheim"}');
    like($log, qr/ERROR:  ID001:.*DETAIL:  The stored row differs in \$\.amount/s, 'a changed row is refused');
    unlike($log, $secret, 'without a value');
}
# PostgreSQL's own messages show values; whose they are is documented: those that this caller sent.
{
    my ($output, $log) = log_of($row, $row[0], 'k=geheim-k2', 'd={"amount":1,"invoice_no":"geheim-i"}');
    like($log, qr/DETAIL:  Key \(invoice_no\)=\(geheim-i\) already exists/, "PostgreSQL's 23505 shows the value that was sent");
    unlike($log, qr/geheim-k\b|8157/, 'and nothing of the row that has it');
    ($output, $log) = log_of($row, $row[0], 'k=geheim-k3', 'd={"amount":-4711}');
    like($log, qr/DETAIL:  Failing row contains .*-4711/, 'its 23514 the row that was sent');
}
# Both can be kept out of the log, statement and detail alike.
{
    $node->safe_psql('postgres', 'ALTER ROLE app SET log_error_verbosity = terse; ALTER ROLE app SET log_min_error_statement = panic');
    local $ENV{PGUSER} = 'app';
    my ($output, $log) = log_of($row, $row[0], 'k=geheim-k4', 'd={"amount":1,"invoice_no":"geheim-i"}');
    like($log, qr/duplicate key value violates unique constraint/, 'with log_error_verbosity = terse the error is logged');
    unlike($log, $secret, 'without the value');
}
# Parameters are logged where somebody asks for it.
{
    $node->safe_psql('postgres', 'ALTER DATABASE postgres SET log_parameter_max_length_on_error = -1');
    my ($output, $log) = log_of($call, with(a => 4711));
    like($log, qr/geheim-k/, 'log_parameter_max_length_on_error shows the parameters');
    $node->safe_psql('postgres', 'ALTER DATABASE postgres RESET log_parameter_max_length_on_error');
}
# Under the wall a unique key without the tenant tells that a value exists, and shows it to nobody.
{
    $node->safe_psql('postgres', 'SELECT idem_enable_tenant_isolation()');
    $node->safe_psql('postgres', q{ALTER ROLE app RESET log_error_verbosity; ALTER ROLE app SET idem.tenant_id = 'geheim-t2'});
    local $ENV{PGUSER} = 'app';
    my ($output, $log) = log_of($row, 't=geheim-t2', 'k=geheim-k5', 'd={"amount":1,"invoice_no":"geheim-i"}');
    like($log, qr/duplicate key value violates unique constraint/, 'a clash with another tenant');
    unlike($log, $secret, 'shows no value where row security binds');
}
$node->stop;
done_testing();
