# idem.log_outcomes: one line of JSON per call in the server's log, which no text in it can break or forge.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use Encode;
use IdemTest;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('outcome_log');
my $position = 0;

# The lines that the log got since the last call of this function.
sub new_lines
{
    my $log = slurp_file($node->logfile, $position);
    $position += length $log;
    return split /\n/, $log;
}

# What they tell of calls. The last match counts: the name of an application, which log_line_prefix may put in front,
# can look like a line, but within the JSON every quote is escaped.
sub logged
{
    return map { /.*LOG:  idem: (\{"outcome":.*)/ ? decode_json($1) : () } new_lines();
}

sub outcomes
{
    return join ' ', map { $_->{outcome} } logged();
}

sub set_level
{
    my ($level) = @_;
    $node->safe_psql('postgres', "ALTER DATABASE postgres SET idem.log_outcomes = '$level'");
    new_lines();
}

# One call of each kind; the answers are those of the calls alone.
my $round = 0;

sub call_all
{
    ++$round;
    my ($key, $other) = ("k$round", "other$round");
    my $args = "'t', '$key', 1, 'EUR', order_ref => 'o$round'";
    my ($out, $err);
    $node->psql(
        'postgres', qq{
        SELECT outcome FROM idem_create_transaction($args);
        SELECT outcome FROM idem_create_transaction($args);
        SELECT outcome FROM idem_create_transaction('t', '$key', 2, 'EUR');
        SELECT outcome FROM idem_try_create_transaction('t', '$key', 2, 'EUR');
        SELECT outcome FROM idem_create_transaction('t', '$other', 1, 'EUR', order_ref => 'o$round');
        SELECT outcome FROM idem_try_create_transaction('t', '$other', 1, 'EUR', order_ref => 'o$round');
        SELECT outcome FROM idem_create_transaction('t', '$key', 1, 'eur');
        },
        on_error_stop => 0, stdout => \$out, stderr => \$err, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]
    );
    $err =~ s/^.*ERROR:  //mg;
    return join ' ', split /\n/, "$out\n$err";
}

my $answers = 'created replayed conflict order_taken ID001 ID003 22023';
{
    is($node->safe_psql('postgres', "LOAD 'idem'; SHOW idem.log_outcomes"), 'none', 'nothing is logged');
    is(call_all(), $answers, 'calls of each kind');
    is(outcomes(), '', 'leave no line');
    set_level('conflict');
    is(call_all(), $answers, 'with conflict');
    is(outcomes(), 'conflict conflict order_taken order_taken', 'those that another transaction stands in the way of do');
    set_level('all');
    is(call_all(), $answers, 'with all');
    is(
        outcomes(),
        'created replayed conflict conflict order_taken order_taken',
        'every call does whose request is well formed'
    );
}

# What a line says.
{
    my $id = $node->safe_psql('postgres',
        "SET application_name = 'shop'; SELECT transaction_id FROM idem_create_transaction('t', 'a', 815, 'EUR', '{\"d\":4711}')");
    my ($line) = logged();
    is_deeply(
        $line,
        {
            outcome => 'created',
            tenant_id => 't',
            operation => 'create-transaction',
            idempotency_key => 'a',
            transaction_id => $id,
            application_name => 'shop'
        },
        'a line has the scope, the outcome, the application and the id, and nothing else'
    );
    is(sqlstate($node, create('t', 'a', 4)), 'ID001', 'a conflict');
    ($line) = logged();
    is($line->{transaction_id}, $id, 'names the transaction that the key has');

    $node->safe_psql(
        'postgres', q{
        CREATE FUNCTION wrapped() RETURNS text LANGUAGE plpgsql AS $$
        BEGIN RETURN (SELECT outcome FROM idem_create_transaction('t', 'a', 815, 'EUR', '{"d":4711}')); END $$});
    new_lines();
    my ($out, $err);
    $node->psql('postgres', 'SET client_min_messages = debug5; SELECT wrapped()', stdout => \$out, stderr => \$err);
    is($out, 'replayed', 'a call within a function');
    unlike($err, qr/idem: /, 'the line is not sent to the client');
    my @lines = grep { !/^\t/ } new_lines();
    is(scalar(@lines), 1, 'it stands alone, without statement or context') or diag(join "\n", @lines);
}

