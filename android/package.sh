# shellcheck shell=bash
# From the library to the package: what android/build-apk.sh builds with, and
# what android/check.sh looks at afterwards.
# Sourced after lib.sh, never run. The tools are variables that the caller sets:
# $AAPT2, $ZIPALIGN, $APKSIGNER, $READELF, $ANDROID_JAR.
# shellcheck disable=SC2034 # what is defined here is used there

readonly android="$ROOT/android"
readonly rust_target=aarch64-linux-android
# Where an arm64 package has its libraries.
readonly abi=lib/arm64-v8a
# Pages of 16 KB, which newer Android may have, in bytes.
readonly page=16384

# The Khronos OpenXR loader: version, and the SHA-256 of the AAR that Maven
# Central has. Both change together; docs/quest.md says how to check them.
readonly loader_version=1.1.63
readonly loader_sha256=622419d2f6741c3443a3beb4779af0764318edd01830de967f24c741ebcded73
readonly loader_url=https://repo1.maven.org/maven2/org/khronos/openxr/openxr_loader_for_android/$loader_version/openxr_loader_for_android-$loader_version.aar

# What every Quest has: of the libraries that the NDK promises to programs, those
# that one of ours could need. Everything else has to be in the package.
readonly system_libraries=(libandroid.so libc.so libdl.so liblog.so libm.so libz.so libEGL.so libGLESv2.so libGLESv3.so libvulkan.so)
# Without these no NativeActivity starts.
readonly entry_points=(ANativeActivity_onCreate android_main)

# manifest_sdk min|target: an API level, as the manifest has it.
manifest_sdk() { sed -n "s/.*android:$1SdkVersion=\"\([0-9]*\)\".*/\1/p" "$android/AndroidManifest.xml"; }

package_version() { sed -n 's/^version *= *"\(.*\)"/\1/p' "$ROOT/Cargo.toml" | head -n 1; }

# Android compares versions by a number: 1.2.3 is 10203.
version_code() {
    local major minor patch
    IFS=.- read -r major minor patch _ < <(package_version)
    say $((major * 10000 + minor * 100 + patch))
}

