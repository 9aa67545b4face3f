# A database with the ledger is dumped and restored in every usual way: not one error or warning, and every key goes on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump');
my $directory = PostgreSQL::Test::Utils::tempdir();

# A ledger with 1000 rows and with what users add to it: an index, a trigger, a foreign key on it, privileges.
my $users_own = q{
    CREATE TABLE payments (
        tenant_id text COLLATE "C", transaction_id uuid, PRIMARY KEY (tenant_id, transaction_id),
        FOREIGN KEY (tenant_id, transaction_id) REFERENCES idem_transactions (tenant_id, id));
    CREATE TABLE seen (idempotency_key text);
    CREATE FUNCTION note_key() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO public.seen VALUES (NEW.idempotency_key); RETURN NULL; END';
    CREATE TRIGGER note_key AFTER INSERT ON idem_transactions FOR EACH ROW EXECUTE FUNCTION note_key();
    CREATE INDEX newest_first ON idem_transactions (tenant_id, created_at DESC) INCLUDE (amount_minor);
    GRANT SELECT ON idem_transactions TO auditor;
    GRANT INSERT ON seen TO app;
};
$node->safe_psql(
    'postgres', qq{
    CREATE ROLE installer SUPERUSER LOGIN;
    CREATE ROLE other_admin SUPERUSER LOGIN;
    CREATE ROLE app LOGIN;
    CREATE ROLE auditor;
    CREATE DATABASE source;}
);
$node->safe_psql(
    'source', qq{
    SET ROLE installer;
    CREATE EXTENSION idem;
    SELECT idem_grant('app');
    $users_own
    SELECT count(f.outcome) FROM generate_series(1, 1000) g,
        LATERAL idem_create_transaction('t' || g % 7, 'k' || g, g, 'EUR',
            jsonb_build_object('n', g * 1.50, 'text', repeat(chr(8364), g % 50), 'list', '[1, 2.0, null]'::jsonb),
            order_ref => CASE WHEN g % 3 = 0 THEN 'o' || g END) f;
    INSERT INTO payments SELECT tenant_id, id FROM idem_transactions;}
);

# What must come back: rows, what hangs on the ledger, privileges. Owners are looked at where they are kept.
my %probes = (
    rows => q{SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM idem_transactions t},
    hashes => q{SELECT count(*) FROM idem_transactions
        WHERE request_hash = idem_fingerprint(amount_minor, currency, details, operation, order_ref)},
    indexes => q{SELECT indexdef FROM pg_indexes WHERE tablename = 'idem_transactions' ORDER BY 1},
    constraints => q{SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE 'idem_transactions'::regclass IN (conrelid, confrelid) ORDER BY 1},
    triggers => q{SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = 'idem_transactions'::regclass AND NOT tgisinternal},
    privileges => q{SELECT r, p, has_table_privilege(r, 'idem_transactions', p)
        FROM unnest(ARRAY['app', 'auditor']) r,
            unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) p ORDER BY 1, 2},
    membership => q{SELECT count(*) FROM pg_depend WHERE classid = 'pg_class'::regclass
        AND objid = 'idem_transactions'::regclass AND deptype = 'e'},
    comment => q{SELECT obj_description('idem_transactions'::regclass)}
);

sub probe
{
    my ($dbname) = @_;
    return { map { $_ => $node->safe_psql($dbname, $probes{$_}) } keys %probes };
}

my $source = probe('source');
like($source->{rows}, qr/^1000\|/, 'the source has its rows');
like($source->{hashes}, qr/^1000$/, 'and the fingerprints of them');
my @keys = map { [ split /\|/ ] } split /\n/,
    $node->safe_psql('source',
    'SELECT tenant_id, idempotency_key, id FROM idem_transactions ORDER BY amount_minor LIMIT 10');

# Run a command that must succeed without a word.
sub silent
{
    my ($name, @command) = @_;
    my ($out, $err) = ('', '');
    my $ok = IPC::Run::run(\@command, '<', \'', '>', \$out, '2>', \$err);
    ok($ok, "$name succeeds");
    is($err, '', "$name gives no error and no warning");
    return;
}

sub dump_to
{
    my ($file, @options) = @_;
    silent("pg_dump @options", 'pg_dump', '-f', "$directory/$file", @options, $node->connstr('source'));
    return;
}

sub restore_script
{
    my ($dbname, $file) = @_;
    silent(
        "psql of $file into $dbname",
        'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', "$directory/out", '-f', "$directory/$file", '-d',
        $node->connstr($dbname)
    );
    return;
}

sub restore_archive
{
    my ($dbname, $file, @options) = @_;
    silent(
        "pg_restore @options of $file into $dbname",
        'pg_restore', '--exit-on-error', @options, '-d', $node->connstr($dbname), "$directory/$file"
    );
    return;
}

