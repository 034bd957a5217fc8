#!/bin/bash
# What android/check.sh does in its Debian root: builds the package as people do,
# against stand-ins, and looks at it. Not to be run elsewhere.
set -euo pipefail
# shellcheck source=../scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=package.sh
source "$ROOT/android/package.sh"
# shellcheck source=stand-ins.sh
source "$ROOT/android/stand-ins.sh"

readonly stand_ins=$CARGO_TARGET_DIR/stand-ins
readonly mark=unlinked-check
# The key of a run is made for it.
export XDG_DATA_HOME=$stand_ins/data

readonly permissions=(
    android.permission.ACCESS_NETWORK_STATE
    android.permission.ACCESS_WIFI_STATE
    android.permission.CHANGE_WIFI_MULTICAST_STATE
    android.permission.INTERNET
    android.permission.WAKE_LOCK
    com.oculus.permission.HAND_TRACKING
    org.khronos.openxr.permission.OPENXR
    org.khronos.openxr.permission.OPENXR_SYSTEM
)
# BLAKE3's C code for arm64 calls this of its Rust code.
readonly symbols_given=("${entry_points[@]}" blake3_compress_in_place_portable)
readonly libraries_needed=(libandroid.so libc.so libdl.so liblog.so libm.so)

# equal WHAT FOUND WANTED
equal() {
    [[ $2 == "$3" ]] && return
    warn "$1:"
    diff <(say "$3") <(say "$2") | sed 's/^</  missing:/; s/^>/  too much:/' | grep '^  ' >&2
    die "$1: not as they should be"
}

# contains WHAT TEXT PART...: all the PARTs are in TEXT.
contains() {
    local what=$1 text=$2 part
    shift 2
    for part in "$@"; do
        [[ $text == *"$part"* ]] || die "$what lacks: $part"$'\n'"$text"
    done
}

lines() { printf '%s\n' "$@" | LC_ALL=C sort; }

# refused MESSAGE COMMAND...: fails, and says MESSAGE.
refused() {
    local message=$1 output
    shift
    if output=$("$@" 2>&1); then die "not refused: $*"; fi
    [[ $output == *"$message"* ]] || die "refused, but without '$message': $output"
}

build() {
    "$ROOT/android/build-apk.sh" --debug --mark "$mark" --ndk "$stand_ins/ndk" --sdk "$stand_ins/sdk" "$@"
}

loader() { say --openxr-loader "$stand_ins/$1" --openxr-loader-sha256 "$(sha256_of "$stand_ins/$1")"; }

check_library_of_ours() {
    local library=$parts/libconvene.so
    equal "libraries that it needs" "$(needed_libraries "$library")" "$(lines "${libraries_needed[@]}")"
    equal "symbols that it gives" "$(exported_symbols "$library")" "$(lines "${symbols_given[@]}")"
    check_library "$library" || die "it is not for a Quest"
}

check_manifest() {
    local badging tree
    badging=$("$AAPT2" dump badging "$apk")
    contains "badging" "$badging" \
        "package: name='org.convene.app' versionCode='$(version_code)' versionName='$(package_version)-$mark-debug'" \
        "targetSdkVersion:'$(manifest_sdk target)'" "application-label:'Convene'" \
        "icon='res/mipmap-anydpi-v26/icon.xml'" "launchable-activity: name='android.app.NativeActivity'" \
        "uses-feature: name='android.hardware.vr.headtracking'" \
        "uses-feature-not-required: name='oculus.software.handtracking'" \
        "uses-feature-not-required: name='com.oculus.feature.PASSTHROUGH'" "native-code: 'arm64-v8a'"
    # Named differently by versions of aapt2.
    grep -qE "^(minSdkVersion|sdkVersion):'$(manifest_sdk min)'" <<<"$badging" || die "wrong lowest API level: $badging"
    equal "permissions" "$(sed -n "s/^uses-permission: name='\([^']*\)'.*/\1/p" <<<"$badging" | LC_ALL=C sort)" \
        "$(lines "${permissions[@]}")"
    tree=$("$AAPT2" dump xmltree --file AndroidManifest.xml "$apk")
    contains "the manifest" "$tree" com.oculus.intent.category.VR org.khronos.openxr.intent.category.IMMERSIVE_HMD \
        'quest2|questpro|quest3|quest3s' org.khronos.openxr.runtime_broker android.app.lib_name
    for off in hasCode extractNativeLibs allowBackup resizeableActivity; do
        grep -q ":$off(0x[0-9a-f]*)=false" <<<"$tree" || die "the manifest lacks $off=false"
    done
    contains "badging" "$badging" application-debuggable
}

