# shellcheck shell=bash
# What the scripts share: where things are, what has to be installed, and the
# folder that cargo builds in.
# Sourced, never run: the caller has said `set -euo pipefail`.
# shellcheck disable=SC2034 # what is defined here is used there

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly ROOT

# One target folder for every checkout, outside of all of them: the first build
# of Bevy takes most of half an hour and would otherwise be paid per clone.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/convene/target}"

# What a skipped stage exits with, as automake's and meson's tests do.
readonly SKIPPED=77

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
    warn "error: $*"
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
in_ci() { [[ ${CI:-} == true ]]; }

# A shell that was open while rustup installed doesn't know its folder yet.
have cargo || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

# --- installing -----------------------------------------------------------

# May this user install packages here?
can_install() { have apt-get && { [[ $EUID -eq 0 ]] || have sudo; }; }

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif [[ -t 0 ]]; then
        sudo "$@"
    else
        sudo -n "$@" # nobody is there to type a password
    fi
}

apt_updated=no

# apt_install PACKAGE...: fails, and says so, when they can't be had.
apt_install() {
    can_install || return 1
    say "installing: $*"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
    if [[ $apt_updated == no ]]; then
        # One broken source of many is no reason to stop: the install decides.
        as_root "${apt[@]}" update >/dev/null || warn "apt-get update had errors, going on"
        apt_updated=yes
    fi
    as_root "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null
}

has_library() {
    local cache
    cache=$(PATH="$PATH:/usr/sbin:/sbin" ldconfig -p 2>/dev/null) || cache=
    [[ $cache == *"$1 "* ]]
}

has_lavapipe() { [[ -n $(lavapipe_manifest) ]]; }

# The path of the manifest that makes the Vulkan loader use the CPU.
lavapipe_manifest() {
    local file
    for file in /usr/share/vulkan/icd.d/lvp_icd*.json /usr/local/share/vulkan/icd.d/lvp_icd*.json; do
        if [[ -e $file ]]; then
            say "$file"
            return
        fi
    done
}

# Each need is 'how to see that it is there | Debian package'. Nothing is
# installed that is there already, whatever package it came from.
needs_to_build=(
    "have cc|gcc"
    "[[ -e /usr/include/stdlib.h ]]|libc6-dev"
)
# Winit and wgpu open these when the program starts.
needs_to_show=(
    "has_library libvulkan.so.1|libvulkan1"
    "has_library libX11.so.6|libx11-6"
    "has_library libX11-xcb.so.1|libx11-xcb1"
    "has_library libXcursor.so.1|libxcursor1"
    "has_library libXi.so.6|libxi6"
    "has_library libXrandr.so.2|libxrandr2"
    "has_library libxkbcommon.so.0|libxkbcommon0"
    "has_library libxkbcommon-x11.so.0|libxkbcommon-x11-0"
    "has_library libwayland-client.so.0|libwayland-client0"
)
# A display and a Vulkan device where there is neither screen nor GPU.
needs_without_screen=(
    "have Xvfb|xvfb"
    "have xvfb-run|xvfb"
    "have xauth|xauth"
    "has_lavapipe|mesa-vulkan-drivers"
)
needs_to_test=("have xdotool|xdotool")
needs_to_lint=("have shellcheck|shellcheck")
needs_for_networks=("have ip|iproute2")

# missing NEED...: the packages of the needs that are not met, once each.
missing() {
    local need
    for need in "$@"; do
        eval "${need%|*}" || say "${need##*|}"
    done | sort -u
}

# ensure WHAT-FOR NEED...: installs what is missing. Fails, and names the
# packages, when something stays missing; what that means is up to the caller.
ensure() {
    local purpose=$1 packages
    shift
    mapfile -t packages < <(missing "$@")
    [[ ${#packages[@]} -gt 0 ]] || return 0
    apt_install "${packages[@]}" || true
    mapfile -t packages < <(missing "$@")
    [[ ${#packages[@]} -eq 0 ]] && return 0
    warn "missing $purpose (Debian's names): ${packages[*]}"
    return 1
}

# Rust at least as new as Cargo.toml asks for.
ensure_cargo() {
    local wanted found
    if ! have cargo && have apt-cache && apt-cache show rustup >/dev/null 2>&1; then
        if apt_install rustup; then rustup default stable; fi
    fi
    wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$ROOT/Cargo.toml")
    have cargo || die "Rust is missing. Install $wanted or newer with rustup (https://rustup.rs), then run this again."
    found=$(cargo --version) || die "cargo does not start. Try: rustup default stable"
    found=${found#cargo }
    found=${found%%[ -]*}
    if [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) != "$wanted" ]]; then
        die "Rust $found is too old, Convene needs $wanted. Try: rustup update stable"
    fi
}

# --- the target folder ----------------------------------------------------

# One run at a time in the target folder: runs of several checkouts would
# otherwise replace each other's programs between building and testing.
# Held by this process on descriptor 9, so start what may outlive it with 9>&-.
lock_target() {
    mkdir -p "$CARGO_TARGET_DIR"
    # A script that was started by one that holds the lock, or no such tool.
    if [[ ${CONVENE_TARGET_LOCKED:-} == yes ]] || ! have flock; then return 0; fi
    exec 9>"$CARGO_TARGET_DIR/.convene-lock"
    if ! flock -n 9; then
        say "waiting for another run in $CARGO_TARGET_DIR"
        flock 9
    fi
}

# own_target FOLDER: makes cargo rebuild this package (not its dependencies)
# unless this checkout was the last to build in FOLDER. Cargo names a package's
# artefacts alike in every checkout and judges them by the sources' times alone,
# so a checkout that is older than another's build would test the other's code.
own_target() {
    local stamp=$1/.convene-checkout
    mkdir -p "$1"
    # Built here without these scripts, and so from nobody knows where?
    if [[ ! -e $stamp || $(<"$stamp") != "$ROOT" || -n $(own_fingerprints "$1" -newer "$stamp" -print -quit) ]]; then
        own_fingerprints "$1" -prune -exec rm -rf {} +
    fi
    printf '%s\n' "$ROOT" >"$stamp"
}

# Says that what was built in FOLDER since own_target is this checkout's.
built_target() { touch "$1/.convene-checkout"; }

# FOLDER is a profile's (debug) or holds those of several targets.
own_fingerprints() { find "$1" -maxdepth 4 -path '*/.fingerprint/convene-*' "${@:2}"; }
