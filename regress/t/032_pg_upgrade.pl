# pg_upgrade takes the ledger, an attached table, its registration and grants along, as often as it is used. H53
# oldinstall may hold the prefixes of older servers that have idem, the oldest first, with colons in between: the way
# then leads through all of them to this server. Without it, it leads from this server to itself.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $as_app = 'SET ROLE app;';
my $payment = q{jsonb_build_object('amount', g, 'invoice_no', 'i' || g, 'trace', g)};

# What must be the same on every server of the way, as queries.
my %probes = (
    'every row of the ledger' => q{SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM idem_transactions t},
    'every row of the attached table' => q{SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM shop.payment t},
    'the registry' => q{SELECT target::regclass, target_name, tenant_column, operation_column, fixed_operation,
        key_column, hash_column, id_column, exclude FROM idem_tables},
    # The owner's rights differ from release to release.
    'every grant' => q{
        SELECT count(*), string_agg(format('%s %s %s', o.name, a.grantee::regrole, a.privilege_type), ',' ORDER BY
            o.name, a.grantee::regrole::text, a.privilege_type)
        FROM (SELECT oid::regclass::text, relowner, relacl FROM pg_class WHERE relname ~ '^_?idem|^payment$'
              UNION ALL SELECT oid::regprocedure::text, proowner, proacl FROM pg_proc WHERE proname ~ '^_?idem'
              UNION ALL SELECT nspname, nspowner, nspacl FROM pg_namespace WHERE nspname = 'shop') o (name, owner, acl),
            aclexplode(o.acl) a
        WHERE a.grantee <> o.owner}
);

# The answers of a server to all probes.
sub probe
{
    my ($node) = @_;
    return { map { $_ => $node->safe_psql('postgres', $probes{$_}) } keys %probes };
}

# A server with the ledger, an attached table with a dropped and a renamed column, grants, and another database whose
# ledger DROP EXTENSION has left.
sub fill
{
    my ($node) = @_;
    $node->safe_psql(
        'postgres', qq{
        CREATE ROLE app; CREATE EXTENSION idem; SELECT idem_grant('app');
        SELECT count(f.outcome) FROM generate_series(1, 1000) g,
            LATERAL idem_create_transaction('t', 'k' || g, g, 'EUR', jsonb_build_object('n', g + 0.10), 'pay', 'o' || g) f;
        CREATE SCHEMA shop;
        CREATE TABLE shop.payment (
            gone int, id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "key" text NOT NULL, tenant_id text NOT NULL,
            request_hash bytea, invoice_no text UNIQUE, amount numeric NOT NULL, trace text, UNIQUE (tenant_id, "key"));
        GRANT USAGE ON SCHEMA shop TO app;
        GRANT SELECT, INSERT ON shop.payment TO app;
        SELECT idem_attach('shop.payment', key_column => 'key', fixed_operation => 'pay', exclude => '{\$.trace}');
        ALTER TABLE shop.payment DROP gone;
        ALTER TABLE shop.payment RENAME "key" TO "The key";
        SELECT count(f.outcome) FROM generate_series(1, 200) g, LATERAL idem_insert('shop.payment', 't', 'k' || g, $payment) f;}
    );
    $node->safe_psql('postgres', 'CREATE DATABASE dropped');
    $node->safe_psql('dropped', 'CREATE EXTENSION idem');
    call($node, 't', 'k', dbname => 'dropped');
    $node->safe_psql('dropped', 'DROP EXTENSION idem');
    return;
}

# Minor releases of 15 and 17 set an option of columns, pg_attver, that a release 18 of an earlier day does not know, and
# at which its pg_upgrade fails with any table. It is taken away for such a new server.
sub forget_unknown_option
{
    my ($old, $new) = @_;
    $new->start;
    my $unknown = sqlstate($new, 'BEGIN; CREATE TABLE t (a int); ALTER TABLE t ALTER a SET (pg_attver = 1); ROLLBACK');
    $new->stop;
    return unless $unknown eq '22023';
    note('the new server does not know pg_attver');
    for my $database (split /\n/, $old->safe_psql('postgres', 'SELECT datname FROM pg_database WHERE datallowconn')) {
        $old->safe_psql(
            $database, q{
            SET allow_system_table_mods = on;
            UPDATE pg_attribute SET attoptions = nullif(ARRAY(
                SELECT o FROM unnest(attoptions) o WHERE o NOT LIKE 'pg_attver=%'), '{}') WHERE attoptions IS NOT NULL}
        );
    }
    return;
}

