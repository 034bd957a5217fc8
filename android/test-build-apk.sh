#!/usr/bin/env bash
# What android/build-apk.sh says when something is missing: each thing by itself,
# then all at once. Quick, as nothing is built: the tools are empty programs.
# shellcheck disable=SC2317 # functions are called by name
set -euo pipefail
# shellcheck source=../scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=package.sh
source "$ROOT/android/package.sh"

scratch=$(mktemp -d)
readonly scratch
trap 'rm -rf "$scratch"' EXIT

# program FILE LINE...: an executable script.
program() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "#!$BASH" "$@" >"$file"
    chmod +x "$file"
}

# Lays out everything that is needed, empty, in $scratch/case.
lay_out() {
    local tool
    rm -rf "$scratch/case"
    bin=$scratch/case/bin sdk=$scratch/case/sdk ndk=$scratch/case/ndk
    llvm=$ndk/toolchains/llvm/prebuilt/linux-x86_64/bin
    aar=$scratch/case/loader.aar
    mkdir -p "$bin" "$scratch/case/rust-std" "$scratch/case/home" "$sdk/platforms/android-$(manifest_sdk target)"
    program "$bin/rustc" "case \$1 in --version) echo 'rustc 1.999.0 (0 2030-01-01)' ;; *) echo $scratch/case/rust-std ;; esac"
    for tool in cargo java keytool zip unzip curl; do program "$bin/$tool" 'exit 0'; done
    for tool in aapt2 zipalign apksigner; do program "$sdk/build-tools/35.0.0/$tool" 'exit 0'; done
    touch "$sdk/platforms/android-$(manifest_sdk target)/android.jar" "$aar"
    for tool in aarch64-linux-android29-clang llvm-ar llvm-strip llvm-readelf; do program "$llvm/$tool" 'exit 0'; done
    say 'Pkg.Revision = 27.2.12479018' >"$ndk/source.properties"
    # And what the script itself is made of, but nothing else of this machine.
    for tool in bash sed sort head tail dirname basename grep cat env printf mkdir uname; do
        ln -sf "$(type -P "$tool")" "$bin/$tool"
    done
}

# check OPTION...: with what is laid out and nothing of this machine's.
check() {
    env -i PATH="$bin" HOME="$scratch/case/home" CARGO_HOME="$scratch/case/home" "${variables[@]}" \
        "$BASH" "$ROOT/android/build-apk.sh" --check "$@" 2>&1
}
all() { check --sdk "$sdk" --ndk "$ndk" --openxr-loader "$aar" "$@"; }
variables=()

passed=0
# says MESSAGE COMMAND...: fails, and MESSAGE is one of the lines.
says() {
    local message=$1 output
    shift
    if output=$("$@"); then die "nothing is missing, says: $*"$'\n'"$output"; fi
    grep -qxF -- "$message" <<<"$output" || die "expected '$message', got:"$'\n'"$output"
    # One thing was taken away, so one is missing.
    [[ $(grep -c '^- ' <<<"$output") == "${things:-1}" ]] || die "more than '$message' is missing:"$'\n'"$output"
    passed=$((passed + 1))
}

# works COMMAND...
works() {
    local output
    output=$("$@") || die "does not work: $*"$'\n'"$output"
    [[ $output == "everything is there"* ]] || die "$output"
    passed=$((passed + 1))
}

main() {
    local target tool
    target=$(manifest_sdk target)
    lay_out
    works all
    variables=(ANDROID_HOME="$sdk" ANDROID_NDK_HOME="$ndk")
    works check
    variables=()

    lay_out && rm "$bin/cargo"
    says "- Rust" all
    lay_out && program "$bin/rustc" "case \$1 in --version) echo 'rustc 1.60.0 (0 2022-01-01)' ;; *) echo / ;; esac"
    says "    rustup update stable" all
    lay_out && rm -r "$scratch/case/rust-std"
    says "    rustup target add aarch64-linux-android" all
    variables=(CARGO_UNSTABLE_BUILD_STD=std)
    works all
    variables=()

    lay_out
    says "- the Android SDK (there is no /nowhere)" check --sdk /nowhere --ndk "$ndk" --openxr-loader "$aar"
    says "- the Android SDK (there is no $scratch/case/home/Android/Sdk)" check --ndk "$ndk" --openxr-loader "$aar"
    lay_out && rm -r "$sdk/build-tools"
    says "    $sdk/cmdline-tools/latest/bin/sdkmanager 'build-tools;36.0.0'" all
    for tool in aapt2 zipalign apksigner; do
        lay_out && rm "$sdk/build-tools/35.0.0/$tool"
        says "- Android's build-tools (no $tool in $sdk/build-tools/35.0.0)" all
    done
    lay_out && mv "$sdk/build-tools/35.0.0" "$sdk/build-tools/34.0.0"
    says "- Android's build-tools 35 or newer (there are 34.0.0)" all
    lay_out && mv "$sdk/platforms/android-$target" "$sdk/platforms/android-$((target - 1))"
    says "    $sdk/cmdline-tools/latest/bin/sdkmanager 'platforms;android-$target'" all
    mv "$sdk/platforms/android-$((target - 1))" "$sdk/platforms/android-$((target + 2))"
    works all

    lay_out
    says "- the Android NDK, r26 or newer" check --sdk "$sdk" --openxr-loader "$aar"
    says "- the Android NDK, r26 or newer (there is no /nowhere)" check --sdk "$sdk" --ndk /nowhere --openxr-loader "$aar"
    mkdir -p "$sdk/ndk" && mv "$ndk" "$sdk/ndk/27.2.12479018"
    works check --sdk "$sdk" --openxr-loader "$aar"
    lay_out && say 'Pkg.Revision = 25.2.9519653' >"$ndk/source.properties"
    says "- the Android NDK r26 or newer ($ndk is r25)" all
    lay_out && rm "$ndk/source.properties"
    says "- an Android NDK in $ndk (no version in its source.properties)" all
    lay_out && rm "$llvm/llvm-strip"
    says "- a whole Android NDK (no llvm-strip in $llvm)" all

    for tool in zip unzip; do
        lay_out && rm "$bin/$tool"
        says "- $tool" all
    done
    lay_out && program "$bin/java" 'exit 1'
    says "- Java, which apksigner is written in" all
    lay_out && rm "$bin/keytool"
    says "- keytool, to make a key with" all

    lay_out
    says "- the OpenXR loader (there is no /nowhere.aar)" check --sdk "$sdk" --ndk "$ndk" --openxr-loader /nowhere.aar
    rm "$bin/curl"
    says "- curl, to download the OpenXR loader with" check --sdk "$sdk" --ndk "$ndk"

    lay_out
    things=3 says "- \$CONVENE_KEYSTORE, for --release-key" all --release-key
    variables=(CONVENE_KEYSTORE=/nowhere CONVENE_KEY_ALIAS=a CONVENE_KEYSTORE_PASSWORD=b)
    says "- the key (there is no /nowhere)" all --release-key
    variables=(CONVENE_KEYSTORE="$aar" CONVENE_KEY_ALIAS=a CONVENE_KEYSTORE_PASSWORD=b)
    works all --release-key
    variables=()

    lay_out && rm "$bin"/{cargo,zip,unzip,java,curl}
    things=7 says "- Rust" check
    say "$passed cases"
}

main
exit
