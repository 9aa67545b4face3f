# What the TAP tests of idem share: servers with the extension, SQLSTATEs, sessions that wait.
package IdemTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(new_server create call sqlstate start_psql wait_until_blocked run_pgbench);

# A running server whose database postgres has the extension; %option goes to init(), `conf` to postgresql.conf.
sub new_server
{
    my ($name, %option) = @_;
    my $conf = delete $option{conf} // '';
    my $node = PostgreSQL::Test::Cluster->new($name);
    $node->init(extra => [ '--encoding=UTF8', '--locale=C' ], %option);
    # The statements of a test with a million calls need not be logged.
    $node->append_conf('postgresql.conf', "log_statement = none\n$conf");
    $node->start;
    $node->safe_psql('postgres', 'CREATE EXTENSION idem');
    return $node;
}

# SQL of one call: a row with outcome and id.
sub create
{
    my ($tenant, $key, $amount) = @_;
    $amount //= 1000;
    return "SELECT outcome, transaction_id FROM idem_create_transaction('$tenant', '$key', $amount, 'EUR')";
}

# Call once in a session of its own; gives outcome and id.
sub call
{
    my ($node, $tenant, $key, %option) = @_;
    my $row = $node->safe_psql($option{dbname} // 'postgres', create($tenant, $key, $option{amount}));
    return split /\|/, $row;
}

# The SQLSTATE of the first error that the SQL runs into, or '' where there is none.
sub sqlstate
{
    my ($node, $sql, %option) = @_;
    my ($stdout, $stderr);
    $node->psql(
        $option{dbname} // 'postgres', $sql,
        stdout => \$stdout,
        stderr => \$stderr,
        extra_params => [ '-v', 'VERBOSITY=sqlstate' ]
    );
    return $stderr =~ /(?:ERROR|FATAL):  (\w{5})$/m ? $1 : '';
}

# Start a psql that reads `in` (SQL, or a reference to a file's name); its output goes to $$out and $$err.
sub start_psql
{
    my ($node, $in, $out, $err, %option) = @_;
    my @command = ('psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr($option{dbname} // 'postgres'));
    push @command, '-v', 'ON_ERROR_STOP=1' if $option{stop};
    push @command, ref $in ? ('-f', $$in) : ('-c', $in);
    return IPC::Run::start(\@command, '<', \'', '>', $out, '2>', $err);
}

# Wait until `count` sessions wait for a lock in a statement that is LIKE `pattern`.
sub wait_until_blocked
{
    my ($node, $pattern, $count) = @_;
    $count //= 1;
    return $node->poll_query_until(
        'postgres', qq{
            SELECT count(*) = $count FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND state = 'active' AND query LIKE '$pattern'}
    );
}

# Run pgbench with a script; gives its exit code and everything that it printed.
sub run_pgbench
{
    my ($node, $script, @options) = @_;
    my $file = PostgreSQL::Test::Utils::tempdir() . '/script.pgbench';
    open my $handle, '>', $file or die "could not write $file: $!";
    print $handle $script;
    close $handle;
    my $output;
    IPC::Run::run([ 'pgbench', '-n', '-f', $file, @options, $node->connstr('postgres') ], '<', \'', '>', \$output,
        '2>&1');
    return ($? >> 8, $output);
}

1;
