#!/usr/bin/env bash
# Does the package compile for Android? Type-checks it for aarch64 without the
# NDK: Debian forky's Rust can build the standard library for Android, and a
# check needs no linker. See --help.
set -euo pipefail
# shellcheck source=../scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

usage() {
    cat <<'END'
usage: android/check.sh [--fast] [--refresh]

Type-checks the library for aarch64-linux-android in a Debian forky root, which
it makes once (about 2.5 GB in ~/.cache/convene/forky). Needs root, for chroot
and mounts, and an x86_64 Debian or Ubuntu; exits 77 where it can't run.

  --fast     only type-check; all there is so far
  --refresh  make the Debian root anew, for a newer Rust
END
}

readonly suite=forky
readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/convene"
readonly debian="$cache/$suite"
readonly target="$CARGO_TARGET_DIR/android-check"
# Raise when the steps of make_root change.
readonly recipe=1

skip() {
    say "skipped: android ($*)"
    exit "$SKIPPED"
}

# The mirrors to try: the one that this machine uses for its own Debian, which
# may lack other suites, and the usual one.
mirrors() {
    {
        apt-get indextargets --format "\$(LABEL) \$(COMPONENT) \$(REPO_URI)" "Created-By: Packages" 2>/dev/null |
            sed -n 's|^Debian main \(.*[^/]\)/*$|\1|p' | head -n 1
        say http://deb.debian.org/debian
    } | awk '!seen[$0]++'
}

# Is the root that is there complete and of this recipe?
root_is_ready() { [[ -e $debian/.convene-root && $(<"$debian/.convene-root") == "$recipe" ]]; }

# Makes the Debian root beside its place and moves it there when complete, so
# that a run that was stopped leaves nothing that looks usable.
make_root() {
    local partial=$debian.partial log=$cache/$suite.log scripts=/usr/share/debootstrap/scripts script mirror made=no
    ensure "to make the Debian root" "${needs_for_android[@]}" || skip "debootstrap is missing"
    # debootstrap may be older than the suite's name.
    script=$scripts/$suite
    [[ -e $script ]] || script=$scripts/sid

    say "making a Debian $suite root in $debian (about 2.5 GB, a few minutes, once)"
    rm -rf --one-file-system "$debian"
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
    # shellcheck disable=SC2016 # expanded by the inner shell
    if ! in_root "$partial" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
        /bin/bash -euo pipefail -c '
            apt-get -q update
            apt-get -q install -y --no-install-recommends \
                rustc cargo rust-src lld clang llvm gcc libc6-dev libc6-dev-arm64-cross
            # The C++ headers carry their version in their name.
            cxx=$(apt-cache pkgnames libstdc++- | grep -E "^libstdc\+\+-[0-9]+-dev-arm64-cross$" | sort -V | tail -n 1)
            apt-get -q install -y --no-install-recommends "$cxx"
            apt-get clean
        ' >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "installing Rust in the root failed, the whole of it is in $log"
    fi
    printf '%s\n' "$recipe" >"$partial/.convene-root"
    mv "$partial" "$debian"
}

# in_root ROOT COMMAND...: runs it with /proc, /dev and name resolution. All
# mounts are in a mount namespace of that command's own, so they are gone with
# it however it ends, and nothing that removes ROOT can reach through them.
in_root() {
    local where=$1
    shift
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private /bin/bash -euo pipefail -c '
        where=$1
        shift
        mount --bind /proc "$where/proc"
        mount --bind /dev "$where/dev"
        # Names and certificates as this machine knows them.
        for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
            if [[ -e $file && -e $where$file ]]; then mount --bind "$(realpath "$file")" "$where$file"; fi
        done
        if [[ -n ${BIND_CHECKOUT:-} ]]; then
            mkdir -p "$where/work/convene" "$where/target" "$where/cargo"
            mount --bind "$BIND_CHECKOUT" "$where/work/convene"
            mount -o remount,bind,ro "$where/work/convene"
            mount --bind "$BIND_TARGET" "$where/target"
            mount --bind "$BIND_CARGO" "$where/cargo"
            # Linkers and wrappers that are set up out here are not in there.
            for file in config config.toml; do
                if [[ -e $where/cargo/$file ]]; then mount --bind /dev/null "$where/cargo/$file"; fi
            done
        fi
        exec chroot "$where" "$@"
    ' in_root "$where" "$@"
}

check() {
    local proxies
    export BIND_CHECKOUT=$ROOT BIND_TARGET=$target BIND_CARGO=${CARGO_HOME:-$HOME/.cargo}
    mkdir -p "$BIND_CARGO"
    lock_target
    own_target "$target"
    trap 'built_target "$target"' EXIT
    mapfile -t proxies < <(env | grep -iE '^(http|https|all|no)_proxy=' || true)
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_root "$debian" /usr/bin/env -i "${proxies[@]}" PATH=/usr/sbin:/usr/bin HOME=/root TERM="${TERM:-dumb}" \
        CARGO_HOME=/cargo CARGO_TARGET_DIR=/target \
        CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_PANIC=abort RUSTC_BOOTSTRAP=1 \
        /bin/bash -euo pipefail -c '
            cd /work/convene
            rustc --version
            # Objects made with glibc headers: good enough to be checked, never to be linked.
            headers=/usr/aarch64-linux-gnu/include
            cxx=$(find "$headers/c++" -mindepth 1 -maxdepth 1 | sort -V | tail -n 1)
            c_flags="--target=aarch64-linux-android29 -isystem $headers"
            export CC_aarch64_linux_android=clang CXX_aarch64_linux_android=clang++ AR_aarch64_linux_android=llvm-ar
            export CFLAGS_aarch64_linux_android="$c_flags"
            export CXXFLAGS_aarch64_linux_android="--target=aarch64-linux-android29 -isystem $cxx -isystem $cxx/aarch64-linux-gnu -isystem $headers"
            cargo check --locked --lib --target aarch64-linux-android -Zbuild-std=std,panic_abort
        '
}

# A function, so that bash has read all of this before an edit or a pull while
# it runs can change it.
main() {
    local fast=no refresh=no arg
    for arg in "$@"; do
        case $arg in
            --fast) fast=yes ;;
            --refresh) refresh=yes ;;
            -h | --help)
                usage
                exit
                ;;
            *)
                usage >&2
                exit 2
                ;;
        esac
    done

    [[ $(uname -s) == Linux && $(uname -m) == x86_64 ]] || skip "needs Linux on x86_64"
    [[ $EUID -eq 0 ]] || skip "needs root"
    unshare --mount true 2>/dev/null || skip "mounts are not allowed here, as in most containers"
    if ! have debootstrap && ! have apt-get; then skip "needs debootstrap"; fi
    [[ $fast == yes ]] || say "linking and packing are not written yet: the same as --fast"

    mkdir -p "$cache"
    exec 8>"$cache/$suite.lock"
    flock 8 # another run may be making the root
    if [[ $refresh == yes ]] || ! root_is_ready; then make_root; fi
    flock -s 8 # and a run with --refresh has to wait for this one
    check
}

main "$@"
exit
