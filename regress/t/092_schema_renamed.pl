# The schema of the extension gets another name while a session has its plans, and another schema may take the old one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $node = new_server('schemas');
$node->safe_psql('postgres',
    'DROP EXTENSION idem; DROP TABLE idem_transactions; CREATE SCHEMA one; CREATE EXTENSION idem SCHEMA one');
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query('\set VERBOSITY sqlstate');
$session->{stderr} = '';

# The outcome of a call in the session, or the SQLSTATE of its error.
sub outcome
{
    my ($schema, $key) = @_;
    my $out = $session->query(
        "SELECT outcome FROM $schema.idem_create_transaction('t', '$key', 1000, 'EUR', order_ref => '$key')");
    my ($state) = $session->{stderr} =~ /ERROR:  (\w{5})$/m;
    $session->{stderr} = '';
    return $state // $out;
}

is(outcome('one', 'k'), 'created', 'a call works');
$node->safe_psql('postgres', 'ALTER SCHEMA one RENAME TO two');
is(outcome('two', 'k'), 'replayed', 'the key replays under the new name of the schema');
is(outcome('two', 'k2'), 'created', 'and a new one creates');

# The old name is taken by a schema with a table that has the name of the ledger.
$node->safe_psql('postgres', 'CREATE SCHEMA one; CREATE TABLE one.idem_transactions (LIKE two.idem_transactions)');
is(outcome('two', 'k2'), 'replayed', 'whatever has the old name now');
$node->safe_psql(
    'postgres', q{
    BEGIN;
    ALTER SCHEMA one RENAME TO three;
    ALTER SCHEMA two RENAME TO one;
    ALTER SCHEMA three RENAME TO two;
    COMMIT;}
);
is(outcome('one', 'k2'), 'replayed', 'and when two schemas swap their names');
is(outcome('one', 'k3'), 'created', 'a new key creates');
is($node->safe_psql('postgres', 'SELECT count(*) FROM two.idem_transactions'), 0, 'the other table stays empty');
is($node->safe_psql('postgres', 'SELECT count(*) FROM one.idem_transactions'), 3, 'and every key is in the ledger');
$session->quit;

$node->stop;
done_testing();
