# A library that cannot work refuses to be loaded, says why, and leaves nothing behind. H60

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# An OpenSSL configuration that hides every algorithm behind a property that none has, so that SHA-256 is not to be had.
# The random numbers that the server itself needs are exempt.
my $config = PostgreSQL::Test::Utils::tempdir() . '/openssl.cnf';
PostgreSQL::Test::Utils::append_to_file(
    $config, q{
openssl_conf = main

[main]
providers = providers
alg_section = algorithms
random = random

[providers]
default = default_provider

[default_provider]
activate = 1

[algorithms]
default_properties = absent=yes

[random]
random = CTR-DRBG
properties = -absent
seed = SEED-SRC
seed_properties = -absent
}
);

my $node = PostgreSQL::Test::Cluster->new('load');
$node->init;
{
    local $ENV{OPENSSL_CONF} = $config;
    $node->start;
}
my $started = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
my $objects = q{SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'idem%')
    + (SELECT count(*) FROM pg_proc WHERE proname LIKE '%idem%')
    + (SELECT count(*) FROM pg_type WHERE typname LIKE 'idem%')
    + (SELECT count(*) FROM pg_extension WHERE extname = 'idem')};

for my $sql ('CREATE EXTENSION idem', "LOAD 'idem'")
{
    my ($out, $err);
    isnt($node->psql('postgres', $sql, stdout => \$out, stderr => \$err), 0, "$sql fails without SHA-256");
    like($err, qr/ERROR:  could not get SHA-256 from OpenSSL/, "$sql says what is missing");
    like($err, qr/HINT:  .*OPENSSL_CONF/, "$sql says where to look");
    is(sqlstate($node, $sql), '58000', "$sql gives the SQLSTATE of a system error");
    is($node->safe_psql('postgres', $objects), 0, "$sql leaves nothing behind");
}

# One session tries again and again, and then does something else.
{
    my $session = $node->background_psql('postgres', on_error_stop => 0);
    $session->query("CREATE EXTENSION idem;\nLOAD 'idem'") for 1 .. 20;
    my $errors = () = $session->{stderr} =~ /ERROR:  could not get SHA-256 from OpenSSL/g;
    is($errors, 40, 'a session that tries 40 times gets 40 errors');
    $session->{stderr} = '';
    is($session->query('SELECT 1'), 1, 'and goes on');
    $session->quit;
}
is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'the server lived on');

# Once OpenSSL offers the algorithm, all is well.
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION idem');
my ($outcome) = call($node, 't', 'k');
is($outcome, 'created', 'with SHA-256 the extension works');

# An existing ledger meets a server without the algorithm: the call fails, the ledger is untouched.
$node->stop;
{
    local $ENV{OPENSSL_CONF} = $config;
    $node->start;
}
is(sqlstate($node, create('t', 'k')), '58000', 'a call fails where SHA-256 went away');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), 1, 'the ledger can be read all the same');
$node->stop;

# The server loads the library itself.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'idem'\nidem.busy_timeout = 0\n");
{
    local $ENV{OPENSSL_CONF} = $config;
    my $log = -s $node->logfile;
    is($node->start(fail_ok => 1), 0, 'a server that preloads does not start without SHA-256');
    like(slurp_file($node->logfile, $log), qr/FATAL:  could not get SHA-256 from OpenSSL/, 'and logs why');
}
$node->start;
is($node->safe_psql('postgres', 'SHOW idem.busy_timeout'), 0, 'with it, the setting of the file holds from the start');
($outcome) = call($node, 't', 'k');
is($outcome, 'replayed', 'and calls work');
is(sqlstate($node, 'SET idem.busy_timeot = 0'), '42602', 'a misspelt setting is refused');

$node->stop;
done_testing();
