# shellcheck shell=bash
# Stand-ins for what the Debian root can't have: the NDK, the SDK and the OpenXR
# loader, laid out as theirs are, out of Debian's clang, lld, aapt2, zipalign and
# apksigner. What is built with them is looked at and thrown away: its C was
# compiled with glibc's headers, and its system libraries are empty.
# Sourced after lib.sh and package.sh, never run.
# shellcheck disable=SC2034,SC2154 # what is defined here is used there, and what there, here

# make_stand_ins FOLDER: FOLDER/ndk, FOLDER/sdk, FOLDER/loader.aar, and
# FOLDER/loader-cxx.aar with a loader that uses the NDK's C++ library.
make_stand_ins() {
    rm -rf "$1"
    mkdir -p "$1"
    make_ndk "$1/ndk"
    make_sdk "$1/sdk"
    READELF=$(command -v llvm-readelf)
    make_loader "$1/loader.aar" "$1/ndk"
    make_loader "$1/loader-cxx.aar" "$1/ndk" -Wl,--no-as-needed -lc++_shared
}

# program FILE LINE...: a script with these lines.
program() {
    local file=$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' '#!/bin/bash' "$@" >"$file"
    chmod +x "$file"
}

make_ndk() {
    local llvm=$1/toolchains/llvm/prebuilt/linux-x86_64 tool
    local libraries=$llvm/sysroot/usr/lib/aarch64-linux-android headers=/usr/aarch64-linux-gnu/include cxx
    cxx=$(find "$headers/c++" -mindepth 1 -maxdepth 1 | sort -V | tail -n 1)
    mkdir -p "$llvm/bin" "$libraries"
    printf '%s\n' 'Pkg.Desc = Stand-in' 'Pkg.Revision = 26.0.0' >"$1/source.properties"
    for tool in llvm-ar llvm-strip llvm-readelf; do ln -s "$(command -v "$tool")" "$llvm/bin/$tool"; done
    # The NDK's own compiler brings its start files and libraries, these bring the stand-ins.
    clang_stand_in "$llvm/bin/aarch64-linux-android29-clang" clang "$libraries" "-isystem $headers"
    clang_stand_in "$llvm/bin/aarch64-linux-android29-clang++" clang++ "$libraries" \
        "-isystem $cxx -isystem $cxx/aarch64-linux-gnu -isystem $headers"
    make_system_libraries "$libraries"
}

# clang_stand_in FILE PROGRAM LIBRARIES FLAGS
clang_stand_in() {
    # shellcheck disable=SC2016 # expanded by the stand-in
    program "$1" 'for argument; do' \
        "    if [[ \$argument == -[cES] ]]; then exec $2 --target=aarch64-linux-android29 $4 \"\$@\"; fi" \
        'done' \
        "exec $2 --target=aarch64-linux-android29 -fuse-ld=lld -nostdlib -nostartfiles -L '$3' \"\$@\""
}

# One library for each in symbols.txt, with its symbols and nothing in them:
# the linker drops libraries that define nothing that is used.
make_system_libraries() {
    local library libraries source=$1/source.c
    mapfile -t libraries < <(symbols | cut -d ' ' -f 1 | sort -u)
    for library in "${libraries[@]}"; do
        symbols | awk -v library="$library" '$1 == library {
            print ($3 == "data") ? "long " $2 "[16];" : "void " $2 "(void) {}" }' >"$source"
        clang --target=aarch64-linux-android29 -fuse-ld=lld -nostdlib -shared -w -fno-builtin -Wno-everything \
            -Wl,-soname,"$library.so" -Wl,-z,max-page-size="$page" -o "$1/$library.so" "$source"
    done
    # LLVM's unwinder is part of the NDK, as an archive, and so becomes part of the library.
    for library in "${unwinder[@]}"; do say "void $library(void) {}"; done >"$source"
    clang --target=aarch64-linux-android29 -c -w -o "$1/unwind.o" "$source"
    llvm-ar rcs "$1/libunwind.a" "$1/unwind.o"
    say 'void cxx(void) {}' >"$source"
    clang --target=aarch64-linux-android29 -fuse-ld=lld -nostdlib -shared \
        -Wl,-soname,libc++_shared.so -Wl,-z,max-page-size="$page" -o "$1/libc++_shared.so" "$source"
    rm "$source" "$1/unwind.o"
}

# library symbol [data], one a line.
symbols() { grep -v '^#' "$android/symbols.txt"; }

# What Rust's standard library calls of it.
readonly unwinder=(_Unwind_Backtrace _Unwind_DeleteException _Unwind_FindEnclosingFunction _Unwind_GetCFA
    _Unwind_GetDataRelBase _Unwind_GetGR _Unwind_GetIP _Unwind_GetIPInfo _Unwind_GetLanguageSpecificData
    _Unwind_GetRegionStart _Unwind_GetTextRelBase _Unwind_RaiseException _Unwind_Resume _Unwind_SetGR _Unwind_SetIP)

make_sdk() {
    local tool tools=$1/build-tools/35.0.0 platform
    platform=$1/platforms/android-$(manifest_sdk target)
    for tool in aapt2 zipalign apksigner; do program "$tools/$tool" "exec /usr/bin/$tool \"\$@\""; done
    mkdir -p "$platform"
    # An android.jar has resources of the system, too: this is them without the classes.
    ln -s /usr/share/android-framework-res/framework-res.apk "$platform/android.jar"
}

# make_loader AAR NDK LINKER-OPTION...
make_loader() {
    local aar=$1 ndk=$2 folder=$1.parts
    shift 2
    mkdir -p "$folder/jni/arm64-v8a"
    say 'void xrGetInstanceProcAddr(void) {}' >"$folder/loader.c"
    "$ndk/toolchains/llvm/prebuilt/linux-x86_64/bin/aarch64-linux-android29-clang" -shared "$folder/loader.c" \
        -Wl,-soname,libopenxr_loader.so -Wl,-z,max-page-size="$page" "$@" -o "$folder/jni/arm64-v8a/libopenxr_loader.so"
    rm "$folder/loader.c"
    (cd "$folder" && zip -q -r "$aar" jni)
    rm -r "$folder"
}
