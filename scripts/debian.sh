# shellcheck shell=bash disable=SC2154
# How scripts/with-debian makes its systems and keeps them fresh. Source it behind lib.sh; it works on the variables
# cache, release (of PostgreSQL), debian, system (the folder) and log, and runs things by contained() and in_system().

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
days_until_refresh=7

# Prints the mirrors of Debian that apt knows.
apt_mirrors() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "main" && $3 !~ /-/ { print $4 }'
}

# Prints the first mirror that debootstrap can read, too. A list of mirrors in a file stands for its first one.
find_mirror() {
    local uri
    if [ -n "${IDEM_MATRIX_MIRROR:-}" ]; then
        say "$IDEM_MATRIX_MIRROR"
        return
    fi
    has apt-get || die "this system has no apt: name a mirror of Debian in IDEM_MATRIX_MIRROR"
    [ -n "$(apt_mirrors)" ] || apt-get update -qq >&2
    while read -r uri; do
        case $uri in
            mirror+file:*) uri=$(awk '/^http/ { print $1; exit }' "${uri#mirror+file:}") ;;
        esac
        case $uri in
            http:* | https:*) say "$uri"; return ;;
        esac
    done < <(apt_mirrors)
    die "apt uses no mirror of Debian here: name one in IDEM_MATRIX_MIRROR"
}

# Finds the mirror, and makes the proxy that apt uses for it known to debootstrap and to the apt inside.
reach_mirror() {
    local scheme host general='' proxy=''
    mirror=$(find_mirror)
    has apt-config || return 0
    scheme=${mirror%%:*} host=${mirror#*://}
    host=${host%%[:/]*}
    eval "$(apt-config shell general "Acquire::$scheme::Proxy" proxy "Acquire::$scheme::Proxy::$host")"
    proxy=${proxy:-$general}
    case $proxy in
        '') ;;
        DIRECT) unset "${scheme}_proxy" ;;
        *) export "${scheme}_proxy=$proxy" ;;
    esac
}

# Runs apt-get in the system in a folder.
apt_in() { in_system "$1" apt-get -q -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "${@:2}"; }

# Runs steps of the preparation (functions with their arguments, which stand between commas) until one fails. Their
# output goes to the log, of which the end is shown then.
steps() {
    local alive status=0 words=() word
    keep_alive "Debian $debian" {lock}<&- &
    alive=$!
    for word in "$@" ','; do
        if [ "$word" != , ]; then
            words+=("$word")
        elif [ "$status" -eq 0 ]; then
            "${words[@]}" >>"$log" 2>&1 </dev/null || status=$?
            words=()
        fi
    done
    kill "$alive" 2>/dev/null || true
    [ "$status" -eq 0 ] || tail -n 30 "$log" >&2
    return "$status"
}

# Lets no package start a service or create a cluster, and apt believe of the age of lists what the one outside does,
# since the mirror may stand still. Nothing in the system is worth a flush to disk.
configure() {
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod 755 "$1/usr/sbin/policy-rc.d"
    mkdir -p "$1/etc/postgresql-common/createcluster.d"
    say 'create_main_cluster = false' >"$1/etc/postgresql-common/createcluster.d/idem.conf"
    say force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/idem"
    say 'APT::Install-Recommends "false"; Acquire::Languages "none"; Acquire::Retries "3";' >"$1/etc/apt/apt.conf.d/90idem"
    ! has apt-config || apt-config dump | grep -E '^Acquire::Check-(Date|Valid-Until) ' >>"$1/etc/apt/apt.conf.d/90idem" || true
}

# Tells the system how the network is reached now, and which certificates this machine trusts.
copy_network() {
    local certificates=/etc/ssl/certs/ca-certificates.crt
    cp --remove-destination -L /etc/resolv.conf /etc/hosts "$1/etc/"
    [ ! -f "$certificates" ] || [ -e "$1$certificates" ] || install -D -m 644 "$certificates" "$1$certificates"
}

