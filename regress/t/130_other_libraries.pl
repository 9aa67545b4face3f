# Libraries that must see what is written keep calls from writing without a statement, as soon as they are loaded.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";

use IdemTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = "$FindBin::Bin/../data/other_library.c";
my $folder = PostgreSQL::Test::Utils::tempdir();
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';

# Build the library with these flags; gives its path.
sub build
{
    my ($name, @flags) = @_;
    my $library = "$folder/$name.so";
    my ($compiler, $headers) = map { chomp(my $answer = `$pg_config $_`); $answer } '--cc', '--includedir-server';
    system(split(/ /, $compiler), '-shared', '-fPIC', "-I$headers", @flags, '-o', $library, $source) == 0
        or die "could not build $name";
    return $library;
}

my %library = (citus => build('citus', '-DCITUS'), audit => build('audit'));
my %reason = (
    citus => 'The library citus is loaded.',
    audit => 'A library watches who reads and writes (ExecutorCheckPerms_hook).'
);
my %notice = (citus => 'statement seen', audit => 'check seen');

my $node = new_server('libraries');
my $path = 'SELECT path, reason FROM idem_write_path()';

for my $name (sort keys %library)
{
    my ($out, $err);
    $node->psql(
        'postgres', join('; ', $path, create($name, 'before'), "LOAD '$library{$name}'", $path, create($name, 'after'),
            create($name, 'before')),
        stdout => \$out,
        stderr => \$err
    );
    my $id = '[-0-9a-f]{36}';
    like($out, qr/^direct\|\ncreated\|($id)\nstatement\|\Q$reason{$name}\E\ncreated\|$id\nreplayed\|\g1$/,
        "$name: a session that has written without a statement stops doing so");
    like($err, qr/NOTICE:  $notice{$name}/, "$name: it sees the write");
    unlike($err, qr/ERROR/, "$name: nothing fails");
}

# A library that is none of theirs is not in the way.
is($node->safe_psql('postgres', "LOAD 'plpgsql'; $path"), 'direct|', 'other libraries do not matter');

# Loaded by the server, as Citus and pgaudit ask for.
for my $name (sort keys %library)
{
    $node->append_conf('postgresql.conf', "shared_preload_libraries = '$library{$name}'");
    $node->restart;
    is($node->safe_psql('postgres', $path), "statement|$reason{$name}", "$name: preloaded by the server");
    my ($out, $err);
    $node->psql('postgres', create($name, 'preloaded'), stdout => \$out, stderr => \$err);
    like($out, qr/^created/, "$name: calls work");
    like($err, qr/NOTICE:  $notice{$name}/, "$name: it sees the write");
}

$node->stop;
done_testing();
