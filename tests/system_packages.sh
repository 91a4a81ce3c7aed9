#!/bin/sh
# Installs what the tests need of the system, or names it in one line: a C compiler for the driver's
# stand-in, Chromium and fonts for pages and pictures, PostgreSQL for the store.
missing=""
need() { # need PACKAGE COMMAND...
    package=$1; shift
    for command in "$@"; do
        command -v "$command" >/dev/null 2>&1 && return
        ls /usr/lib/postgresql/*/bin/"$command" >/dev/null 2>&1 && return
    done
    missing="$missing $package"
}
need gcc cc gcc
need chromium chromium chromium-browser google-chrome
need postgresql postgres
need fontconfig fc-list
if command -v fc-list >/dev/null 2>&1; then
    [ -n "$(fc-list :lang=ko family 2>/dev/null)" ] || missing="$missing fonts-noto-cjk"
else
    missing="$missing fonts-noto-cjk"
fi
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing for the tests:$missing"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing fonts-noto-core fonts-noto-color-emoji; } >/tmp/gpudiag-apt.log 2>&1 && exit 0
    echo "apt-get failed; see /tmp/gpudiag-apt.log" >&2
fi
echo "please install for the tests:$missing (tests that need them are skipped and say so)" >&2
exit 0
