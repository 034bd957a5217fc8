#!/usr/bin/env bash
# Builds the package for a Quest: library, loader, package, signature. Checks all
# that it needs first. See --help and docs/quest.md.
set -euo pipefail
if ((BASH_VERSINFO[0] < 5)); then
    printf '%s\n' "error: this needs bash 5, and this is $BASH_VERSION. On macOS: brew install bash" >&2
    exit 1
fi
# shellcheck source=../scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=package.sh
source "$ROOT/android/package.sh"

usage() {
    cat <<END
usage: android/build-apk.sh [options]

Builds Convene for Quest 2, Pro, 3 and 3S: an APK, to be installed with adb or
SideQuest. Says first what is missing, all of it, and where to get it.

  --ndk DIR            the Android NDK, r$least_ndk or newer. Else \$ANDROID_NDK_HOME,
                       \$ANDROID_NDK_ROOT, or the newest in the SDK
  --sdk DIR            the Android SDK, with build-tools $least_build_tools or newer and a
                       platform. Else \$ANDROID_HOME, \$ANDROID_SDK_ROOT, or where
                       Android Studio puts it
  --openxr-loader AAR  the Khronos OpenXR loader $loader_version as a file. Else it is
                       downloaded from Maven Central, once
  --openxr-loader-sha256 HASH
                       of that file, if it is another version
  --release-key        sign with the key of a release: \$CONVENE_KEYSTORE (a file),
                       \$CONVENE_KEY_ALIAS, \$CONVENE_KEYSTORE_PASSWORD. Else with a
                       key of this machine's, made once
  --debug              built fast, slow to run, and open to debuggers
  --mark TEXT          added to the version's name and the file's
  --check              only look for what is missing

\$CARGO_TARGET_DIR says where it is built, ~/.cache/convene/target by default.
\$CARGO_UNSTABLE_BUILD_STD=std,panic_unwind builds Rust's standard library too,
for a Rust that has none for Android; cargo asks for a nightly then.
END
}

readonly least_ndk=26
# Older signers put libraries at pages of 4 KB.
readonly least_build_tools=35
readonly linker=aarch64-linux-android29-clang

# --- what there is --------------------------------------------------------

missing=()
# lacks WHAT HOW-TO-GET-IT
lacks() { missing+=("$1"$'\n'"    $2"); }

