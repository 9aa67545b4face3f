# Many sessions insert one fresh key into an attached table at the same moment, whatever further unique keys it has. H82

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use Test::More;

my $sessions = 8;
my $node = new_server('attached', conf => "max_connections = 50\n");
make_barrier($node, $sessions);

my $columns = q{tenant_id text NOT NULL, operation text NOT NULL, idempotency_key text NOT NULL, request_hash bytea,
    invoice_no text, label text};
my $scope = 'UNIQUE (tenant_id, operation, idempotency_key)';
$node->safe_psql(
    'postgres', qq{
    CREATE TABLE answers (session int, round int, outcome idem_outcome, row jsonb);
    -- The unique keys stand before the scope's and behind it: the server looks at them in the order of their making.
    CREATE TABLE plain (id bigserial PRIMARY KEY, $columns, UNIQUE (invoice_no), $scope, UNIQUE (label));
    CREATE TABLE with_id (id bigint PRIMARY KEY, $columns, UNIQUE (invoice_no), $scope);
    CREATE TABLE excluding (id bigserial PRIMARY KEY, $columns, EXCLUDE (invoice_no WITH =), $scope);
    CREATE TABLE filled (id bigserial PRIMARY KEY, $columns, UNIQUE (label), $scope);
    CREATE TABLE computed (id bigserial PRIMARY KEY, $columns,
        number text GENERATED ALWAYS AS ('n' || idempotency_key) STORED UNIQUE, $scope);
    CREATE UNIQUE INDEX ON computed (lower(invoice_no));
    CREATE TABLE parts (id bigint, $columns, $scope) PARTITION BY HASH (tenant_id);
    CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
    CREATE UNIQUE INDEX ON parts_0 (invoice_no);
    CREATE FUNCTION fill_in() RETURNS trigger LANGUAGE plpgsql AS \$\$
    BEGIN
        NEW.label := 'label of ' || NEW.idempotency_key;
        RETURN NEW;
    END \$\$;
    CREATE TRIGGER fill_in BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION fill_in();
    SELECT idem_attach(t::regclass) FROM unnest('{plain,with_id,excluding,filled,computed,parts}'::text[]) t;}
);

for my $case (
    [ 'plain', 500, q{'invoice_no', 'i' || :round, 'label', 'l' || :round} ],
    [ 'with_id', 150, q{'invoice_no', 'i' || :round, 'id', :round} ],
    [ 'excluding', 100, q{'invoice_no', 'i' || :round} ],
    [ 'filled', 200, q{'invoice_no', 'i' || :round} ],
    [ 'computed', 150, q{'invoice_no', 'I' || :round} ],
    [ 'parts', 150, q{'invoice_no', 'i' || :round, 'id', :round} ])
{
    my ($table, $rounds, $row) = @$case;
    my ($exit, $output) = race(
        $node, $sessions, $rounds, qq{
        SELECT outcome, "row"->>'invoice_no' AS invoice
            FROM idem_insert('$table', 't', 'k' || :round, jsonb_build_object($row), 'op') \\gset
        INSERT INTO answers VALUES (:client_id, :round, ':outcome', to_jsonb(':invoice'::text));
    }
    );
    is($exit, 0, "$table: no session fails");
    unlike($output, qr/ERROR|error:/, "$table: no error, so no 23505") or diag($output);
    is(
        $node->safe_psql(
            'postgres', q{
            SELECT count(*), min(created), max(created), min(replayed), max(replayed), max(rows)
            FROM (SELECT count(*) FILTER (WHERE outcome = 'created') AS created,
                    count(*) FILTER (WHERE outcome = 'replayed') AS replayed, count(DISTINCT row) AS rows
                FROM answers GROUP BY round) r}
        ),
        join('|', $rounds, 1, 1, $sessions - 1, $sessions - 1, 1),
        "$table: in every round one session creates, and the others replay"
    );
    is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT idempotency_key) FROM $table"),
        "$rounds|$rounds", "$table: one row for each round");

    # A new key with an invoice that is taken.
    my ($out, $err) = ('', '');
    my $taken = $row =~ s/:round/1/gr;
    $node->psql('postgres', "SELECT idem_insert('$table', 't', 'new', jsonb_build_object($taken), 'op')",
        stdout => \$out, stderr => \$err, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
    if ($table eq 'filled')
    {
        is($err, '', "$table: a new key creates, where its trigger fills in a value of its own");
    }
    else
    {
        like($err, $table eq 'excluding' ? qr/ERROR:  23P01/ : qr/ERROR:  23505/, "$table: a clash of a new key is one");
        like($err, qr/CONSTRAINT NAME:  ${table}\w*_(?:invoice_no\w*|pkey|lower_idx)\n/, '... that names the constraint');
        is($node->safe_psql('postgres', "SELECT count(*) FROM $table WHERE idempotency_key = 'new'"),
            0, '... and stores nothing');
    }
    $node->safe_psql('postgres', 'TRUNCATE answers');
}

# Two keys that race for one invoice, round after round: one creates, the others are told of the clash.
{
    my $rounds = 100;
    $node->safe_psql(
        'postgres', q{
        TRUNCATE plain;
        CREATE FUNCTION claim(session int, round int) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
            RETURN (SELECT outcome FROM idem_insert('plain', 't', format('k%s-%s', session, round),
                jsonb_build_object('invoice_no', 'i' || round), 'op'));
        EXCEPTION WHEN OTHERS THEN
            RETURN SQLSTATE;
        END $$}
    );
    my ($exit, $output) = race(
        $node, $sessions, $rounds, q{
        SELECT claim(:client_id, :round) AS outcome \gset
        INSERT INTO answers (session, round, row) VALUES (:client_id, :round, to_jsonb(':outcome'::text));
    }
    );
    is($exit, 0, 'different keys for one invoice: no session fails');
    is(
        $node->safe_psql(
            'postgres', q{
            SELECT string_agg(DISTINCT answers, ' / ') FROM (SELECT string_agg(row #>> '{}', ' ' ORDER BY row DESC) AS answers
            FROM answers GROUP BY round) r}
        ),
        join(' ', 'created', ('23505') x ($sessions - 1)),
        '... and in every round one creates, and the others get 23505'
    );
}

$node->stop;
done_testing();