# Calls without a transaction.
{
    my $holder = $node->background_psql('postgres', on_error_stop => 0);
    $holder->query('BEGIN; ' . create('t', 'held'));
    new_lines();
    is(sqlstate($node, "SET idem.busy_timeout = 0; " . create('t', 'held')), 'ID002', 'a call that gives up');
    my ($line) = logged();
    is($line->{outcome}, 'in_progress', 'is logged');
    ok(exists $line->{transaction_id} && !defined $line->{transaction_id}, 'without an id');
    $holder->query('ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    $node->safe_psql('postgres', create('t', 'unseen'));
    new_lines();
    $holder->query(create('t', 'unseen'));
    ($line) = logged();
    is($line->{outcome}, 'serialization_failure', 'so is a serialization failure');
    ok(exists $line->{transaction_id} && !defined $line->{transaction_id}, 'without an id');
    $holder->quit;
    set_level('conflict');
    is(sqlstate($node, 'BEGIN; ' . create('t', 'held') . '; ROLLBACK'), '', 'a call that is rolled back');
    is(outcomes(), '', 'is none of the conflicts');
    set_level('all');
}

# Attached tables: the id is whatever their column holds.
{
    $node->safe_psql(
        'postgres', q{
        CREATE TABLE payments (tenant_id text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
            id text DEFAULT E'p"\u00e9\\\\1', payee text, UNIQUE (tenant_id, idempotency_key));
        CREATE TABLE nameless (tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL,
            request_hash bytea, payee text, UNIQUE (tenant_id, operation, idempotency_key));
        SELECT idem_attach('payments', operation_column => NULL, fixed_operation => 'pay');
        SELECT idem_attach('nameless', id_column => NULL)});
    new_lines();
    $node->psql(
        'postgres', q{
        SELECT outcome FROM idem_insert('payments', 't', 'k', '{"payee":"a"}');
        SELECT outcome FROM idem_insert('payments', 't', 'k', '{"payee":"a"}');
        SELECT outcome FROM idem_insert('payments', 't', 'k', '{"payee":"b"}');
        SELECT outcome FROM idem_try_insert('payments', 't', 'k', '{"payee":"b"}');
        SELECT outcome FROM idem_insert('nameless', 't', 'k', '{"payee":"a"}', 'give')}, on_error_stop => 0
    );
    my @lines = map { join '|', map { $_ // 'null' } @$_{qw(outcome operation idempotency_key transaction_id)} } logged();
    is_deeply(
        [ @lines[ 0 .. 3 ] ],
        [ map { qq<$_|pay|k|p"\x{e9}\\1> } qw(created replayed conflict conflict) ],
        'calls on an attached table are logged with its id'
    );
    is($lines[4], 'created|give|k|null', 'and without one where it has none');
}

# A batch: one line for each request that is well formed.
{
    my $of_requests = sub { map { join '|', map { $_ // 'null' } @$_{qw(outcome tenant_id idempotency_key transaction_id)} } logged() };
    my $batch = q{FROM idem_create_transactions('{t}', '{b1,b2,b1,b1,b3}', '{1,0,1,2,1}', '{EUR}', order_refs => '{o,NULL,o,o,o}'%s)};
    my $id = $node->safe_psql('postgres', 'SELECT transaction_id ' . sprintf($batch, '') . ' WHERE ord = 1');
    is_deeply(
        [ $of_requests->() ],
        [ "created|t|b1|$id", "replayed|t|b1|$id", "conflict|t|b1|$id", "order_taken|t|b3|$id" ],
        'the requests of a batch are logged in their order'
    );
    is(sqlstate($node, q{SELECT FROM idem_create_transactions('{t}', '{b4,b1}', '{1}', '{EUR}', mode => 'all')}), 'ID001', 'a batch in mode all');
    is_deeply([ $of_requests->() ], ["conflict|t|b1|$id"], 'logs the request that it raises');
    my $holder = $node->background_psql('postgres');
    $holder->query_safe('BEGIN; ' . create('t', 'held'));
    $of_requests->();
    is(sqlstate($node, q{SET idem.busy_timeout = 0; SELECT FROM idem_create_transactions('{t}', '{b1,held}', '{1}', '{EUR}')}),
        'ID002', 'a batch that gives up');
    is_deeply([ $of_requests->() ], ['in_progress|null|null|null'], 'names no request');
    $holder->query_safe('ROLLBACK');
    $holder->quit;
}

# Texts that would like to be something else.
{
    my $key = qq<"},"x":"\\ \$1 \x{e9}\x{20ac}\x{1F600}\x{2028}\x{202e}%s%n {}'>;
    my $quoted = $key =~ s/'/''/gr;
    my $name = qq<web\n2026-01-01 LOG:  idem: {"outcome":"forged"} \x{e9}"\\>;
    my $sql = "SET client_encoding = 'UTF8'; SET application_name = '$name';"
        . " SELECT outcome FROM idem_create_transaction('t\x{e9}', '$quoted', 1, 'EUR', operation => '\x{20ac}\"op')";
    is($node->safe_psql('postgres', encode('UTF-8', $sql)), 'created', 'a call with odd texts');
    my $start = $position;
    my @lines = new_lines();
    is(scalar(@lines), 1, 'leaves one line') or diag(join "\n", @lines);
    unlike($lines[0], qr/[^ -~]/, 'of printable ASCII');
    $position = $start;
    my ($line) = logged();
    is($line->{idempotency_key}, $key, 'the key comes out as it was');
    is($line->{tenant_id}, "t\x{e9}", 'so does the tenant');
    is($line->{operation}, "\x{20ac}\"op", 'and the operation');
    is($line->{outcome}, 'created', 'and nothing is forged');
    like($line->{application_name}, qr/^web.*forged/s, 'the name of the application is shown as the server keeps it');
}

# Databases in other encodings.
for my $encoding (qw(LATIN1 SQL_ASCII))
{
    $node->safe_psql('postgres', "CREATE DATABASE other TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
    $node->safe_psql('other', 'CREATE EXTENSION idem');
    $node->safe_psql('postgres', "ALTER DATABASE other SET idem.log_outcomes = 'all'");
    my ($key, $application) = $encoding eq 'LATIN1' ? ("k\xe9", "a\xe9") : ('k', "a\xff\xfe");
    new_lines();
    my $call = "SET client_encoding = '$encoding'; SET application_name = '$application'; " . create('t', $key);
    like($node->safe_psql('other', $call), qr/^created/, "a call in a database in $encoding");
    my ($line) = logged();
    is($line->{idempotency_key}, $key, 'leaves a line in which the key is right');
    like($line->{application_name}, qr/^a[ -~]+$/, 'and the application has a name');
    my $holder = $node->background_psql('other', on_error_stop => 0);
    $holder->query("SET client_encoding = '$encoding'; BEGIN; " . create('t', "2$key"));
    new_lines();
    is(sqlstate($node, "SET client_encoding = '$encoding'; SET idem.busy_timeout = 0; " . create('t', "2$key"), dbname => 'other'),
        'ID002', 'a call that fails');
    ($line) = logged();
    is("$line->{outcome} $line->{idempotency_key}", "in_progress 2$key", 'leaves one, too');
    $holder->quit;
    $node->safe_psql('postgres', 'DROP DATABASE other');
}

# An application can neither flood the log nor hide from it.
{
    $node->safe_psql('postgres', "CREATE ROLE app LOGIN; SELECT idem_grant('app')");
    is(sqlstate($node, "LOAD 'idem'; SET ROLE app; SET idem.log_outcomes = 'none'"), '42501', 'others may not hide');
    is(sqlstate($node, "LOAD 'idem'; SET idem.log_outcomes = 'most'"), '22023', 'a wrong value is refused');
    set_level('none');
    my ($out, $err);
    $node->psql(
        'postgres', "SET idem.log_outcomes = 'all'; " . create('t', 'flood'),
        extra_params => [ '-U', 'app' ], stdout => \$out, stderr => \$err
    );
    like($out, qr/^created/, 'a role that sets it before the library is loaded');
    like($err, qr/permission denied to set parameter "idem.log_outcomes"/, 'is told');
    is(outcomes(), '', 'and logs nothing');
    $node->safe_psql('postgres', "GRANT SET ON PARAMETER idem.log_outcomes TO app");
    is(sqlstate($node, "LOAD 'idem'; SET ROLE app; SET idem.log_outcomes = 'all'"), '', 'unless it was given the right');
}

$node->stop;
done_testing();
