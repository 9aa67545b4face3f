# One session changes its role, and others change what that role may do: each call obeys the state of its moment. H63

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $node = new_server('roles');
$node->safe_psql(
    'postgres', q{
    CREATE ROLE app;
    SELECT idem_grant('app');
    CREATE POLICY own_tenant ON idem_transactions TO app
        USING (tenant_id = current_setting('app.tenant', true))
        WITH CHECK (tenant_id = current_setting('app.tenant', true));}
);

my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query('\set VERBOSITY sqlstate');
$session->{stderr} = '';

# Run the SQL in the session; gives its output, or the SQLSTATE of its error.
sub run
{
    my ($sql) = @_;
    my $out = $session->query($sql);
    my ($state) = $session->{stderr} =~ /ERROR:  (\w{5})$/m;
    $session->{stderr} = '';
    return $state // $out;
}

sub outcome
{
    my ($tenant, $key, $amount) = @_;
    $amount //= 1000;
    return run("SELECT outcome FROM idem_create_transaction('$tenant', '$key', $amount, 'EUR')");
}

sub change
{
    my ($sql) = @_;
    $node->safe_psql('postgres', $sql);
    return;
}

is(outcome('t1', 'k'), 'created', 'a superuser creates');
is(outcome('t2', 'k'), 'created', 'for another tenant, too');
run("SET app.tenant = 't1'");
run('SET ROLE app');
is(outcome('t2', 'k'), 'replayed', 'without row security the role replays for any tenant');

change('ALTER TABLE idem_transactions ENABLE ROW LEVEL SECURITY');
is(outcome('t1', 'k'), 'replayed', 'with it, it replays for its own tenant');
is(outcome('t1', 'k2'), 'created', 'and creates');
is(outcome('t2', 'k'), '42501', 'a key of another tenant is refused');
is(outcome('t2', 'k', 999), '42501', 'whatever is sent with it');
is(outcome('t2', 'new'), '42501', 'and so is a new one');
run("SET app.tenant = 't2'");
is(outcome('t2', 'k'), 'replayed', 'the tenant is that of the moment');
is(outcome('t1', 'k'), '42501', 'for both of them');
run('SET row_security = off');
is(outcome('t2', 'k'), '42501', 'row_security = off does not open the ledger');
run('SET row_security = on');
run('RESET ROLE');
is(outcome('t1', 'k'), 'replayed', 'the superuser sees every tenant');
is(outcome('t2', 'by superuser'), 'created', 'and creates for every tenant');
run('SET ROLE app');
is(outcome('t2', 'by superuser'), 'replayed', 'the role replays that');
is(outcome('t1', 'k'), '42501', 'and is kept to its tenant again');

change('REVOKE INSERT ON idem_transactions FROM app');
is(outcome('t2', 'k'), '42501', 'without INSERT nothing is replayed');
change('GRANT INSERT ON idem_transactions TO app');
is(outcome('t2', 'k'), 'replayed', 'with it again it is');
change('REVOKE SELECT ON idem_transactions FROM app');
is(outcome('t2', 'k'), '42501', 'the same goes for SELECT');
change('GRANT SELECT ON idem_transactions TO app');
is(outcome('t2', 'k'), 'replayed', 'with it again the key replays');

change('DROP POLICY own_tenant ON idem_transactions');
is(outcome('t2', 'k'), '42501', 'without any policy row security refuses');
change('ALTER TABLE idem_transactions DISABLE ROW LEVEL SECURITY');
is(outcome('t1', 'k'), 'replayed', 'and once it is off every tenant is open again');
$session->quit;

is(
    $node->safe_psql(
        'postgres',
        'SELECT string_agg(tenant_id || \':\' || idempotency_key, \',\' ORDER BY created_at) FROM idem_transactions'
    ),
    't1:k,t2:k,t1:k2,t2:by superuser',
    'nothing else was stored'
);

$node->stop;
done_testing();
