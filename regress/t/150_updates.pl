# Every released version is updated to this one, and from there to a next one that the test makes up: rows, keys, grants
# and sessions go on, and the extension ends as a fresh installation has it. H52, H73

use strict;
use warnings;

use File::Basename;
use File::Copy;
use File::Path;
use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $scripts = "$FindBin::Bin/../../sql";
my @released = slurp_file("$scripts/released.sha256") =~ /  idem--([^-]+)\.sql$/mg;
my ($current) = slurp_file("$FindBin::Bin/../../idem.control") =~ /^default_version = '(.*)'$/m;

# All that the extension consists of, and all that is said about it, without OIDs, as a function of the session.
my $snapshot = q{
CREATE FUNCTION pg_temp.snapshot() RETURNS TABLE (object text, property text, value text) LANGUAGE sql AS $$
  WITH member AS (
    SELECT d.classid, d.objid, (pg_identify_object(d.classid, d.objid, d.objsubid)).identity AS object
    FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE e.extname = 'idem' AND d.deptype = 'e')
  SELECT m.object, v.property, v.value FROM member m, LATERAL (
    SELECT 'comment', obj_description(m.objid, m.classid::regclass::text::name)
    UNION ALL SELECT 'function', pg_get_functiondef(p.oid) FROM pg_proc p
      WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid
    UNION ALL SELECT 'function ' || k, f FROM pg_proc p, jsonb_each_text(to_jsonb(p)
        - '{oid,prosrc,prorettype,proargtypes,proallargtypes,proargdefaults}'::text[]) j (k, f)
      WHERE m.classid = 'pg_proc'::regclass AND p.oid = m.objid AND k NOT LIKE '%arg%'
    UNION ALL SELECT 'label ' || enumsortorder, enumlabel FROM pg_enum
      WHERE m.classid = 'pg_type'::regclass AND enumtypid = m.objid
    UNION ALL SELECT 'type', concat_ws(' ', typowner::regrole, typtype, typacl) FROM pg_type
      WHERE m.classid = 'pg_type'::regclass AND oid = m.objid
    UNION ALL SELECT 'relation', concat_ws(' ', relowner::regrole, relkind, relacl, relpersistence, relrowsecurity,
        reloptions)
      FROM pg_class WHERE m.classid = 'pg_class'::regclass AND oid = m.objid
    UNION ALL SELECT 'view', pg_get_viewdef(oid) FROM pg_class
      WHERE m.classid = 'pg_class'::regclass AND oid = m.objid AND relkind = 'v'
    UNION ALL SELECT 'column ' || a.attnum, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        a.attcollation::regcollation, a.attidentity, a.attgenerated, a.attacl, pg_get_expr(d.adbin, d.adrelid),
        col_description(a.attrelid, a.attnum))
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE m.classid = 'pg_class'::regclass AND a.attrelid = m.objid AND a.attnum > 0
    UNION ALL SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
      WHERE m.classid = 'pg_class'::regclass AND conrelid = m.objid
    UNION ALL SELECT 'index', pg_get_indexdef(indexrelid) FROM pg_index
      WHERE m.classid = 'pg_class'::regclass AND indrelid = m.objid
    UNION ALL SELECT 'trigger ' || tgenabled::text, pg_get_triggerdef(oid) FROM pg_trigger
      WHERE m.classid = 'pg_class'::regclass AND tgrelid = m.objid
    UNION ALL SELECT 'policy ' || polname, concat_ws(' ', polcmd, polpermissive, polroles::regrole[],
        pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
      FROM pg_policy WHERE m.classid = 'pg_class'::regclass AND polrelid = m.objid
    UNION ALL SELECT 'event trigger', concat_ws(' ', evtowner::regrole, evtevent, evtfoid::regprocedure, evtenabled,
        evttags)
      FROM pg_event_trigger WHERE m.classid = 'pg_event_trigger'::regclass AND oid = m.objid) v (property, value)
  UNION ALL
  SELECT 'extension', v.property, v.value FROM pg_extension e, LATERAL (VALUES ('version', e.extversion),
    ('owner', e.extowner::regrole::text), ('schema', e.extnamespace::regnamespace::text),
    ('configuration', e.extconfig::regclass[]::text), ('conditions', e.extcondition::text),
    ('comment', obj_description(e.oid, 'pg_extension'))) v (property, value)
  WHERE e.extname = 'idem';
$$;};

