# The audit as docs/audit.md runs it, from cron and in CI; on a standby; its progress; and what it says about standbys
# and settings that need a server of their own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IPC::Run;
use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_server('primary', allows_streaming => 1);
my $page = PostgreSQL::Test::Utils::slurp_file("$FindBin::Bin/../../docs/audit.md");
my $directory = PostgreSQL::Test::Utils::tempdir();
$primary->safe_psql('postgres', 'CREATE DATABASE shop');
$primary->safe_psql('shop', 'CREATE EXTENSION idem; CREATE TABLE other (k int)');
# Damage that no constraint stops.
my $wrong = q{INSERT INTO idem_transactions (tenant_id, id, operation, idempotency_key, request_hash, hash_version, amount_minor, currency)
    VALUES ('secret-tenant', gen_random_uuid(), 'op', 'secret-key', '\x00', 1, 1, 'EUR')};

# Run a command in a shell, as the server's clients do; gives exit code and all that it said.
sub shell
{
    my ($command) = @_;
    my $said = '';
    local $ENV{PGHOST} = $primary->host;
    local $ENV{PGPORT} = $primary->port;
    IPC::Run::run([ 'sh', '-c', $command ], '<', \'', '>&', \$said);
    return ($? >> 8, $said);
}

# Set a server's setting, and wait until it is in force.
sub set
{
    my ($name, $value) = @_;
    $primary->append_conf('postgresql.conf', "$name = '$value'\n");
    $primary->reload;
    $primary->poll_query_until('shop', "SHOW $name", $value);
    return;
}