# newest FOLDER: of the folders in it, named by versions, the newest.
newest() {
    local found=("$1"/*/)
    [[ -d ${found[0]} ]] || return 0
    printf '%s\n' "${found[@]%/}" | sort -V | tail -n 1
}

at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

need_rust() {
    local wanted found libraries
    wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$ROOT/Cargo.toml")
    if ! have cargo || ! found=$(rustc --version 2>/dev/null); then
        lacks "Rust" "install $wanted or newer with rustup: https://rustup.rs"
        return
    fi
    found=${found#rustc }
    found=${found%%[ -]*}
    at_least "$wanted" "$found" || lacks "Rust $wanted or newer (this is $found)" "rustup update stable"
    [[ -z ${CARGO_UNSTABLE_BUILD_STD:-} ]] || return 0
    libraries=$(rustc --print target-libdir --target "$rust_target" 2>/dev/null) || libraries=
    if [[ -z $libraries || ! -d $libraries ]]; then
        lacks "Rust's standard library for Android" "rustup target add $rust_target"
    fi
}

find_sdk() {
    local place
    # What was asked for by name is not replaced by what is found.
    [[ -z $sdk ]] || return 0
    for place in "${ANDROID_HOME:-}" "${ANDROID_SDK_ROOT:-}" "$HOME/Library/Android/sdk" "$HOME/Android/Sdk"; do
        if [[ -z $place ]]; then continue; fi
        sdk=$place
        [[ ! -d $place ]] || break
    done
}

need_sdk() {
    local tools tool target manager
    local where="https://developer.android.com/studio#command-line-tools-only, unpacked to SDK/cmdline-tools/latest"
    target=$(manifest_sdk target)
    find_sdk
    if [[ ! -d $sdk ]]; then
        lacks "the Android SDK (there is no $sdk)" "$where; then --sdk SDK"
        return
    fi
    manager=$sdk/cmdline-tools/latest/bin/sdkmanager
    tools=$(newest "$sdk/build-tools")
    AAPT2=$tools/aapt2 ZIPALIGN=$tools/zipalign APKSIGNER=$tools/apksigner
    if [[ -n $tools ]] && ! at_least "$least_build_tools" "$(basename "$tools")"; then
        lacks "Android's build-tools $least_build_tools or newer (there are $(basename "$tools"))" \
            "$manager 'build-tools;36.0.0'"
    else
        for tool in "$AAPT2" "$ZIPALIGN" "$APKSIGNER"; do
            [[ ! -x $tool ]] || continue
            lacks "Android's build-tools (no $(basename "$tool") in ${tools:-$sdk/build-tools})" \
                "$manager 'build-tools;36.0.0'"
            break
        done
    fi
    ANDROID_JAR=$(newest "$sdk/platforms")/android.jar
    if [[ ! -e $ANDROID_JAR ]] || ! at_least "android-$target" "$(basename "$(dirname "$ANDROID_JAR")")"; then
        lacks "Android's platform $target or newer (no android.jar of it in $sdk/platforms)" \
            "$manager 'platforms;android-$target'"
    fi
}

find_ndk() {
    [[ -z $ndk ]] || return 0
    ndk=${ANDROID_NDK_HOME:-${ANDROID_NDK_ROOT:-}}
    [[ -n $ndk || ! -d $sdk ]] || ndk=$(newest "$sdk/ndk")
}

need_ndk() {
    local revision tool where="https://developer.android.com/ndk/downloads, or sdkmanager 'ndk;27.2.12479018'; then --ndk DIR"
    find_ndk
    if [[ -z $ndk || ! -d $ndk ]]; then
        lacks "the Android NDK, r$least_ndk or newer${ndk:+ (there is no $ndk)}" "$where"
        return
    fi
    revision=$(sed -n 's/^Pkg\.Revision *= *//p' "$ndk/source.properties" 2>/dev/null) || revision=
    if [[ -z $revision ]]; then
        lacks "an Android NDK in $ndk (no version in its source.properties)" "$where"
        return
    fi
    if ! at_least "$least_ndk" "${revision%%.*}"; then
        lacks "the Android NDK r$least_ndk or newer ($ndk is r${revision%%.*})" "$where"
        return
    fi
    llvm=$(newest "$ndk/toolchains/llvm/prebuilt")
    READELF=$llvm/bin/llvm-readelf
    for tool in "$linker" llvm-ar llvm-strip llvm-readelf; do
        if [[ ! -x $llvm/bin/$tool ]]; then
            lacks "a whole Android NDK (no $tool in ${llvm:-$ndk/toolchains/llvm/prebuilt}/bin)" "$where"
            break
        fi
    done
}

need_tools() {
    local tool
    for tool in zip unzip; do
        have "$tool" || lacks "$tool" "install it with the system's packages: sudo apt-get install $tool"
    done
    # On macOS a java that only says where to get one is always there.
    if ! have java || ! java -version >/dev/null 2>&1; then
        lacks "Java, which apksigner is written in" "sudo apt-get install default-jre-headless, or https://adoptium.net"
    elif [[ $release == no ]] && ! have keytool; then
        lacks "keytool, to make a key with" "it is part of Java: https://adoptium.net"
    fi
}

need_loader() {
    if [[ -n $loader ]]; then
        [[ -f $loader ]] || lacks "the OpenXR loader (there is no $loader)" "$loader_url"
        return
    fi
    loader=$downloads/$(basename "$loader_url")
    [[ -f $loader ]] || have curl ||
        lacks "curl, to download the OpenXR loader with" \
            "sudo apt-get install curl; or download it yourself, then --openxr-loader FILE: $loader_url"
}

need_key() {
    local variable
    [[ $release == yes ]] || return 0
    for variable in CONVENE_KEYSTORE CONVENE_KEY_ALIAS CONVENE_KEYSTORE_PASSWORD; do
        [[ -n ${!variable:-} ]] || lacks "\$$variable, for --release-key" "docs/quest.md says how to make such a key"
    done
    [[ -z ${CONVENE_KEYSTORE:-} || -f $CONVENE_KEYSTORE ]] ||
        lacks "the key (there is no $CONVENE_KEYSTORE)" "docs/quest.md says how to make one"
}

# All at once: who is told one thing after the other runs this seven times.
prerequisites() {
    need_rust
    need_sdk
    need_ndk
    need_tools
    need_loader
    need_key
    [[ ${#missing[@]} -gt 0 ]] || return 0
    warn "Missing to build the package:"
    printf -- '- %s\n' "${missing[@]}" >&2
    exit 1
}

# --- what is done ---------------------------------------------------------

# Gets the loader if it is not there, and makes sure that it is the one meant.
fetch_loader() {
    local partial=$loader.partial found
    if [[ ! -f $loader ]]; then
        mkdir -p "$downloads"
        say "downloading the OpenXR loader $loader_version"
        curl --fail --location --silent --show-error --output "$partial" "$loader_url" ||
            die "the OpenXR loader could not be downloaded. Get it elsewhere, then --openxr-loader FILE: $loader_url"
        mv "$partial" "$loader"
    fi
    found=$(sha256_of "$loader")
    [[ $found == "$loader_hash" ]] || die "$loader is not the OpenXR loader that is meant.
  SHA-256 found:  $found
  SHA-256 wanted: $loader_hash
Another version on purpose: --openxr-loader-sha256 $found. Else delete it."
    unzip -q -o -j "$loader" jni/arm64-v8a/libopenxr_loader.so -d "$parts" ||
        die "$loader has no jni/arm64-v8a/libopenxr_loader.so: it is no AAR of the OpenXR loader"
}

# A loader may use the NDK's shared C++ library.
add_cxx_library() {
    local needed
    mapfile -t needed < <(needed_libraries "$parts/libopenxr_loader.so")
    is_one_of libc++_shared.so "${needed[@]}" || return 0
    cp "$llvm/sysroot/usr/lib/aarch64-linux-android/libc++_shared.so" "$parts/"
}

build_library() {
    export CARGO_TARGET_AARCH64_LINUX_ANDROID_LINKER=$llvm/bin/$linker
    export CC_aarch64_linux_android=$llvm/bin/$linker
    export CXX_aarch64_linux_android=$llvm/bin/${linker}++
    export AR_aarch64_linux_android=$llvm/bin/llvm-ar
    # The NDK's clang lets a library use names that nobody defines; Android would
    # refuse it only when it loads it.
    cargo rustc --locked --lib --crate-type cdylib --target "$rust_target" --profile "$profile" -- \
        -C link-arg=-Wl,-z,max-page-size="$page" -C link-arg=-Wl,--no-undefined -C link-arg=-Wl,--build-id=sha1
}

build() {
    built=$CARGO_TARGET_DIR/$rust_target/$profile
    parts=$CARGO_TARGET_DIR/apk/$profile
    unstripped=$built/libconvene.so
    lock_target
    own_target "$built"
    rm -rf "$parts"
    mkdir -p "$parts"
    fetch_loader
    add_cxx_library
    build_library 9>&-
    built_target "$built"
    "$llvm/bin/llvm-strip" --strip-all -o "$parts/libconvene.so" "$unstripped"
}

check_libraries() {
    local packed=() file failed=no
    for file in "$parts"/*.so; do packed+=("$(basename "$file")"); done
    check_entry_points "$parts/libconvene.so" || failed=yes
    for file in "$parts"/*.so; do check_library "$file" "${packed[@]}" || failed=yes; done
    [[ $failed == no ]] || die "no headset would start this, so it is not packed"
}

package() {
    DEBUGGABLE=$debug pack_apk "$apk" "$version" "$parts"/*.so
    if [[ $release == yes ]]; then
        sign_apk "$apk" "$CONVENE_KEYSTORE" "$CONVENE_KEY_ALIAS" CONVENE_KEYSTORE_PASSWORD
    else
        debug_key "$own_key"
        sign_apk "$apk" "$own_key" "$debug_alias" DEBUG_PASSWORD
    fi
    check_apk "$apk" libconvene.so libopenxr_loader.so || die "$apk is not good"
}

report() {
    local file
    say ""
    say "$apk: $(size_of "$apk"), version $version ($(version_code))"
    for file in "$parts"/*.so; do
        say "  $abi/$(basename "$file"): $(size_of "$file")"
    done
    say "names for crash files: $unstripped"
    say ""
    say "Install it on a headset in developer mode (docs/quest.md):"
    say "  adb install -r $apk"
}

# A function, so that bash has read all of this before an edit or a pull while
# it runs can change it.
main() {
    local only_check=no mark=
    sdk='' ndk='' loader='' loader_hash=$loader_sha256 release=no debug=no
    downloads=${XDG_CACHE_HOME:-$HOME/.cache}/convene/downloads
    own_key=${XDG_DATA_HOME:-$HOME/.local/share}/convene/sideload.keystore
    while [[ $# -gt 0 ]]; do
        case $1 in
            --ndk | --sdk | --openxr-loader | --openxr-loader-sha256 | --mark)
                [[ $# -ge 2 ]] || die "$1 needs a value, see --help"
                case $1 in
                    --ndk) ndk=$2 ;;
                    --sdk) sdk=$2 ;;
                    --openxr-loader) loader=$2 ;;
                    --openxr-loader-sha256) loader_hash=$2 ;;
                    --mark) mark=-$2 ;;
                esac
                shift
                ;;
            --release-key) release=yes ;;
            --debug) debug=yes ;;
            --check) only_check=yes ;;
            -h | --help)
                usage
                exit
                ;;
            *)
                usage >&2
                exit 2
                ;;
        esac
        shift
    done
    profile=apk
    version=$(package_version)$mark
    if [[ $debug == yes ]]; then profile=apk-debug version=$version-debug; fi
    apk=$CARGO_TARGET_DIR/apk/convene-$version.apk

    prerequisites
    if [[ $only_check == yes ]]; then
        say "everything is there: NDK $ndk, SDK $sdk, $(rustc --version)"
        return
    fi
    cd "$ROOT"
    build
    check_libraries
    package
    report
}

main "$@"
exit
