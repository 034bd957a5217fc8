#!/usr/bin/env bash
# Does the package compile for Android? Type-checks it for aarch64 without the
# NDK: Debian forky's Rust can build the standard library for Android, and a
# check needs no linker. See --help.
set -euo pipefail
# shellcheck source=../scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=../scripts/debian.sh
source "$ROOT/scripts/debian.sh"

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

readonly debian="$debian_roots/forky"
readonly target="$CARGO_TARGET_DIR/android-check"
# Raise when what is installed changes.
readonly recipe=1

skip() {
    say "skipped: android ($*)"
    exit "$SKIPPED"
}

# shellcheck disable=SC2016 # expanded by the shell in the root
readonly install='
    apt-get -q update
    apt-get -q install -y --no-install-recommends \
        rustc cargo rust-src lld clang llvm gcc libc6-dev libc6-dev-arm64-cross
    # The C++ headers carry their version in their name.
    cxx=$(apt-cache pkgnames libstdc++- | grep -E "^libstdc\+\+-[0-9]+-dev-arm64-cross$" | sort -V | tail -n 1)
    apt-get -q install -y --no-install-recommends "$cxx"
    apt-get clean
'

check() {
    local proxies cargo_home=${CARGO_HOME:-$HOME/.cargo}
    mkdir -p "$cargo_home"
    lock_target
    own_target "$target"
    trap 'built_target "$target"' EXIT
    mapfile -t proxies < <(env | grep -iE '^(http|https|all|no)_proxy=' || true)
    # Linkers and wrappers that cargo is set up with out here are not in there.
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_root --bind-read-only "$ROOT" /work/convene --bind "$target" /target --bind "$cargo_home" /cargo \
        --empty /cargo/config --empty /cargo/config.toml \
        "$debian" /usr/bin/env -i "${proxies[@]}" PATH=/usr/sbin:/usr/bin HOME=/root TERM="${TERM:-dumb}" \
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

    need_roots
    [[ $fast == yes ]] || say "linking and packing are not written yet: the same as --fast"

    REFRESH=$refresh use_root forky "$recipe" "2.5 GB" "$install"
    check
}

main "$@"
exit