# The lines of the page.
my ($cron) = $page =~ /^```crontab\n[0-9* ]+ (.*)\n```$/m;
my ($ci) = $page =~ /^```sql\n(\\set ON_ERROR_STOP on\n.*?)^```$/ms;
PostgreSQL::Test::Utils::append_to_file("$directory/audit.sql", $ci);
my ($ci_line) = $page =~ /run `(psql [^`]* -f )audit\.sql`/;
$ci = "$ci_line $directory/audit.sql";

my ($code, $said) = shell($ci);
is($code, 3, 'a server without fsync fails in CI');
like($said, qr/^ error +\| fsync_off \| server .*idem_audit has found errors/ms, 'which is told');
set('fsync', 'on');
($code, $said) = shell($cron);
is("$code $said", '0 ', 'the line for cron says nothing where all is well');
($code) = shell($ci);
is($code, 0, 'and the script for CI succeeds');

$primary->safe_psql('shop', 'CREATE ROLE app; GRANT DELETE ON idem_transactions TO app');
($code, $said) = shell($cron);
is($code, 1, 'the line for cron fails for a warning');
like($said, qr/^warning\|may_change_ledger\|public\.idem_transactions\|role app may DELETE\|[^\n]*\n\z/, 'and prints it, and nothing else');
($code) = shell($ci);
is($code, 0, 'which does not fail in CI');

$primary->safe_psql('shop', $wrong);
($code, $said) = shell($ci);
is($code, 3, 'an error does');
like($said, qr/fingerprint_malformed.*idem_audit has found errors/s, 'which is shown');
($code, $said) = shell($cron =~ s/-d shop/-d nowhere/r);
is($code, 1, 'the line for cron fails where it cannot connect');
like($said, qr/"nowhere" does not exist/, 'and says so');
($code) = shell($ci =~ s/-d shop/-d nowhere/r);
is($code, 2, 'so does the script');
($code, $said) = shell($cron =~ s/-d shop/-d postgres/r =~ s/idem_audit/idem_no_audit/r);
is($code, 1, 'and where the audit fails');
set('fsync', 'off');

# Progress, and no value of a row in what is told or found.
$primary->safe_psql('shop', 'INSERT INTO other SELECT g FROM generate_series(1, 100) AS g; ANALYZE other');
my ($out, $notices);
$primary->psql('shop', 'SELECT * FROM idem_audit()', stdout => \$out, stderr => \$notices);
my $table = 'public\.idem_transactions';
like($notices, qr/^.*NOTICE:  $table: step 1 of 4, counting, begins, number of rows not known$/m, 'each step is told at its start');
like($notices, qr/^.*NOTICE:  $table: step 4 of 4, repeated content, ends, 0 groups listed, \d+\.\d s$/m, 'and at its end');
is(scalar(() = $notices =~ /NOTICE/g), 8, 'in two notices each');
unlike("$out$notices", qr/secret/, 'no value of a row is told');
$primary->psql('shop', "SELECT * FROM idem_find_duplicates('other', '{k}')", stderr => \$notices);
like($notices, qr/other: step 1 of 2, rows with nulls, begins, about 100 rows$/m, 'the number of rows is told where it is known');
like($notices, qr/other: 0 rows have a null in the columns and so are no duplicates$/m, 'and how many are left out');
$primary->safe_psql('shop', 'DELETE FROM idem_transactions; REVOKE DELETE ON idem_transactions FROM app');

# A table that is read in several ranges of blocks: every row is counted once.
$primary->safe_psql('shop', q{
    CREATE UNLOGGED TABLE large (k int, filler text) WITH (fillfactor = 10);
    INSERT INTO large SELECT NULLIF(g % 3, 0), repeat('x', 800) FROM generate_series(1, 17000) AS g;});
is($primary->safe_psql('shop', "SELECT pg_relation_size('large') / current_setting('block_size')::int > 2 * 8192"),
    't', 'a table has more blocks than are read at once');
$primary->psql('shop', "SELECT * FROM idem_find_duplicates('large', '{k}')", stdout => \$out, stderr => \$notices);
like($notices, qr/large: 5666 rows have a null/, 'its rows are counted once each');
like($notices, qr/rows with nulls, ends, 17000 rows/, 'all of them');
$primary->safe_psql('shop', 'DROP TABLE large');

# A temporary table of another session.
my $other = $primary->background_psql('shop');
$other->query_safe('CREATE TEMP TABLE mine (k int)');
my $mine = $primary->safe_psql('shop', "SELECT oid::int FROM pg_class WHERE relname = 'mine'");
is(sqlstate($primary, "SELECT * FROM idem_audit_table($mine)", dbname => 'shop'), '0A000', "another session's temporary table is refused");
is(sqlstate($primary, "SELECT * FROM idem_find_duplicates($mine, '{k}')", dbname => 'shop'),
    '0A000', 'by both functions');
$other->quit;

# Standbys: the asynchronous one is told of, to those who may see it; a local commit matters where one is synchronous.
sub codes
{
    my ($node, $role) = @_;
    return $node->safe_psql('shop',
        ($role ? "SET ROLE $role; " : '') . "SET client_min_messages = warning; SELECT code, object FROM idem_audit() "
            . "WHERE code <> 'fsync_off' ORDER BY 1, 2");
}
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my ($auditor) = $page =~ /^```sql\n(CREATE ROLE auditor.*?)^```$/ms;
$primary->safe_psql('shop', "$auditor REVOKE pg_monitor FROM auditor");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is(codes($primary), 'standby_asynchronous|standby standby', 'an asynchronous standby is found');
is(codes($standby), '', 'the audit runs on a standby');
is(codes($primary, 'auditor'), 'replication_not_visible|server', 'a role that may not see it is told so');
$primary->safe_psql('shop', 'GRANT pg_monitor TO auditor');
is(codes($primary, 'auditor'), 'standby_asynchronous|standby standby', 'and with pg_monitor it sees it');
set('synchronous_standby_names', 'standby');
$primary->poll_query_until('shop', q{SELECT sync_state = 'sync' FROM pg_stat_replication});
is(codes($primary), '', 'a synchronous standby is as it should be');
set('synchronous_commit', 'local');
is(codes($primary), 'synchronous_commit_local|server', 'commits that do not wait for it are found');
set('synchronous_commit', 'off');
is(codes($primary), 'synchronous_commit_off|server', 'so are those that wait for nothing');
is(
    $primary->safe_psql(
        'shop', q{SET client_min_messages = warning; SET synchronous_commit = on;
            SELECT code, object FROM idem_audit() WHERE code <> 'fsync_off'}
    ),
    'synchronous_commit_off|server',
    'whatever the session of the audit has set for itself'
);

# An unlogged ledger has no rows on a standby, and the audit there says so.
$primary->safe_psql('shop', 'ALTER TABLE idem_transactions SET UNLOGGED');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
like(codes($standby), qr/^not_readable\|public\.idem_transactions\n(.*\n)*unlogged\|public\.idem_transactions$/m,
    'an unlogged ledger cannot be read on a standby');

$standby->stop;
$primary->stop;
done_testing();
