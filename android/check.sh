#!/usr/bin/env bash
# Does Convene compile for Android, and does a package come out of it? Checked
# without the NDK, in a Debian root. See --help.
set -euo pipefail
# shellcheck source=../scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=../scripts/debian.sh
source "$ROOT/scripts/debian.sh"

usage() {
    cat <<'END'
usage: android/check.sh [--fast] [--refresh]

Builds the package for Quest with android/build-apk.sh against stand-ins for the
NDK, the SDK and the OpenXR loader, and looks at what came out: what the library
needs and gives, the manifest, alignment, signature. No headset can run it. Does
so in a Debian forky root, which it makes once (about 3 GB in
~/.cache/convene/forky). Needs root, for chroot and mounts, and an x86_64 Debian
or Ubuntu; exits 77 where it can't run.

  --fast     only type-check, with Debian's Rust, which builds the standard
             library for Android
  --refresh  make the Debian root anew, for a newer Rust
END
}

readonly debian="$debian_roots/forky"
readonly target="$CARGO_TARGET_DIR/android-check"
# Raise when what is installed changes.
readonly recipe=2

skip() {
    say "skipped: android ($*)"
    exit "$SKIPPED"
}

# shellcheck disable=SC2016 # expanded by the shell in the root
readonly install='
    apt-get -q update
    apt-get -q install -y --no-install-recommends \
        rustc cargo rust-src lld clang llvm gcc libc6-dev libc6-dev-arm64-cross \
        aapt zipalign apksigner android-framework-res default-jre-headless zip unzip
    # The C++ headers carry their version in their name.
    cxx=$(apt-cache pkgnames libstdc++- | grep -E "^libstdc\+\+-[0-9]+-dev-arm64-cross$" | sort -V | tail -n 1)
    apt-get -q install -y --no-install-recommends "$cxx"
    apt-get clean
'

# in_debian [OPTION-OF-IN_ROOT...] -- VARIABLE=VALUE... COMMAND...: runs it in the
# root, with this checkout as /work/convene (not to be written to), the target
# folder as /target and what cargo has downloaded.
in_debian() {
    local proxies binds=() cargo_home=${CARGO_HOME:-$HOME/.cargo}
    while [[ $1 != -- ]]; do
        binds+=("$1")
        shift
    done
    shift
    mkdir -p "$cargo_home"
    mapfile -t proxies < <(env | grep -iE '^(http|https|all|no)_proxy=' || true)
    # Linkers and wrappers that cargo is set up with out here are not in there.
    in_root --bind-read-only "$ROOT" /work/convene --bind "$target" /target --bind "$cargo_home" /cargo \
        --empty /cargo/config --empty /cargo/config.toml "${binds[@]}" \
        "$debian" /usr/bin/env -i "${proxies[@]}" HOME=/root TERM="${TERM:-dumb}" \
        CARGO_HOME=/cargo CARGO_TARGET_DIR=/target CARGO_INCREMENTAL=0 "$@"
}

type_check() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_debian -- PATH=/usr/sbin:/usr/bin CARGO_PROFILE_DEV_PANIC=abort RUSTC_BOOTSTRAP=1 \
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

# With this machine's Rust, as people build it, where it has or gets the standard
# library for Android; else with Debian's, which builds that library.
package() {
    local sysroot
    sysroot=$(android_sysroot)
    if [[ -n $sysroot ]]; then
        in_debian --bind-read-only "$sysroot" /toolchain -- PATH=/toolchain/bin:/usr/sbin:/usr/bin \
            CONVENE_TARGET_LOCKED=yes /work/convene/android/check-apk.sh
    else
        say "no standard library for Android can be had for this Rust: Debian's Rust builds it"
        in_debian -- PATH=/usr/sbin:/usr/bin RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=std,panic_unwind \
            CONVENE_TARGET_LOCKED=yes /work/convene/android/check-apk.sh
    fi
}

# Where this machine's Rust is, if it can build for Android.
android_sysroot() {
    local sysroot library=lib/rustlib/aarch64-linux-android/lib
    have rustc || return 0
    sysroot=$(cd "$ROOT" && rustc --print sysroot) || return 0
    if [[ ! -d $sysroot/$library ]] && have rustup; then
        (cd "$ROOT" && rustup target add aarch64-linux-android >/dev/null 2>&1) || true
    fi
    [[ ! -d $sysroot/$library ]] || say "$sysroot"
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
    REFRESH=$refresh use_root forky "$recipe" "3 GB" "$install"
    lock_target
    own_target "$target"
    trap 'built_target "$target"' EXIT
    if [[ $fast == yes ]]; then type_check; else package; fi
}

main "$@"
exit