sha256_of() {
    if have sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# --- libraries ------------------------------------------------------------

needed_libraries() { "$READELF" --dynamic-table --wide "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort; }

# The names that a library gives to others.
exported_symbols() {
    "$READELF" --dyn-syms --wide "$1" | awk '$5 != "LOCAL" && $7 != "UND" && NR > 3 && $8 != "" { sub(/@.*/, "", $8); print $8 }' | sort
}

# The smallest alignment of what is loaded of a library, in bytes.
segment_alignment() {
    local alignments alignment least=
    mapfile -t alignments < <("$READELF" --program-headers --wide "$1" | awk '$1 == "LOAD" { print $NF }')
    for alignment in "${alignments[@]}"; do
        [[ -n $least ]] && ((least <= alignment)) || least=$((alignment))
    done
    say "${least:-0}"
}

# check_library FILE PACKED...: is it for a Quest, and is all that it needs there
# or among PACKED? Says what is wrong.
check_library() {
    local file=$1 name needed failed=no
    name=$(basename "$1")
    shift
    # Not through `grep -q`, which ends readelf early, and so the pipe in failure.
    if [[ $("$READELF" --file-header "$file") != *Machine:*AArch64* ]]; then
        warn "$name is not for arm64"
        failed=yes
    fi
    for needed in $(needed_libraries "$file"); do
        is_one_of "$needed" "${system_libraries[@]}" "$@" && continue
        warn "$name needs $needed, which neither a Quest nor the package has"
        failed=yes
    done
    if (($(segment_alignment "$file") < page)); then
        warn "$name is not aligned for pages of 16 KB"
        failed=yes
    fi
    [[ $failed == no ]]
}

# Does ours have what Android starts?
check_entry_points() {
    local exported name failed=no
    exported=$(exported_symbols "$1")
    for name in "${entry_points[@]}"; do
        grep -qx "$name" <<<"$exported" && continue
        warn "$(basename "$1") does not export $name"
        failed=yes
    done
    [[ $failed == no ]]
}

is_one_of() {
    local wanted=$1 one
    shift
    for one in "$@"; do [[ $one != "$wanted" ]] || return 0; done
    return 1
}

# --- the package ----------------------------------------------------------

# pack_apk APK VERSION-NAME LIBRARY...: manifest, resources and libraries, not
# signed yet. $DEBUGGABLE=yes for a package that a debugger may enter. All that is
# not compressed, the libraries and one table, is aligned to 16 KB, as every
# zipalign can; apksigner 35 or newer keeps that for the libraries.
pack_apk() {
    local apk=$1 version=$2 mode=()
    local scratch=$apk.parts
    shift 2
    [[ ${DEBUGGABLE:-no} == no ]] || mode=(--debug-mode)
    rm -rf "$scratch" "$apk"
    mkdir -p "$scratch/$abi"
    "$AAPT2" compile --dir "$android/res" -o "$scratch/resources.zip"
    "$AAPT2" link -I "$ANDROID_JAR" --manifest "$android/AndroidManifest.xml" "${mode[@]}" \
        --version-code "$(version_code)" --version-name "$version" -o "$scratch/base.apk" "$scratch/resources.zip"
    cp "$@" "$scratch/$abi/"
    # Not compressed, as libraries are loaded out of the package; and no extras,
    # so that equal libraries make equal packages.
    find "$scratch/$abi" -exec touch -t 198001010000 {} +
    (cd "$scratch" && find "$abi" -name '*.so' | LC_ALL=C sort | zip -q -X -D -0 base.apk -@)
    "$ZIPALIGN" -f "$page" "$scratch/base.apk" "$apk"
    rm -rf "$scratch"
}

# sign_apk APK KEYSTORE ALIAS VARIABLE: with the key under ALIAS; VARIABLE names
# the variable that holds the password, which never shows in a list of processes.
sign_apk() {
    "$APKSIGNER" sign --ks "$2" --ks-key-alias "$3" --ks-pass "env:$4" --v4-signing-enabled false "$1"
}

# debug_key KEYSTORE: makes a key for sideloading, once. A headset takes an
# update only when it is signed with the key of what it has. $DEBUG_PASSWORD is
# no secret: the file is, as far as anything is.
debug_key() {
    [[ ! -e $1 ]] || return 0
    mkdir -p "$(dirname "$1")"
    say "making a key to sign with, once: $1 (keep it: updates have to have the same)"
    (umask 077 && keytool -genkeypair -keystore "$1.new" -storetype PKCS12 -alias "$debug_alias" \
        -storepass:env DEBUG_PASSWORD -dname "CN=Convene for sideloading" -keyalg RSA -keysize 2048 -validity 10950 2>/dev/null)
    mv "$1.new" "$1"
}
readonly debug_alias=convene
export DEBUG_PASSWORD=sideload

# --- looking at a package -------------------------------------------------

# check_apk APK LIBRARY...: does a Quest take it, as far as a machine without one
# can tell? Says what is wrong; LIBRARY are the names that have to be in it.
check_apk() {
    local apk=$1 failed=no entry method libraries
    shift
    if ! "$ZIPALIGN" -c 4 "$apk" >/dev/null; then
        warn "what is in it is not aligned"
        failed=yes
    fi
    if ! "$APKSIGNER" verify "$apk" >/dev/null; then
        warn "its signature does not verify"
        failed=yes
    fi
    libraries=$(unzip -v "$apk" | awk '$8 ~ /\.so$/ { print $2, $8 }')
    for entry in "$@"; do
        method=$(awk -v name="$abi/$entry" '$2 == name { print $1 }' <<<"$libraries")
        if [[ -z $method ]]; then
            warn "$entry is not in it"
            failed=yes
        elif [[ $method != Stored ]]; then
            warn "$entry is compressed, it could not be loaded out of the package"
            failed=yes
        elif (($(begin_of "$apk" "$abi/$entry") % page != 0)); then
            warn "$entry does not begin at a page of 16 KB"
            failed=yes
        fi
    done
    [[ $failed == no ]]
}

# begin_of APK ENTRY: where its content begins in the package, in bytes. A local
# header is 30 bytes, the name and the extra field.
begin_of() {
    local header
    header=$(unzip -Z -v "$1" "$2" | sed -n 's/.*offset of local header from start of archive: *\([0-9]*\).*/\1/p')
    say $((header + 30 + $(short_at "$1" $((header + 26))) + $(short_at "$1" $((header + 28)))))
}

# The 16-bit number at that place of a file.
short_at() { od -An -tu2 -j "$2" -N 2 "$1" | tr -d ' '; }

# The size of a file, for people.
size_of() { awk -v bytes="$(wc -c <"$1")" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