# The restored database is as the source, and the promise holds in it.
sub check_restored
{
    my ($dbname, %option) = @_;
    is_deeply(probe($dbname), $source, "$dbname: rows, hashes, objects and privileges are those of the source")
        unless $option{partly};
    is(
        $node->safe_psql($dbname, "SELECT relowner::regrole FROM pg_class WHERE oid = 'idem_transactions'::regclass"),
        $option{owner} // 'installer', "$dbname: the ledger has the right owner"
    );
    my $replays = join ';', map {
        "SELECT f.outcome, f.transaction_id = '$_->[2]' FROM idem_transactions t, LATERAL idem_create_transaction("
            . 't.tenant_id, t.idempotency_key, t.amount_minor, t.currency, t.details, t.operation, t.order_ref) f '
            . "WHERE t.tenant_id = '$_->[0]' AND t.idempotency_key = '$_->[1]'"
    } @keys;
    is($node->safe_psql($dbname, $replays), join("\n", ('replayed|t') x 10),
        "$dbname: keys from before replay with their ids");
    is(
        sqlstate(
            $node, "SELECT * FROM idem_create_transaction('$keys[0][0]', '$keys[0][1]', 999999, 'EUR')",
            dbname => $dbname
        ),
        'ID001',
        "$dbname: a changed request is refused"
    );
    is(
        $node->safe_psql(
            $dbname,
            "SET ROLE app; SELECT outcome, transaction_id > ALL (SELECT id FROM idem_transactions) "
                . "FROM idem_create_transaction('t1', 'new', 1, 'EUR')"
        ),
        'created|t',
        "$dbname: the application creates a new key, whose id is greater than all"
    );
    # H54
    is(
        $node->safe_psql(
            $dbname, "SET search_path = ''; SELECT outcome FROM public.idem_create_transaction('t1', 'new', 1, 'EUR')"
        ),
        'replayed',
        "$dbname: and replays it with an empty search_path"
    );
    is($node->safe_psql($dbname, "SELECT count(*) FROM seen WHERE idempotency_key = 'new'"), 1,
        "$dbname: the user's trigger works");
    return;
}

sub fresh
{
    my ($dbname) = @_;
    $node->safe_psql('postgres', "CREATE DATABASE $dbname TEMPLATE template0");
    return $dbname;
}

# H50: every format.
dump_to('plain.sql');
restore_script(fresh('plain'), 'plain.sql');
check_restored('plain');

dump_to('custom.dump', '-Fc');
restore_archive(fresh('custom'), 'custom.dump');
check_restored('custom');
restore_archive(fresh('one_transaction'), 'custom.dump', '--single-transaction');
check_restored('one_transaction');
restore_archive(fresh('parallel_custom'), 'custom.dump', '-j4');
check_restored('parallel_custom');

dump_to('directory', '-Fd', '-j4');
restore_archive(fresh('parallel'), 'directory', '-j4');
check_restored('parallel');

dump_to('inserts.sql', '--inserts', '--rows-per-insert=100');
restore_script(fresh('inserts'), 'inserts.sql');
check_restored('inserts');

# Over what is there already, and over nothing.
dump_to('clean.sql', '--clean', '--if-exists');
restore_script('custom', 'clean.sql');
check_restored('custom');
restore_script(fresh('clean'), 'clean.sql');
check_restored('clean');
restore_archive('parallel', 'custom.dump', '--clean', '--if-exists');
check_restored('parallel');

# H54: the data alone, into a database where the extension is installed; and schema and data one after the other.
dump_to('ledger.sql', '--data-only', '-t', 'idem_transactions');
$node->safe_psql(fresh('data_only'), "SET ROLE installer; CREATE EXTENSION idem; SELECT idem_grant('app'); $users_own");
restore_script('data_only', 'ledger.sql');
check_restored('data_only');
dump_to('schema.sql', '--schema-only');
dump_to('data.dump', '--data-only', '-Fc');
restore_script(fresh('two_steps'), 'schema.sql');
restore_archive('two_steps', 'data.dump', '--disable-triggers');
check_restored('two_steps');

# Another superuser restores, with and without the old owner.
restore_archive(fresh('no_owner'), 'custom.dump', '--no-owner', '-U', 'other_admin');
check_restored('no_owner', owner => 'other_admin');
restore_archive(fresh('with_owner'), 'custom.dump', '-U', 'other_admin');
check_restored('with_owner');
restore_archive(fresh('no_privileges'), 'custom.dump', '--no-privileges', '-U', 'other_admin');
$node->safe_psql('no_privileges',
    "SELECT idem_grant('app'); GRANT SELECT ON idem_transactions TO auditor; GRANT INSERT ON seen TO app");
check_restored('no_privileges');

# H51: the ledger that DROP EXTENSION left behind is dumped like any other table, and adopted where it is restored.
$node->safe_psql(fresh('dropped'), 'SELECT 1');
restore_archive('dropped', 'custom.dump');
$node->safe_psql('dropped', 'DROP EXTENSION idem CASCADE');
like($node->safe_psql('dropped', $probes{rows}), qr/^1000\|/,
    'DROP EXTENSION CASCADE leaves the ledger with every row');
silent('pg_dump without the extension', 'pg_dump', '-f', "$directory/left.sql", $node->connstr('dropped'));
restore_script(fresh('adopted'), 'left.sql');
is($node->safe_psql('adopted', "SELECT count(*) FROM pg_extension WHERE extname = 'idem'"), 0,
    'the extension is not in that dump');
$node->safe_psql('adopted', "SET ROLE installer; CREATE EXTENSION idem; SELECT idem_grant('app')");
check_restored('adopted');

$node->stop;
done_testing();
