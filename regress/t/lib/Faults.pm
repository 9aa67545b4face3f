# Faults inside a server: memory that is refused, cancels at any step, files that cannot grow. See data/faults.c.
package Faults;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(build_faults new_faulty_server start_faulty count_events play check_nothing_half_done $MEMORY $CANCEL);

our ($MEMORY, $CANCEL) = (1, 2);

my $library;

# Build the library; gives its path, or nothing where this cannot be done here.
sub build_faults
{
    return $library if $library;
    my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
    my ($compiler, $headers) = map { chomp(my $answer = `$pg_config $_`); $answer } '--cc', '--includedir-server';
    my $file = PostgreSQL::Test::Utils::tempdir() . '/faults.so';
    # The compiler must not make a call of memcpy out of the loop that is memcpy.
    my @flags = qw(-shared -fPIC -O2 -w -fno-builtin -fno-tree-loop-distribute-patterns -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0);
    system(split(/ /, $compiler), @flags, "-I$headers", '-o', $file, "$FindBin::Bin/../data/faults.c") == 0
        or die 'could not build the library of faults';
    return $library = $file;
}

# Start a server with the library in it. Its files are full while the file $node->basedir/full holds a part of their path.
sub start_faulty
{
    my ($node, %option) = @_;
    local $ENV{LD_PRELOAD} = build_faults();
    local $ENV{FAULTS_FULL} = $node->basedir . '/full';
    return $node->start(%option);
}

# A running server with the library in it, the extension, an attached table pay, a few rows and amcheck.
sub new_faulty_server
{
    my ($name, %option) = @_;
    my $node = PostgreSQL::Test::Cluster->new($name);
    my $conf = delete $option{conf} // '';
    $node->init(extra => [ '--encoding=UTF8', '--locale=C', @{ delete $option{extra} // [] } ], %option);
    $node->append_conf('postgresql.conf', "log_statement = none\nautovacuum = off\njit = off\n$conf");
    start_faulty($node);
    $node->safe_psql(
        'postgres', qq{
        CREATE EXTENSION idem;
        CREATE EXTENSION amcheck;
        CREATE FUNCTION faults_arm(kind int, first int, last int, value text) RETURNS text
            AS '$library' LANGUAGE c STRICT VOLATILE;
        CREATE FUNCTION faults_seen() RETURNS int AS '$library' LANGUAGE c VOLATILE;
        CREATE TABLE pay (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, tenant_id text NOT NULL, operation text NOT NULL,
            idempotency_key text NOT NULL, request_hash bytea, amount bigint, note jsonb,
            UNIQUE (tenant_id, operation, idempotency_key));
        SELECT idem_attach('pay');
        SELECT idem_create_transaction('t', 'stored', 1, 'EUR', '{"a": [1, {"b": "x"}]}', order_ref => 'stored');}
    );
    return $node;
}

# SQL that runs `call` with a fault at the events first to last; %s in it stands for its key.
sub armed
{
    my ($call, $kind, $first, $last, $key) = @_;
    return $call =~ s/%s/faults_arm($kind, $first, $last, '$key')/r;
}

# How many events a call has. `cold`: as the first one of its session.
sub count_events
{
    my ($node, $call, $kind, $key, %option) = @_;
    my $before = $option{before} // '';
    my $warm = $option{cold} ? '' : 'BEGIN; ' . ($call =~ s/%s/'warm'/r) . '; ROLLBACK;';
    my ($out, $err) = ('', '');
    start_psql($node, \script("$before;\n$warm\nBEGIN;\n" . armed($call, $kind, 1_000_000_000, 0, $key)
        . ";\nROLLBACK;\n\\echo seen\nSELECT faults_seen();\n"), \$out, \$err)->finish;
    my ($events) = $out =~ /^seen\n(\d+)$/m or die "no count: $out$err";
    return $events;
}

# Write SQL into a file; gives its name.
sub script
{
    my ($sql) = @_;
    my $file = PostgreSQL::Test::Utils::tempdir() . '/faults.sql';
    open my $handle, '>', $file or die "could not write $file: $!";
    print $handle $sql;
    close $handle;
    return $file;
}

# Play a call with a fault at each of the steps, in one session or, `cold`, in a session for each; after each fault the
# same call again, without one. Gives for each step the SQLSTATE and the answer of both.
sub play
{
    my ($node, $call, $kind, $steps, %option) = @_;
    my $length = $option{length} // 1;
    my $before = ($option{before} // '') . ";\n";
    my $sql = $before . ($option{cold} ? '' : 'BEGIN; ' . ($call =~ s/%s/'warm'/r) . "; ROLLBACK;\n");
    for my $step (@$steps)
    {
        my $key = $option{key} // "$option{name} $step";
        $sql .= "\\c\n$before" if $option{cold};
        $sql .= "\\echo step $step\n" . armed($call, $kind, $step, $step + $length - 1, $key) . ";\n\\echo :SQLSTATE\n";
        # Faults that come late strike the looks at the count.
        $sql .= "SELECT faults_seen();\n" x ($length + 1) . "\\echo again\n" . ($call =~ s/%s/'$key'/r) . ";\n\\echo :SQLSTATE\n";
    }
    my ($out, $err) = ('', '');
    start_psql($node, \script($sql), \$out, \$err)->finish;
    my @played;
    for my $part (split /^step /m, $out)
    {
        my ($step, $first, $state, $again, $second_state) =
            $part =~ /\A(\d+)\n((?:.*\n)*?)(\w{5})\n(?:\d+\n)*again\n((?:.*\n)*?)(\w{5})\n/ or next;
        chomp($first, $again);
        push @played, { step => $step, state => $state, answer => $first, again => $again, again_state => $second_state };
    }
    is(scalar @played, scalar @$steps, "$option{name}: every step was played") or diag($err);
    return @played;
}

# Each index has each row, each scope one row, nothing is locked, and no process has died or complained.
sub check_nothing_half_done
{
    my ($node, $what, %option) = @_;
    is(
        $node->safe_psql(
            'postgres', q{
            SELECT count(bt_index_check(i.indexrelid, true)) FROM pg_index i
            WHERE i.indrelid IN ('idem_transactions'::regclass, 'pay'::regclass)}
        ),
        5, "$what: all rows are in all indexes, and no others"
    );
    is(
        $node->safe_psql(
            'postgres', q{
            SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;
            SELECT (SELECT count(*) - count(DISTINCT (tenant_id, operation, idempotency_key)) FROM idem_transactions)
                + (SELECT count(*) - count(DISTINCT (tenant_id, operation, idempotency_key)) FROM pay)
                + (SELECT count(order_ref) - count(DISTINCT (tenant_id, operation, order_ref))
                    FROM idem_transactions WHERE order_ref IS NOT NULL)}
        ),
        0, "$what: no second row"
    );
    is(
        $node->safe_psql(
            'postgres', q{
            SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()
                AND locktype IN ('relation', 'tuple', 'transactionid', 'speculative token', 'spectoken')}
        ),
        0, "$what: no lock is left"
    );
    my $log = slurp_file($node->logfile, $option{since} // 0);
    my ($complaint) = $log =~ /^(.*(?:terminated by signal|PANIC|TRAP|WARNING|terminating connection).*)$/m;
    is($complaint, undef, "$what: no process died or complained");
    return;
}

1;
