# pg_upgrade takes the ledger and the extension along. H53
# Set oldinstall to the prefix of an older server that has idem, to come from there; else it is from this one to itself.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @locale = ('--encoding=UTF8', '--locale=C');
my $old = PostgreSQL::Test::Cluster->new('old', install_path => $ENV{oldinstall});
$old->init(extra => [@locale]);
$old->start;
$old->safe_psql('postgres', "CREATE ROLE app; CREATE EXTENSION idem; SELECT idem_grant('app')");
$old->safe_psql(
    'postgres',
    q{SELECT count(f.outcome) FROM generate_series(1, 1000) g,
        LATERAL idem_create_transaction('t', 'k' || g, g, 'EUR') f}
);
$old->safe_psql('postgres', 'CREATE DATABASE dropped');
$old->safe_psql('dropped', 'CREATE EXTENSION idem');
call($old, 't', 'k', dbname => 'dropped');
$old->safe_psql('dropped', 'DROP EXTENSION idem');
my $rows = q{SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM idem_transactions t};
my $before = $old->safe_psql('postgres', $rows);
my $id = $old->safe_psql('postgres', q{SELECT id FROM idem_transactions WHERE idempotency_key = 'k7'});
$old->stop;

my $new = PostgreSQL::Test::Cluster->new('new');
# From release 18 on, initdb switches checksums on; the two servers must agree.
my $checksums = $new->pg_version >= 18 && $old->pg_version < 18;
$new->init(extra => [ @locale, $checksums ? ('--no-data-checksums') : () ]);

my @upgrade = (
    'pg_upgrade',
    '--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
    '--old-bindir', $old->config_data('--bindir'), '--new-bindir', $new->config_data('--bindir'),
    '--socketdir', $new->host, '--old-port', $old->port, '--new-port', $new->port
);
chdir PostgreSQL::Test::Utils::tempdir();
command_ok([ @upgrade, '--check' ], 'pg_upgrade --check succeeds');
command_ok(\@upgrade, 'pg_upgrade succeeds');
$new->start;

is($new->safe_psql('postgres', $rows), $before, 'every row is as before');
is(
    $new->safe_psql(
        'postgres',
        q{SELECT count(*) FROM idem_transactions
            WHERE request_hash = idem_fingerprint(amount_minor, currency, details, operation)}
    ),
    1000,
    'and so are the fingerprints'
);
is($new->safe_psql('postgres', "SELECT extversion = idem_version() FROM pg_extension WHERE extname = 'idem'"), 't',
    'the extension is there');
is(
    $new->safe_psql(
        'postgres', "SET ROLE app; SELECT outcome, transaction_id FROM idem_create_transaction('t', 'k7', 7, 'EUR')"
    ),
    "replayed|$id",
    'the application replays a key from before'
);
is(
    $new->safe_psql('postgres', "SET ROLE app; SELECT outcome FROM idem_create_transaction('t', 'new', 7, 'EUR')"),
    'created', 'and creates a new one'
);
is(
    $new->safe_psql(
        'dropped', "CREATE EXTENSION idem; SELECT outcome FROM idem_create_transaction('t', 'k', 1000, 'EUR')"
    ),
    'replayed',
    'a ledger left by DROP EXTENSION is adopted'
);

$new->stop;
done_testing();