# Installs what the tests need.
fill() {
    apt_in "$1" install "postgresql-$release" "postgresql-server-dev-$release" || return
    in_system "$1" env "PG_CONFIG=/usr/lib/postgresql/$release/bin/pg_config" scripts/setup build installcheck || return
    in_system "$1" apt-get clean
}

# Prints what tells one list of packages from another.
recipe() { cat "$root"/scripts/{setup,lib.sh,debian.sh} | sha256sum; }

# Makes the system, which gets its name when all is in it.
make_system() {
    local script=/usr/share/debootstrap/scripts/$debian
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
    reach_mirror
    say "making a system of Debian $debian in $system, which takes some minutes; the log is $log"
    : >"$log"
    new=$(mktemp -d "$cache/$debian.new.XXXXXX")
    chmod 755 "$new"
    steps contained debootstrap --variant=minbase "--keyring=$keyring" "$debian" "$new" "$mirror" "$script" ||
        die "debootstrap could not make a system of Debian $debian"
    configure "$new"
    copy_network "$new"
    steps apt_in "$new" update , fill "$new" || die "the packages could not be installed"
    recipe >"$new/etc/idem-system"
    mv "$new" "$system"
    new=
}

# Brings new packages into the system. While they come it bears no mark, without which it is not used again. An old
# system serves where there is no network.
refresh_system() {
    reach_mirror
    say "refreshing the system of Debian $debian in $system; the log is $log"
    : >"$log"
    copy_network "$system"
    if ! steps apt_in "$system" update; then
        [ "$(cat "$system/etc/idem-system")" = "$(recipe)" ] || die "the package lists could not be fetched"
        say "the package lists could not be fetched: the system stays as it is"
        return 0
    fi
    rm "$system/etc/idem-system"
    steps apt_in "$system" dist-upgrade , fill "$system" || die "the packages could not be installed"
    recipe >"$system/etc/idem-system"
}

# Makes the system, or refreshes it where it is old or may lack something. One of which that failed is thrown away.
prepare_system() {
    if [ -e "$system" ] && [ ! -e "$system/etc/idem-system" ]; then
        say "throwing away a half-made system of Debian $debian"
        rm -rf "$system"
    fi
    if [ ! -e "$system" ]; then
        make_system
    elif [ "$(cat "$system/etc/idem-system")" != "$(recipe)" ] ||
        [ -n "$(find "$system/etc/idem-system" -mtime "+$days_until_refresh")" ]; then
        refresh_system
    fi
}

# Installs the server of an older release from its own Debian, as it stays on a machine that is upgraded to a newer one.
# Packages of this Debian go first.
install_older() {
    local older=$1 from
    [ ! -x "$system/usr/lib/postgresql/$older/bin/postgres" ] || return 0
    from=$(debian_of "$older")
    reach_mirror
    say "installing the server of PostgreSQL $older, too"
    copy_network "$system"
    rm "$system/etc/idem-system"
    say "deb $mirror $from main" >"$system/etc/apt/sources.list.d/$from.list"
    printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n' "$from" >"$system/etc/apt/preferences.d/$from"
    steps apt_in "$system" update , apt_in "$system" install "postgresql-$older" , apt_in "$system" clean ||
        die "PostgreSQL $older could not be installed"
    recipe >"$system/etc/idem-system"
}

# Puts the server that idem was last installed for in the place of that of the package, which may be another minor
# release: a library that was built for one need not load in an older one.
copy_older() {
    local older=$1 from share target=$system/usr/lib/postgresql/$1 target_share=$system/usr/share/postgresql/$1
    from=$cache/$(debian_of "$older")
    share=$from/usr/share/postgresql/$older from=$from/usr/lib/postgresql/$older
    if is_own_release "$older"; then
        from=$(dirname "$("$pg_config" --bindir)") share=$("$pg_config" --sharedir)
    fi
    [ -e "$from/lib/idem.so" ] || die "idem was never installed for PostgreSQL $older"
    rm -rf "$target" "$target_share"
    cp -a "$from" "$target"
    cp -a "$share" "$target_share"
}
