#!/bin/sh
# Makes .venv with everything the project needs, and tmux. Run it as often as you like: it is quick when nothing changed.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.set-up # holds the folder it was made for, for an environment does not survive being moved
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { echo "setup: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
quietly() { "$@" >"$log" 2>&1 </dev/null; }
give_up() {
    tail -n 20 "$log" >&2
    say "$*"
    exit 1
}

up_to_date() {
    [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$PWD" ] &&
        [ -z "$(find pyproject.toml scripts/setup.sh -newer "$stamp")" ] && have tmux
}

# PACKAGE: from whichever package manager there is.
install() {
    [ "$(id -u)" = 0 ] || give_up "$1 is missing: install it (on Debian: sudo apt-get install $1), then run this again."
    say "installing $1"
    if have apt-get; then
        export DEBIAN_FRONTEND=noninteractive
        set -- apt-get install -y --no-install-recommends "$1"
        quietly "$@" || { quietly apt-get update && quietly "$@"; }
    elif have dnf; then quietly dnf install -y "$1"
    elif have yum; then quietly yum install -y "$1"
    elif have apk; then quietly apk add "$1"
    elif have pacman; then quietly pacman -Sy --noconfirm "$1"
    elif have zypper; then quietly zypper --non-interactive install "$1"
    else false; fi || give_up "$1 could not be installed: install it by hand, then run this again."
}

# Prints the first Python that is new enough.
find_python() {
    for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if have "$python" && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    give_up "Python 3.11 or later is needed: install it, or name it, as in: make test PYTHON=/opt/python/bin/python3."
}

make_venv() {
    python=$(find_python)
    # Debian keeps this part of Python in a package of its own.
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        install "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    quietly "$python" -m venv --clear .venv || give_up "$python could not make .venv."
}

! up_to_date || exit 0
have tmux || install tmux
[ "$(cat "$stamp" 2>/dev/null)" = "$PWD" ] && quietly .venv/bin/python -c 'import pip' || make_venv
say "installing ajet-inbox and what it needs into .venv"
quietly .venv/bin/python -m pip install --disable-pip-version-check --quiet --editable '.[dev]' ||
    give_up "the packages could not be installed (see above)."
echo "$PWD" >"$stamp"