# Only what was built with --debug may be entered by a debugger.
check_release_manifest() {
    local release=$stand_ins/release.apk badging
    pack_apk "$release" "$(package_version)-$mark" "$parts"/*.so
    badging=$("$AAPT2" dump badging "$release")
    [[ $badging != *application-debuggable* ]] || die "a release is debuggable"
    contains "badging" "$badging" "versionName='$(package_version)-$mark'"
}

# Is a library where the package says that it begins?
check_places() {
    local name begin
    for name in libconvene.so libopenxr_loader.so; do
        begin=$(begin_of "$apk" "$abi/$name")
        [[ $(od -An -tx1 -j "$begin" -N 4 "$apk") == " 7f 45 4c 46" ]] || die "no library at $begin"
    done
}

signer() { "$APKSIGNER" verify --print-certs "$apk" | sed -n 's/.*certificate SHA-256 digest: *//p'; }

# The key of a release is another one than that of this machine.
check_release_key() {
    local before=$1 key=$stand_ins/release.keystore
    export CONVENE_KEYSTORE=$key CONVENE_KEY_ALIAS=check CONVENE_KEYSTORE_PASSWORD=throw-away
    keytool -genkeypair -keystore "$key" -storetype PKCS12 -alias check -storepass:env CONVENE_KEYSTORE_PASSWORD \
        -dname CN=Check -keyalg RSA -keysize 2048 -validity 2 2>/dev/null
    # shellcheck disable=SC2046 # options
    build $(loader loader-cxx.aar) --release-key >"$stand_ins/release.log"
    [[ -n $(signer) && $(signer) != "$before" ]] || die "not signed with the key of the release"
    # Its loader needs the NDK's C++ library, which no Quest has.
    check_apk "$apk" libconvene.so libopenxr_loader.so libc++_shared.so || die "the C++ library is not packed"
}

check_refusals() {
    local clang=$stand_ins/ndk/toolchains/llvm/prebuilt/linux-x86_64/bin/aarch64-linux-android29-clang
    say 'int newer_than_api_29(void); int f(void) { return newer_than_api_29(); }' >"$stand_ins/f.c"
    refused "undefined symbol: newer_than_api_29" "$clang" -shared "$stand_ins/f.c" -Wl,--no-undefined -o "$stand_ins/f.so"
    "$clang" -shared "$stand_ins/f.c" -Wl,-z,max-page-size=4096 -o "$stand_ins/f.so"
    refused "f.so is not aligned for pages of 16 KB" check_library "$stand_ins/f.so"
    refused "f.so does not export android_main" check_entry_points "$stand_ins/f.so"
    unzip -q -o -j "$stand_ins/loader-cxx.aar" -d "$stand_ins/cxx"
    refused "needs libc++_shared.so" check_library "$stand_ins/cxx/libopenxr_loader.so"
    refused "is not the OpenXR loader that is meant" build --openxr-loader "$stand_ins/loader.aar"
    say "a line" >>"$apk"
    refused "signature does not verify" check_apk "$apk" libconvene.so
}

main() {
    rustc --version
    make_stand_ins "$stand_ins"
    # shellcheck disable=SC2046 # options
    build $(loader loader.aar)
    apk=$CARGO_TARGET_DIR/apk/convene-$(package_version)-$mark-debug.apk
    parts=$CARGO_TARGET_DIR/apk/apk-debug
    local tools=$stand_ins/sdk/build-tools/35.0.0
    AAPT2=$tools/aapt2 ZIPALIGN=$tools/zipalign APKSIGNER=$tools/apksigner
    ANDROID_JAR=$stand_ins/sdk/platforms/android-$(manifest_sdk target)/android.jar

    check_library_of_ours
    check_manifest
    check_release_manifest
    check_places
    check_apk "$apk" libconvene.so libopenxr_loader.so || die "not a good package"
    check_release_key "$(signer)"
    check_refusals
    rm -f "$apk" "$stand_ins/release.apk"
    say "the package is as it should be"
}

main
exit
