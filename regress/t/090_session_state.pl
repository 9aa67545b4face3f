# Sessions from a pool: what one of them keeps must not outlive what it was made from.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $node = new_server('sessions');

# The outcome of a call in the session, or the SQLSTATE of its error.
sub outcome
{
    my ($session, $tenant, $key) = @_;
    my $out = $session->query(
        "SELECT outcome FROM idem_create_transaction('$tenant', '$key', 1000, 'EUR', order_ref => '$key')");
    my ($state) = $session->{stderr} =~ /ERROR:  (\w{5})$/m;
    $session->{stderr} = '';
    return $state // $out;
}

sub session
{
    my $session = $node->background_psql('postgres', on_error_stop => 0);
    $session->query('\set VERBOSITY sqlstate');
    $session->{stderr} = '';
    return $session;
}

# What poolers do between two clients.
{
    my $session = session();
    is(outcome($session, 'pool', 'k'), 'created', 'a call works');
    $session->query('SET idem.busy_timeout = 0');
    for my $reset ('DISCARD ALL', 'DISCARD PLANS', 'DISCARD TEMP', 'RESET ALL', 'DEALLOCATE ALL', 'ROLLBACK',
        'CLOSE ALL')
    {
        $session->query($reset);
        $session->{stderr} = '';
        is(outcome($session, 'pool', 'k'), 'replayed', "a key replays after $reset");
        is(outcome($session, 'pool', $reset), 'created', "and a new one creates after $reset");
    }
    is($session->query('SHOW idem.busy_timeout'), -1, 'DISCARD ALL reset the setting');
    $session->query('BEGIN; SET LOCAL idem.busy_timeout = 0; COMMIT');
    is($session->query('SHOW idem.busy_timeout'), -1, 'SET LOCAL ends with the transaction');
    $session->quit;
}

# The extension goes and comes back; the ledger, and with it every key, stays.
{
    my $session = session();
    $session->query_safe(
        q{CREATE FUNCTION wrapper(key text) RETURNS text LANGUAGE plpgsql AS $$
          BEGIN RETURN (SELECT outcome FROM idem_create_transaction('wrapper', key, 1000, 'EUR')); END $$;
          PREPARE by_name AS SELECT outcome::text FROM idem_create_transaction('prepared', 'k', 1000, 'EUR');}
    );
    is(outcome($session, 'gone', 'k'), 'created', 'a call works');
    is($session->query("SELECT wrapper('k')"), 'created', 'in a function, too');
    is($session->query('EXECUTE by_name'), 'created', 'and as a prepared statement');
    for my $round (1, 2)
    {
        $node->safe_psql('postgres', 'DROP EXTENSION idem');
        is(outcome($session, 'gone', 'k'), '42883', 'without the extension there is no function');
        $node->safe_psql('postgres', 'CREATE EXTENSION idem');
        is(outcome($session, 'gone', 'k'), 'replayed', 'with it again the key replays');
        is(outcome($session, 'gone', "k$round"), 'created', 'and a new one creates');
        is($session->query("SELECT wrapper('k')"), 'replayed', 'in a function, too');
        is($session->query('EXECUTE by_name'), 'replayed', 'and as a prepared statement');
    }
    $session->quit;
}

# The ledger moves to where the extension is not, and to another owner.
{
    my $session = session();
    $node->safe_psql('postgres', 'CREATE ROLE stranger; CREATE SCHEMA elsewhere');
    is(outcome($session, 'moved', 'k'), 'created', 'a call works');
    for my $change (
        [
            'ALTER TABLE public.idem_transactions SET SCHEMA elsewhere',
            'ALTER TABLE elsewhere.idem_transactions SET SCHEMA public'
        ],
        [
            'ALTER TABLE public.idem_transactions OWNER TO stranger',
            'ALTER TABLE public.idem_transactions OWNER TO CURRENT_USER'
        ],
        [
            'ALTER TABLE public.idem_transactions ALTER details TYPE json',
            'ALTER TABLE public.idem_transactions ALTER details TYPE jsonb'
        ],
        [
            'ALTER TABLE public.idem_transactions ALTER hash_version DROP NOT NULL',
            'ALTER TABLE public.idem_transactions ALTER hash_version SET NOT NULL'
        ]
        )
    {
        my ($there, $back) = @$change;
        is(outcome($session, 'moved', 'k'), 'replayed', 'a key replays');
        $node->safe_psql('postgres', $there);
        is(outcome($session, 'moved', 'k'), '55000', "it is refused after $there");
        $node->safe_psql('postgres', $back);
    }
    is(outcome($session, 'moved', 'k'), 'replayed', 'and replays when all is as before');
    $session->quit;
}

$node->stop;
done_testing();