# What differs between the extension as it is in a database and a fresh one of that version, a line each. Afterwards the
# database has the fresh one.
sub differences
{
    my ($node, $dbname, $version) = @_;
    my $lines = $node->safe_psql(
        $dbname, qq{
        SET client_min_messages = warning;
        $snapshot
        SELECT idem_grant('app');
        CREATE TEMP TABLE updated AS SELECT * FROM pg_temp.snapshot();
        DROP EXTENSION idem;
        CREATE EXTENSION idem VERSION '$version';
        SELECT idem_grant('app');
        CREATE TEMP TABLE fresh AS SELECT * FROM pg_temp.snapshot();
        SELECT 'compared ' || (count(*) > 100) FROM fresh;
        SELECT 'only updated', * FROM (TABLE updated EXCEPT ALL TABLE fresh) d
        UNION ALL SELECT 'only fresh', * FROM (TABLE fresh EXCEPT ALL TABLE updated) d ORDER BY 1, 2, 3, 4;}
    );
    $lines =~ s/^\n*compared true\n?//m or die "too little was compared: $lines";
    return $lines;
}

# Install a version with data, update it while a session has calls prepared, and compare.
sub walk
{
    my ($node, $from, $to) = @_;
    my $db = "$from to $to";
    my $sql = sub { return $node->safe_psql($db, 'SET client_min_messages = warning;' . $_[0]) };
    $node->safe_psql('postgres', qq{CREATE DATABASE "$db"});
    $sql->(qq{CREATE EXTENSION idem VERSION '$from'; SELECT idem_grant('app')});
    $sql->(
        q{SELECT count(f.outcome) FROM generate_series(1, 100) g, LATERAL idem_create_transaction('t' || g % 3, 'n' || g,
            g, 'EUR', jsonb_build_object('n', g / 3.0), order_ref => CASE WHEN g % 2 = 0 THEN 'n' || g END) f}
    );
    my $attaches = $sql->(q{SELECT count(*) FROM pg_proc WHERE proname = 'idem_attach'});
    $sql->(
        q{CREATE TABLE payment (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), tenant_id text NOT NULL,
            operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea, amount int,
            UNIQUE (tenant_id, operation, idempotency_key));
        SELECT idem_attach('payment')}
    ) if $attaches;
    my $pay = q{SELECT outcome FROM idem_insert('payment', 't', 'k', '{"amount": 1}', 'pay')};
    is($sql->($pay), 'created', "$db: a table is attached") if $attaches;

    my $session = $node->background_psql($db, on_error_stop => 0);
    $session->query('SET ROLE app');
    $session->query(
        q{PREPARE make (text, bigint) AS SELECT outcome, amount_minor, details, order_ref
            FROM idem_create_transaction('t1', $1, $2, 'EUR', '{"n": 1.50}', order_ref => 'o-' || $1)}
    );
    $session->query(
        q{PREPARE try (text, bigint) AS SELECT outcome
            FROM idem_try_create_transaction('t1', $1, $2, 'EUR', '{"n": 1.50}', order_ref => 'o-' || $1)}
    );
    is($session->query(q{EXECUTE make ('k1', 1)}), 'created|1|{"n": 1.50}|o-k1', "$db: a session creates");

    my $rows = q{SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM idem_transactions t};
    my $before = $sql->($rows);
    $sql->("ALTER EXTENSION idem UPDATE TO '$to'");

    is($sql->($rows), $before, "$db: not a row was touched");
    is($session->query(q{EXECUTE make ('k1', 1)}), 'replayed|1|{"n": 1.50}|o-k1', "$db: the session's call replays");
    is($session->query(q{EXECUTE try ('k1', 2)}), 'conflict', "$db: a changed request is found");
    is($session->query(q{EXECUTE try ('k2', 2)}), 'created', "$db: a new key creates, with the rights from before");
    $session->quit;
    is(
        $sql->(
            q{SELECT f.outcome, f.transaction_id = t.id, count(*) FROM idem_transactions t,
                LATERAL idem_create_transaction(t.tenant_id, t.idempotency_key, t.amount_minor, t.currency, t.details,
                    t.operation, t.order_ref) f GROUP BY 1, 2}
        ),
        'replayed|t|102',
        "$db: every key replays its own row"
    );
    is(
        $sql->(
            q{SELECT count(*) FROM idem_transactions
                WHERE request_hash <> idem_fingerprint(amount_minor, currency, details, operation, order_ref)}
        ),
        0,
        "$db: every fingerprint is what it would be today"
    );
    is($sql->($pay), 'replayed', "$db: and so is the attached table's") if $attaches;
    is(differences($node, $db, $to), '', "$db: the extension is as a fresh one");
    return;
}

