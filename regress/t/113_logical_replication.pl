# The ledger is replicated to another server, which takes over: keys replay there as they did before.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $publisher = new_server('publisher', allows_streaming => 'logical');
my $subscriber = new_server('subscriber', allows_streaming => 'logical');

# On both sides: the role of the application, its rights, and the wall between tenants.
for my $node ($publisher, $subscriber)
{
    $node->safe_psql('postgres', "CREATE ROLE app LOGIN; SELECT idem_grant('app'); SELECT idem_enable_tenant_isolation()");
}

# One call of the application, for tenant `t`: outcome and id, or the SQLSTATE.
sub app_call
{
    my ($node, $key, $amount, $order) = @_;
    my $sql = 'SELECT outcome, transaction_id FROM idem_create_transaction('
        . "'t', '$key', $amount, 'EUR', '{\"n\": 1.50}', order_ref => "
        . (defined $order ? "'$order'" : 'NULL') . ')';
    my ($out, $err) = ('', '');
    start_psql($node, "SET idem.tenant_id = 't'; SET ROLE app; $sql", \$out, \$err)->finish;
    chomp $out;
    return $err =~ /ERROR:  (\w{5})/ ? $1 : $out;
}

my %id;
for my $n (1 .. 5)
{
    (undef, $id{"copied $n"}) = split /\|/, app_call($publisher, "copied $n", $n, $n % 2 ? "copied $n" : undef);
}
$publisher->safe_psql(
    'postgres', q{
    SELECT count(f.outcome) FROM generate_series(1, 1000) g,
        LATERAL idem_create_transaction('u' || g % 7, 'k' || g, g, 'EUR', jsonb_build_object('n', g / 3.0)) f}
);
$publisher->safe_psql('postgres', 'CREATE PUBLICATION idem_pub FOR TABLE idem_transactions');
my $source = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION idem_sub CONNECTION '$source' PUBLICATION idem_pub");
$subscriber->wait_for_subscription_sync($publisher, 'idem_sub');

# Rows that come while the subscription runs; one whose transaction ends late, and one that is undone.
for my $n (1 .. 5)
{
    (undef, $id{"streamed $n"}) = split /\|/, app_call($publisher, "streamed $n", $n, $n % 2 ? "streamed $n" : undef);
}
my $late = $publisher->background_psql('postgres');
$late->query('BEGIN');
$id{late} = $late->query("SELECT transaction_id FROM idem_create_transaction('t', 'late', 1, 'EUR', '{\"n\": 1.50}')");
$publisher->safe_psql('postgres', 'BEGIN; ' . create('t', 'undone') . '; ROLLBACK');
is(app_call($publisher, 'streamed 1', 1, 'streamed 1'), "replayed|$id{'streamed 1'}", 'a replay on the publisher');
$late->query('COMMIT');
$late->quit;

# The switch: no more calls there, everything applied here, and the subscription is gone.
$publisher->safe_psql('postgres', 'ALTER SYSTEM SET default_transaction_read_only = on');
$publisher->reload;
$publisher->poll_query_until('postgres', 'SHOW default_transaction_read_only', 'on') or die 'still writing';
is(app_call($publisher, 'too late', 1), '25006', 'the old primary takes no more calls');
$publisher->wait_for_catchup('idem_sub');
my $rows = q{SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM idem_transactions t};
is($subscriber->safe_psql('postgres', $rows), $publisher->safe_psql('postgres', $rows),
    'every row is the same, fingerprints included');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION idem_sub');

is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), 1011, 'all rows are there');
is(
    $subscriber->safe_psql(
        'postgres', q{SELECT count(*) FROM idem_transactions
            WHERE request_hash <> idem_fingerprint(amount_minor, currency, details, operation, order_ref)}
    ),
    0,
    'and every fingerprint is that of its row'
);
for my $key (sort keys %id)
{
    my ($n) = $key =~ /(\d)$/;
    $n //= 1;
    my $order = $key ne 'late' && $n % 2 ? $key : undef;
    is(app_call($subscriber, $key, $n, $order), "replayed|$id{$key}", "key '$key' replays on the subscriber");
}
is(app_call($subscriber, 'copied 1', 2, 'copied 1'), 'ID001', 'a changed request is refused');
is(app_call($subscriber, 'other', 1, 'streamed 1'), 'ID003', 'an order that is taken is refused');
like(app_call($subscriber, 'undone', 1), qr/^created\|/, 'what was undone is created');
like(app_call($subscriber, 'new', 1, 'new'), qr/^created\|/, 'and so is a new key');
like(app_call($subscriber, 'new', 1, 'new'), qr/^replayed\|/, 'which replays');

$publisher->stop;
$subscriber->stop;
done_testing();
