# The insert inside a call fails, a thousand times in each way: the error is the original, and the next call works. H56

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = 1000;
my $node = new_server('failures');

# A trigger of the user's that fails in the way that the key says.
$node->safe_psql(
    'postgres', q{
    CREATE TABLE taken (n int PRIMARY KEY);
    INSERT INTO taken VALUES (1);
    CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        CASE split_part(NEW.idempotency_key, ' ', 1)
            WHEN 'raise' THEN RAISE EXCEPTION 'trouble' USING ERRCODE = 'XY123';
            WHEN 'divide' THEN PERFORM 1 / (NEW.amount_minor - NEW.amount_minor);
            WHEN 'unique' THEN INSERT INTO taken VALUES (1);
            WHEN 'nested' THEN PERFORM idem_create_transaction(NEW.tenant_id, 'used', 999, 'EUR');
            WHEN 'refused' THEN PERFORM idem_create_transaction(NEW.tenant_id, '', 999, 'EUR');
            WHEN 'slow' THEN PERFORM pg_sleep(600);
            WHEN 'cancel' THEN PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(600);
            ELSE RETURN NEW;
        END CASE;
        RETURN NEW;
    END $$;
    CREATE TRIGGER trouble BEFORE INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION trouble();}
);
call($node, 't', 'used');

my %ways = (
    raise => 'XY123', divide => '22012', unique => '23505', nested => 'ID001', refused => '22023', slow => '57014',
    cancel => '57014'
);

sub failing_call
{
    my ($way, $n) = @_;
    return "SELECT outcome FROM idem_create_transaction('t', '$way $n', 1000, 'EUR')";
}

for my $way (sort keys %ways)
{
    my $file = PostgreSQL::Test::Utils::tempdir() . "/$way.sql";
    open my $handle, '>', $file or die "could not write $file: $!";
    print $handle "SET idem.busy_timeout = '100s';\n";    # so that a setting has to be put back, too
    for my $n (1 .. $rounds)
    {
        print $handle "BEGIN; SET LOCAL statement_timeout = '2ms';\n" if $way eq 'slow';
        print $handle failing_call($way, $n), ";\n";
        print $handle "ROLLBACK;\n" if $way eq 'slow';
        print $handle "SELECT outcome FROM idem_create_transaction('t', 'good $way $n', 1000, 'EUR');\n";
        print $handle "SELECT outcome FROM idem_create_transaction('t', 'good $way $n', 1000, 'EUR');\n"
            if $n % 10 == 0;
    }
    print $handle "SHOW lock_timeout;\n";
    close $handle;

    my ($out, $err) = ('', '');
    start_psql($node, \$file, \$out, \$err)->finish;
    my %errors;
    ++$errors{$_} for $err =~ /ERROR:  (\w{5})$/mg;
    is_deeply(\%errors, { $ways{$way} => $rounds }, "$way: the original SQLSTATE each time");
    my @lines = split /\n/, $out;
    is(pop @lines, 0, "$way: lock_timeout is as before");
    is(scalar(grep { $_ eq 'created' } @lines), $rounds, "$way: the good call works each time");
    is(scalar(grep { $_ eq 'replayed' } @lines), $rounds / 10, "$way: and replays");
    is(
        $node->safe_psql('postgres', "SELECT count(*) FROM idem_transactions WHERE idempotency_key LIKE '$way %'"),
        0, "$way: nothing of the failed calls is stored"
    );
}

# All of them in one transaction, caught.
is(
    $node->safe_psql(
        'postgres', q{
        CREATE TABLE caught (way text, state text);
        DO $$
        DECLARE
            ways text[] := ARRAY['raise', 'divide', 'unique', 'nested', 'refused'];
        BEGIN
            FOR n IN 1 .. 1000 LOOP
                FOR i IN 1 .. 5 LOOP
                    BEGIN
                        PERFORM idem_create_transaction('t', ways[i] || ' caught', 1000, 'EUR');
                    EXCEPTION WHEN OTHERS THEN
                        INSERT INTO caught VALUES (ways[i], sqlstate);
                    END;
                END LOOP;
                PERFORM idem_create_transaction('caught', 'good ' || n, 1000, 'EUR');
            END LOOP;
        END $$;
        SELECT way, state, count(*) FROM caught GROUP BY 1, 2 ORDER BY 1}
    ),
    join("\n", map { "$_|$ways{$_}|$rounds" } 'divide', 'nested', 'raise', 'refused', 'unique'),
    'caught in one transaction: the original SQLSTATE each time'
);
is(
    $node->safe_psql('postgres', "SELECT count(*) FROM idem_transactions WHERE tenant_id = 'caught'"),
    $rounds, 'caught in one transaction: the good call works each time'
);

$node->stop;
done_testing();