# Upgrade the stopped server `old` to the server `new`, which is started.
sub upgrade
{
    my ($old, $new) = @_;
    my @command = (
        'pg_upgrade',
        '--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
        '--old-bindir', $old->config_data('--bindir'), '--new-bindir', $new->config_data('--bindir'),
        '--socketdir', $new->host, '--old-port', $old->port, '--new-port', $new->port
    );
    my $way = $old->pg_version->major . ' to ' . $new->pg_version->major;
    $new->command_ok([ @command, '--check' ], "$way: pg_upgrade --check succeeds");
    $new->command_ok(\@command, "$way: pg_upgrade succeeds");
    $new->start;
    return;
}

# Compare the server with what was there before, and use all of it as the application does.
sub check
{
    my ($node, $before) = @_;
    my $release = $node->pg_version->major;
    my $now = probe($node);
    is($now->{$_}, $before->{$_}, "$release: $_ is as before") for sort keys %probes;
    is(
        $node->safe_psql(
            'postgres',
            q{SELECT count(*) FROM idem_transactions
                WHERE request_hash = idem_fingerprint(amount_minor, currency, details, operation, order_ref)}
        ),
        (split /\|/, $now->{'every row of the ledger'})[0],
        "$release: so are the fingerprints"
    );
    is($node->safe_psql('postgres', "SELECT extversion = idem_version() FROM pg_extension WHERE extname = 'idem'"), 't',
        "$release: the extension is there");
    is(
        $node->safe_psql(
            'postgres', qq{$as_app
            SELECT count(*) FROM idem_transactions t, LATERAL idem_create_transaction(t.tenant_id, t.idempotency_key,
                t.amount_minor, t.currency, t.details, t.operation, t.order_ref) f
            WHERE f.outcome = 'replayed' AND f.transaction_id = t.id AND t.order_ref IS NOT NULL}
        ),
        1000,
        "$release: the application replays every key"
    );
    is(
        $node->safe_psql(
            'postgres', qq{$as_app
            SELECT count(*) FROM generate_series(1, 200) g, LATERAL idem_insert('shop.payment', 't', 'k' || g,
                $payment || '{"trace": "another"}') f
            WHERE f.outcome = 'replayed' AND f."row" ->> 'invoice_no' = 'i' || g AND f."row" ->> 'trace' = g::text}
        ),
        200,
        "$release: and every key of the attached table"
    );
    is(sqlstate($node, "$as_app SELECT idem_create_transaction('t', 'k7', 8, 'EUR', '{\"n\": 7.10}', 'pay', 'o7')"), 'ID001',
        "$release: a changed request is refused");
    is(sqlstate($node, qq{$as_app SELECT idem_insert('shop.payment', 't', 'k7', '{"amount": 8, "invoice_no": "i7"}')}),
        'ID001', "$release: in the attached table, too");
    is($node->safe_psql('postgres', "$as_app SELECT outcome FROM idem_create_transaction('t', 'new$release', 7, 'EUR')"),
        'created', "$release: a new key creates a row");
    is(
        $node->safe_psql(
            'postgres',
            qq{$as_app SELECT outcome FROM idem_insert('shop.payment', 't', 'new$release', '{"amount": 7}')}
        ),
        'created',
        "$release: also in the attached table"
    );
    is(sqlstate($node, "$as_app DELETE FROM idem_transactions"), '42501', "$release: the application may not delete");
    return;
}

my @locale = ('--encoding=UTF8', '--locale=C');
my @installs = split /:/, $ENV{oldinstall} // '';
@installs = (undef) unless @installs;
my @nodes = map { PostgreSQL::Test::Cluster->new("server$_", install_path => $installs[$_]) } 0 .. $#installs;
push @nodes, PostgreSQL::Test::Cluster->new('last');

my ($old, @way) = @nodes;
# From release 18 on, initdb switches checksums on; the servers must agree.
my $checksums = $old->pg_version < 18;
$old->init(extra => [@locale]);
$old->start;
fill($old);
for my $new (@way) {
    my $before = probe($old);
    $new->init(extra => [ @locale, $checksums && $new->pg_version >= 18 ? ('--no-data-checksums') : () ]);
    forget_unknown_option($old, $new);
    $old->stop;
    chdir PostgreSQL::Test::Utils::tempdir();
    upgrade($old, $new);
    check($new, $before);
    $old = $new;
}
is(
    $old->safe_psql(
        'dropped', "CREATE EXTENSION idem; SELECT outcome FROM idem_create_transaction('t', 'k', 1000, 'EUR')"
    ),
    'replayed',
    'a ledger left by DROP EXTENSION is adopted'
);
$old->stop;
done_testing();
