# What docs/monitoring offers fits the server and itself: queries run with the rights that the guide gives, return the
# metrics that they name, and alerts and dashboard use no others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = "$FindBin::Bin/../../docs";
my $node = PostgreSQL::Test::Cluster->new('monitoring');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'idem'\n");
$node->start;
$node->safe_psql(
    'postgres', q{
    CREATE SCHEMA idem;
    CREATE EXTENSION idem SCHEMA idem;
    CREATE ROLE watcher LOGIN;
    GRANT pg_monitor TO watcher;
    GRANT USAGE ON SCHEMA idem TO watcher;
    ALTER ROLE watcher SET search_path = idem;
    CREATE DATABASE gone1;
    CREATE DATABASE gone2});

# Two databases that were dropped, so that rows of both have no name.
for my $database (qw(gone1 gone2))
{
    $node->safe_psql($database, 'CREATE EXTENSION idem; ' . create('t', 'k'));
    $node->safe_psql('postgres', "DROP DATABASE $database");
}
$node->safe_psql('postgres', 'SET search_path = idem; ' . create('t', 'k') . ' UNION ALL ' . create('t', 'k2'));

# The rows of a query, as the exporter's role gets them: a list of names, and lists of values.
sub rows
{
    my ($sql) = @_;
    my $out;
    my $result = $node->psql('postgres', $sql, stdout => \$out, extra_params => [ '-U', 'watcher', '-P', 'tuples_only=off', '-P', 'footer=off' ]);
    my ($names, @rows) = map { [ split /\|/, $_, -1 ] } split /\n/, $out;
    return ($result, $names, @rows);
}

# The simple layout of the file is all that this understands.
my (%query, %usage, $set, $metric);
my $part = '';
for (split /\n/, slurp_file("$docs/monitoring/postgres_exporter.yaml"))
{
    if (/^(\w+):$/) { $set = $1 }
    elsif (/^  (\w+):/) { $part = $1 }
    elsif ($part eq 'query') { $query{$set} .= "$_\n" }
    elsif (/^    - (\w+):$/) { $metric = $1 }
    elsif (/^        usage: "(\w+)"$/) { $usage{$set}{$metric} = $1 }
}
is(join(' ', sort keys %query), 'idem idem_blocked idem_wait', 'there are three queries');

my $holder = $node->background_psql('postgres');
$holder->query_safe('SET search_path = idem; BEGIN; ' . create('t', 'held'));
my ($out, $err) = ('', '');
my $waiter = start_psql($node, 'SET search_path = idem; ' . create('t', 'held'), \$out, \$err);
# Of several statements in one string the activity shows all.
wait_until_blocked($node, '%idem_create_transaction%') or die 'the call does not wait';

my %known;
for my $name (sort keys %query)
{
    my ($result, $columns, @rows) = rows($query{$name});
    is($result, 0, "query $name runs");
    is(join(' ', sort @$columns), join(' ', sort keys %{ $usage{$name} }), "query $name returns what it names");
    cmp_ok(scalar(@rows), '>', 0, "query $name finds something");
    my (@labels, %seen);
    for my $i (0 .. $#$columns)
    {
        if ($usage{$name}{ $columns->[$i] } eq 'LABEL')
        {
            push @labels, $i;
            next;
        }
        $known{"${name}_$columns->[$i]"} = 1;
        is(scalar(grep { $_->[$i] !~ /^\d+(\.\d+)?(e[-+]\d+)?$/ } @rows), 0, "query $name has numbers in $columns->[$i]");
    }
    ++$seen{ join '|', @$_[@labels] } for @rows;
    is(scalar(grep { $_ > 1 } values %seen), 0, "query $name has each set of labels once");
}
$holder->query_safe('COMMIT');
$waiter->finish;
$holder->quit;

my ($result, $columns, @rows) = rows("SELECT * FROM ($query{idem}) AS q WHERE calls_total > 0 ORDER BY 1, 2, 3");
is(
    join(' ', map { join '|', @$_ } @rows),
    '|create-transaction|created|2 postgres|create-transaction|created|3 postgres|create-transaction|replayed|1',
    'the metrics are the counters'
);

# Alerts and dashboard.
my $dashboard = slurp_file("$docs/monitoring/grafana.json");
my $parsed = eval { decode_json($dashboard) };
ok($parsed, 'the dashboard is JSON') or diag($@);
my @expressions = map { map { $_->{expr} } @{ $_->{targets} } } @{ $parsed->{panels} };
cmp_ok(scalar(@expressions), '>=', 6, 'with panels that show something');
my $alerts = slurp_file("$docs/monitoring/alerts.yaml");
my @used = (join("\n", @expressions) . $dashboard . $alerts) =~ /\b(idem_[a-z]+_[a-z_]+)\b/g;
my @unknown = grep { !$known{$_} && $_ !~ /^idem_(stats|log_outcomes)$/ } @used;
is(join(' ', @unknown), '', 'alerts and dashboard use metrics that exist');
my %used = map { $_ => 1 } @used;
is(join(' ', grep { !$used{$_} } sort keys %known), '', 'and all of them');

# The rest of the guide: its query runs, too.
my $guide = slurp_file("$docs/monitoring.md");
my @selects = $guide =~ /```sql\n(SELECT.*?;)\n```/sg;
is(scalar(@selects), 1, 'the guide has a query of its own');
is((rows($_))[0], 0, 'which runs') for @selects;

$node->stop;
done_testing();
