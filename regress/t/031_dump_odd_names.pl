# Dump and restore where names need quoting, and the ledger has policies.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('odd');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $schema = q{"Odd; schema's ""name"" %s $1"};
my $role = q{"Odd role's ""name"""};

# Dump one database and restore it into another; neither says a word.
sub copy_database
{
    my ($from, $to, @dump_options) = @_;
    my ($out, $err) = ('', '');
    $node->safe_psql('postgres', "CREATE DATABASE $to TEMPLATE template0");
    ok(
        IPC::Run::run(
            [ 'pg_dump', @dump_options, '-f', "$directory/dump", $node->connstr($from) ], '<', \'', '>', \$out, '2>',
            \$err
        ),
        "$from is dumped @dump_options"
    );
    is($err, '', 'without a warning');
    ok(
        IPC::Run::run(
            [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$directory/dump", '-d', $node->connstr($to) ],
            '<', \'', '>', \$out, '2>', \$err
        ),
        "and restored into $to"
    );
    is($err, '', 'without an error or a warning');
    return;
}

sub replay
{
    my ($dbname) = @_;
    return $node->safe_psql($dbname,
        "SELECT outcome, transaction_id FROM $schema.idem_create_transaction('t', 'k', 1000, 'EUR')");
}

$node->safe_psql('postgres', "CREATE ROLE $role; CREATE ROLE app; CREATE DATABASE source");
$node->safe_psql('source',
          "CREATE SCHEMA $schema; CREATE EXTENSION idem SCHEMA $schema; SELECT $schema.idem_grant(rolname) "
        . "FROM pg_roles WHERE rolname LIKE 'Odd%'");
my $first = replay('source') =~ s/created/replayed/r;

copy_database('source', 'odd');
is(replay('odd'), $first, 'a key replays in a schema with an odd name');
is(
    $node->safe_psql(
        'odd', "SET ROLE $role; SELECT outcome FROM $schema.idem_create_transaction('t', 'new', 1000, 'EUR')"
    ),
    'created',
    'and a role with an odd name creates a new one'
);
$node->safe_psql('odd', 'DROP EXTENSION idem');
copy_database('odd', 'left_behind');
$node->safe_psql('left_behind', "CREATE EXTENSION idem SCHEMA $schema");
is(replay('left_behind'), $first, 'the ledger that was left there is adopted');

# Row security of the user's, in dumps that keep it switched off and in those that leave it on.
$node->safe_psql(
    'source', qq{
    ALTER TABLE $schema.idem_transactions ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own_tenant ON $schema.idem_transactions USING (tenant_id = current_setting('app.tenant', true));}
);
for my $option ('--no-sync', '--enable-row-security')
{
    my $dbname = $option =~ /enable/ ? 'policies_on' : 'policies_off';
    copy_database('source', $dbname, $option);
    is(replay($dbname), $first, "a key replays after $option");
    is(
        $node->safe_psql(
            $dbname, "SET ROLE $role; SET app.tenant = 't'; SELECT count(*) FROM $schema.idem_transactions"
        ),
        1,
        'the policy shows the rows of its tenant'
    );
    is(
        $node->safe_psql(
            $dbname, "SET ROLE $role; SET app.tenant = 'u'; SELECT count(*) FROM $schema.idem_transactions"
        ),
        0,
        'and no others'
    );
}

$node->stop;
done_testing();
