# Many sessions create distinct keys at once and wait for no twin: idem.busy_timeout strikes nobody, even with 0.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my ($sessions, $seconds) = (32, 5);
my $node = new_server('busy_load', conf => "max_connections = 60\nidem.busy_timeout = 0\n");
is($node->safe_psql('postgres', 'SHOW idem.busy_timeout'), 0, 'nobody may wait for a twin');

# Rows of about 10 kB, which make the sessions queue for new pages of the table, of its indexes and of its TOAST table.
my $script = q{
    \set n :n + 1
    SELECT outcome FROM idem_create_transaction('load', 'k' || :client_id || '-' || :n, 1, 'EUR',
        (SELECT jsonb_build_object('x', string_agg(md5(:client_id || '-' || :n || '-' || g), ''))
            FROM generate_series(1, 320) g));
};
my ($exit, $output) = run_pgbench($node, $script, '-c', $sessions, '-j', 4, '-T', $seconds, '-D', 'n=0');
is($exit, 0, 'no session fails');
unlike($output, qr/ERROR|error:/, 'nor gets an error') or diag(substr($output, 0, 2000));
my ($calls) = $output =~ /transactions actually processed: (\d+)/;
cmp_ok($calls // 0, '>', 20 * $sessions, 'there were many calls');
is($node->safe_psql('postgres', 'SELECT count(*) FROM idem_transactions'), $calls, 'and each of them made its row');
my $width = $node->safe_psql('postgres', 'SELECT min(octet_length(details::text)) FROM idem_transactions');
cmp_ok($width, '>', 10_000, 'which is wide');

# The same with an order_ref, and on a ledger that has a further unique key.
$node->safe_psql('postgres', q{CREATE UNIQUE INDEX ON idem_transactions (tenant_id, (details->>'n'))});
my $ordered = q{
    \set n :n + 1
    SELECT outcome FROM idem_create_transaction('ordered', 'k' || :client_id || '-' || :n, 1, 'EUR',
        jsonb_build_object('n', :client_id || '-' || :n), order_ref => 'o' || :client_id || '-' || :n);
};
($exit, $output) = run_pgbench($node, $ordered, '-c', $sessions, '-j', 4, '-T', 2, '-D', 'n=0');
is($exit, 0, 'with further unique keys no session fails');
unlike($output, qr/ERROR|error:/, 'nor gets an error') or diag(substr($output, 0, 2000));

$node->stop;
done_testing();
