# The extension, its schema or its ledger is dropped under a call: an ordinary error, and the server lives on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dropped', conf => "log_error_verbosity = verbose\n");
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

# What a call may say then, if it is not answered. No test shows an outcome, for the server knows no text for a value of
# a type that was dropped meanwhile.
my $ordinary = qr/^(?:answered|55000|42883|42P01|42704|3F000)$/;

# Bring a new extension with a new ledger into `schema`.
sub start_over
{
    my ($schema) = @_;
    $node->safe_psql(
        'postgres', qq{
        SET client_min_messages = warning;
        DROP EXTENSION IF EXISTS idem CASCADE;
        DROP TABLE IF EXISTS public.idem_transactions;
        DROP SCHEMA IF EXISTS pay CASCADE;
        CREATE SCHEMA IF NOT EXISTS $schema;
        CREATE EXTENSION idem SCHEMA $schema;}
    );
    return;
}

# The error in what psql wrote, or "answered".
sub answer
{
    my ($out, $err) = @_;
    return $1 if $err =~ /(?:ERROR|FATAL):  (\w{5})/;
    return $err eq '' && $out =~ /\banswered\b/ ? 'answered' : $err . $out;
}

# The answer of a call that waits for a transaction which did `hold`; then another session does `meanwhile`, and the
# transaction ends with `end`. With `warm` the caller has called before.
sub answer_of_waiting
{
    my (%test) = @_;
    my $schema = $test{schema} // 'public';
    start_over($schema);
    my $caller = $node->background_psql('postgres', on_error_stop => 0);
    $caller->query('\set VERBOSITY sqlstate');
    if ($test{warm})
    {
        my $warm = "SELECT outcome FROM $schema.idem_create_transaction('t', 'warm', 1, 'EUR', order_ref => 'o-warm')";
        $caller->query($warm) for 1 .. 2;
    }
    $caller->{stderr} = '';
    my $holder = $node->background_psql('postgres');
    $holder->query_safe("SET client_min_messages = warning; BEGIN; $test{hold}");
    my $arguments = "'t', 'held', 1, 'EUR'" . ($test{order} ? ", order_ref => 'o'" : '');
    my $call = "SELECT 'answered', amount_minor FROM $schema.idem_create_transaction($arguments)";
    $caller->query_until(qr/waits/, "\\echo waits\n$call;\n");
    wait_until_blocked($node, '%held%') or die 'the caller does not wait';
    $node->safe_psql('postgres', $test{meanwhile}) if $test{meanwhile};
    $holder->query_safe($test{end} // 'COMMIT');
    my $out = eval { $caller->query('SELECT 1') } // 'the connection is lost';
    my $answer = answer($out, $caller->{stderr});
    eval { $_->quit } for $holder, $caller;
    return $answer;
}

# A file with this SQL, for psql.
sub script
{
    my ($sql) = @_;
    my $file = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
    PostgreSQL::Test::Utils::append_to_file($file, $sql);
    return $file;
}

my $held = q{SELECT outcome FROM public.idem_create_transaction('t', 'held', 1, 'EUR', order_ref => 'o')};
for my $warm (0, 1)
{
    my $who = $warm ? 'a session that has called before' : 'a new session';
    for my $test (
        [ 'the schema', schema => 'pay', hold => 'DROP SCHEMA pay CASCADE' ],
        [ 'the ledger', hold => 'DROP TABLE idem_transactions' ],
        [ 'the extension', hold => 'LOCK TABLE idem_transactions; DROP EXTENSION idem' ],
        [ 'the ledger and the extension', hold => 'DROP TABLE idem_transactions; DROP EXTENSION idem' ],
        [ 'the extension and the ledger, and made anew,',
            hold => 'DROP EXTENSION idem; DROP TABLE idem_transactions; CREATE EXTENSION idem' ],
        [ 'the extension, and made anew,',
            hold => 'LOCK TABLE idem_transactions; DROP EXTENSION idem; CREATE EXTENSION idem' ],
        [ 'the extension in a third session', hold => $held, meanwhile => 'DROP EXTENSION idem', order => 1 ],
        [ 'the extension in a third session, and the row undone,',
            hold => $held, meanwhile => 'DROP EXTENSION idem', end => 'ROLLBACK', order => 1 ],
        [ 'the extension in a third session, and made anew,',
            hold => $held, meanwhile => 'DROP EXTENSION idem; CREATE EXTENSION idem', order => 1 ])
    {
        my ($what, %test) = @$test;
        my $answer = answer_of_waiting(%test, warm => $warm);
        like($answer, $ordinary, "$who, waiting for a drop of $what: $answer");
    }
    for my $schema ('pay', 'public')
    {
        my $drop =
            $schema eq 'pay' ? 'DROP SCHEMA pay CASCADE' : 'DROP EXTENSION idem; DROP TABLE public.idem_transactions';
        my $answer = answer_of_waiting(warm => $warm, schema => $schema, hold => $drop, end => 'ROLLBACK');
        is($answer, 'answered', "$who creates its row where the drop in $schema is undone");
    }
}

# Before the first and between the later calls of one statement, which holds a lock on the ledger from the first one on.
my $sleeps = q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'};
my $calls = q{SELECT count(*) = 1 FROM pg_locks
    WHERE relation = 'pay.idem_transactions'::regclass AND mode = 'RowExclusiveLock'};
for my $test (
    [ $sleeps, 'DROP EXTENSION idem' ],
    [ $sleeps, 'DROP TABLE idem_transactions' ],
    [ $sleeps, 'ALTER SCHEMA pay RENAME TO pay_2' ],
    [ $sleeps, 'DROP EXTENSION idem; CREATE EXTENSION idem SCHEMA pay' ],
    [ $calls, 'DROP EXTENSION idem' ],
    [ $calls, 'ALTER SCHEMA pay RENAME TO pay_2' ],
    [ $calls, 'DROP EXTENSION idem; CREATE EXTENSION idem SCHEMA pay' ])
{
    my ($when, $drop) = @$test;
    $node->safe_psql('postgres', 'SET client_min_messages = warning; DROP SCHEMA IF EXISTS pay_2 CASCADE');
    start_over('pay');
    my ($out, $err) = ('', '');
    my $file = script(
        q{
        SET search_path = pay, public;
        SELECT outcome FROM idem_create_transaction('t', 'warm', 1, 'EUR');
        SELECT outcome FROM idem_create_transaction('t', 'warm', 1, 'EUR');
        SELECT 'answered', f.amount_minor FROM generate_series(1, 6) g,
            LATERAL (SELECT pg_sleep(0.2), g AS h OFFSET 0) s,
            LATERAL idem_create_transaction('t', 'k' || h, 1, 'EUR') f;
        SELECT 'alive';
        }
    );
    my $caller = start_psql($node, \$file, \$out, \$err);
    $node->poll_query_until('postgres', $sleeps) or die 'the batch does not run';
    $node->poll_query_until('postgres', $when) or die 'the batch does not call';
    is(sqlstate($node, "SET search_path = pay, public; $drop"), '', "'$drop' comes in the middle of a statement");
    $caller->finish;
    like($out, qr/alive/, '... and the session lives on');
    my $answer = answer($out, $err);
    like($answer, $drop =~ /RENAME/ ? qr/^(?:answered|40001)$/ : $ordinary, "... $answer");
}

# Within one session, in the middle of a statement.
$node->safe_psql(
    'postgres', q{
    CREATE FUNCTION drop_it(statements text) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL client_min_messages = warning;
        EXECUTE statements;
        RETURN 1;
    END $$}
);
for my $drop (
    'DROP EXTENSION idem',
    'DROP EXTENSION idem; DROP TABLE idem_transactions',
    'DROP TABLE idem_transactions',
    'DROP EXTENSION idem; CREATE EXTENSION idem SCHEMA pay',
    'DROP SCHEMA pay CASCADE')
{
    for my $before ('', "SELECT FROM idem_create_transaction('t', 'warm', 1, 'EUR');")
    {
        start_over('pay');
        my ($out, $err) = ('', '');
        my $file = script(
            qq{
            SET search_path = pay, public;
            $before
            SELECT 'answered', amount_minor FROM idem_create_transaction('t', 'k' || drop_it('$drop'), 1, 'EUR');
            SELECT 'answered', f.amount_minor FROM (SELECT g, CASE g WHEN 2 THEN drop_it('$drop') ELSE g END AS h FROM
                generate_series(1, 3) g OFFSET 0) s, LATERAL idem_create_transaction('t', 'k' || h, 1, 'EUR') f;
            SELECT 'alive';
            }
        );
        start_psql($node, \$file, \$out, \$err)->finish;
        like($out, qr/alive/, "a call whose argument runs '$drop': the session lives on");
        my $answer = answer($out, $err);
        like($answer, $ordinary, "... $answer");
    }
}

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server was not started again');
my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
unlike($log, qr/terminated by signal|PANIC|crash of another server process/, 'no process of it died');
unlike($log, qr/ XX000|cache lookup failed/, 'and none met an internal error');
start_over('public');
my ($outcome) = call($node, 't', 'afterwards');
is($outcome, 'created', 'a new extension works');

$node->stop;
done_testing();