# A copy of the server's installation which takes further scripts of the extension: a server finds its files from where
# its programs are. Gives its prefix and the folder of the scripts.
sub copied_installation
{
    my $root = PostgreSQL::Test::Utils::tempdir() . '/installation';
    my %folder;
    for my $name (qw(bindir sharedir pkglibdir))
    {
        my ($out, $err) = run_command([ 'pg_config', "--$name" ]);
        $folder{$name} = $out;
        File::Path::make_path("$root$out");
    }
    for my $file (map { glob "$_/*" } @folder{qw(sharedir pkglibdir)})
    {
        symlink $file, "$root$file" unless $file eq "$folder{sharedir}/extension" || -e "$root$file";
    }
    File::Path::make_path("$root$folder{sharedir}/extension");
    symlink $_, "$root$_" for glob "$folder{sharedir}/extension/*";
    for my $file (glob "$folder{bindir}/*")
    {
        # The others find no files, or find them through these.
        if (basename($file) =~ /^(postgres|initdb|pg_ctl)$/)
        {
            File::Copy::cp($file, "$root$file") or die "could not copy $file: $!";
        }
        else { symlink $file, "$root$file"; }
    }
    return ($root . dirname($folder{bindir}), "$root$folder{sharedir}/extension");
}

# Write a further script of the extension.
sub write_script
{
    my ($folder, $name, @text) = @_;
    open my $handle, '>', "$folder/idem--$name.sql" or die "could not write idem--$name.sql: $!";
    print $handle @text;
    close $handle;
    return;
}

ok(scalar(grep { $_ ne $current } @released), 'there is a release before this version');

my $node = PostgreSQL::Test::Cluster->new('current');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE app');
is(
    $node->safe_psql(
        'postgres', qq{SELECT string_agg(source, ' ' ORDER BY source COLLATE "C") FROM pg_extension_update_paths('idem')
            WHERE target = '$current' AND path IS NOT NULL AND source IN ('} . join(q{', '}, @released) . q{')}
    ),
    join(' ', sort grep { $_ ne $current } @released),
    'every release has a way to this version'
);
walk($node, $_, $current) for grep { $_ ne $current } @released;
$node->stop;

# The next version replaces a function, adds an object of each usual kind, and says so of them.
my $guard = qq{\\echo Use "ALTER EXTENSION idem UPDATE" to load this file. \\quit\n};
my $change = q{
CREATE OR REPLACE FUNCTION idem_version() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT text ''next''';
CREATE TABLE idem_next (number int PRIMARY KEY, note text COLLATE "C" NOT NULL DEFAULT '');
SELECT pg_catalog.pg_extension_config_dump('idem_next', '');
GRANT SELECT ON idem_next TO PUBLIC;
CREATE FUNCTION idem_next_number() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
REVOKE ALL ON FUNCTION idem_next_number() FROM PUBLIC;
};
my $comment = "COMMENT ON FUNCTION idem_next_number() IS 'the next number';\n";

my ($prefix, $folder) = copied_installation();
my $whole = slurp_file("$folder/idem--$current.sql");
write_script($folder, 'next', $whole, $change, $comment);
write_script($folder, "$current--next", $guard, $change, $comment);
write_script($folder, 'forgotten', $whole, $change, $comment);
write_script($folder, "$current--forgotten", $guard, $change);

my $next = PostgreSQL::Test::Cluster->new('next', install_path => $prefix);
$next->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$next->start;
$next->safe_psql('postgres', 'CREATE ROLE app');
walk($next, $_, 'next') for sort { $a cmp $b } keys %{ { map { $_ => 1 } @released, $current } };

# The comparison is worth something only where it finds the one line that an update forgot.
$next->safe_psql('postgres', "CREATE EXTENSION idem VERSION '$current'; ALTER EXTENSION idem UPDATE TO 'forgotten'");
is(
    differences($next, 'postgres', 'forgotten'),
    "only fresh|public.idem_next_number()|comment|the next number\nonly updated|public.idem_next_number()|comment|",
    'a line that an update forgot is found'
);
$next->stop;
done_testing();
