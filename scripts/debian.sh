# shellcheck shell=bash
# Debian roots of newer suites than this machine's, made once and kept outside
# the checkout: android/check.sh and scripts/test-xr work in one each.
# Sourced after lib.sh, never run. The caller has `skip REASON...`, which ends
# it as a skipped stage.
# shellcheck disable=SC2034 # what is defined here is used there

readonly debian_roots="${XDG_CACHE_HOME:-$HOME/.cache}/convene"
needs_for_roots=(
    "have debootstrap|debootstrap"
    "[[ -e /usr/share/keyrings/debian-archive-keyring.gpg ]]|debian-archive-keyring"
)

# Skips where no root can be made or entered.
need_roots() {
    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || skip "needs Linux on x86_64"
    [[ $EUID -eq 0 ]] || skip "needs root"
    unshare --mount true 2>/dev/null || skip "mounts are not allowed here, as in most containers"
    if ! have debootstrap && ! have apt-get; then skip "needs debootstrap"; fi
}

# use_root SUITE RECIPE SIZE INSTALL: makes the root of that suite unless it is
# there as RECIPE (raised whenever INSTALL changes) describes it, and locks it
# until this process ends, so that nobody replaces it. INSTALL is what bash runs
# in it once. $REFRESH=yes makes it anew.
use_root() {
    local place=$debian_roots/$1
    mkdir -p "$debian_roots"
    exec 8>"$place.lock"
    flock 8 # another run may be making the root
    if [[ ${REFRESH:-} == yes ]] || ! root_is_ready "$place" "$2"; then make_root "$@"; fi
    flock -s 8 # and a run that makes it anew has to wait for this one
}

# Is the root that is there complete and of this recipe?
root_is_ready() { [[ -e $1/.convene-root && $(<"$1/.convene-root") == "$2" ]]; }

# The mirrors to try: the one that this machine uses for its own Debian, which
# may lack other suites, and the usual one.
mirrors() {
    {
        apt-get indextargets --format "\$(LABEL) \$(COMPONENT) \$(REPO_URI)" "Created-By: Packages" 2>/dev/null |
            sed -n 's|^Debian main \(.*[^/]\)/*$|\1|p' | head -n 1
        say http://deb.debian.org/debian
    } | awk '!seen[$0]++'
}

# Makes the Debian root beside its place and moves it there when complete, so
# that a run that was stopped leaves nothing that looks usable.
make_root() {
    local suite=$1 described=$2 size=$3 steps=$4
    local place=$debian_roots/$suite log=$debian_roots/$suite.log
    local partial=$place.partial scripts=/usr/share/debootstrap/scripts script mirror made=no
    ensure "to make the Debian root" "${needs_for_roots[@]}" || skip "debootstrap is missing"
    # debootstrap may be older than the suite's name.
    script=$scripts/$suite
    [[ -e $script ]] || script=$scripts/sid

    say "making a Debian $suite root in $place (about $size, a few minutes, once)"
    rm -rf --one-file-system "$place"
    for mirror in $(mirrors); do
        rm -rf --one-file-system "$partial"
        mkdir -p "$partial"
        debootstrap --variant=minbase --include=ca-certificates "$suite" "$partial" "$mirror" "$script" \
            >"$log" 2>&1 && made=yes && break
        tail -n 5 "$log" >&2
    done
    [[ $made == yes ]] || die "debootstrap failed, the whole of it is in $log"
    # The mirror and the proxy are this machine's, so are the rules for them.
    apt-config dump 2>/dev/null | grep -E '^Acquire::(Check-Valid-Until|Check-Date|https?::Proxy) ' \
        >"$partial/etc/apt/apt.conf.d/90host" || true
    if ! in_root "$partial" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
        /bin/bash -euo pipefail -c "$steps" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "installing packages in the root failed, the whole of it is in $log"
    fi
    printf '%s\n' "$described" >"$partial/.convene-root"
    mv "$partial" "$place"
}

# in_root [--bind FROM TO | --bind-read-only FROM TO | --empty FILE]... ROOT COMMAND...:
# runs it with /proc, /dev and name resolution, and FROM seen as TO, or nothing
# in FILE. All mounts are in a mount namespace of that command's own, so they are
# gone with it however it ends, and nothing that removes ROOT can reach through
# them.
in_root() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private /bin/bash -euo pipefail -c '
        binds=()
        while [[ $1 == --* ]]; do
            case $1 in
                --bind | --bind-read-only) binds+=("$1" "$2" "$3"); shift 3 ;;
                --empty) binds+=("$1" /dev/null "$2"); shift 2 ;;
                *) exit 2 ;;
            esac
        done
        where=$1
        shift
        mount --bind /proc "$where/proc"
        mount --bind /dev "$where/dev"
        # Names and certificates as this machine knows them.
        for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
            if [[ -e $file && -e $where$file ]]; then mount --bind "$(realpath "$file")" "$where$file"; fi
        done
        for ((i = 0; i < ${#binds[@]}; i += 3)); do
            from=${binds[i + 1]} to=$where${binds[i + 2]}
            if [[ ${binds[i]} == --empty ]]; then
                if [[ -e $to ]]; then mount --bind "$from" "$to"; fi
                continue
            fi
            mkdir -p "$to"
            mount --bind "$from" "$to"
            if [[ ${binds[i]} == --bind-read-only ]]; then mount -o remount,bind,ro "$to"; fi
        done
        exec chroot "$where" "$@"
    ' in_root "$@"
}
