# shellcheck shell=sh disable=SC2154 # the sourcing script sets root and me
# Makes and keeps the virtual environments of this clone; sourced by scripts/gpudoctor, scripts/test and scripts/lint, which set `root` and `me`.

say() { printf '%s: %s\n' "$me" "$*" >&2; }

die() {
    say "$*"
    exit 2
}

# Whether uv is to be used.
have_uv() { command -v uv >/dev/null 2>&1; }

# Prints an interpreter of Python 3.10 or newer that can make an environment; fails where there is none. PYTHON names one.
find_python() {
    needs='sys.version_info >= (3, 10)'
    have_uv || needs="$needs and all(map(importlib.util.find_spec, ('venv', 'ensurepip')))"
    # shellcheck disable=SC2086 # words on purpose
    for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10 python3.14}; do
        if "$python" -I -c "import importlib.util, sys; sys.exit(not ($needs))" >/dev/null 2>&1; then
            "$python" -I -c 'import sys; print(sys.executable)' && return
        fi
    done
    return 1
}

# new_environment FOLDER: an empty environment there, replacing anything else.
new_environment() {
    rm -rf "$1"
    if python=$(find_python); then
        if have_uv; then uv venv --quiet --python "$python" "$1"; else "$python" -I -m venv "$1"; fi
    elif [ -z "${PYTHON-}" ] && have_uv; then
        uv venv --quiet --python '>=3.10' "$1"
    elif [ -n "${PYTHON-}" ]; then
        die "PYTHON=$PYTHON is not a Python 3.10 or newer with the modules venv and ensurepip; name another."
    else
        die "needs Python 3.10 or newer with its venv module (on Debian and Ubuntu: apt install python3-venv), or uv; found neither." \
            "PYTHON=/path/to/python3 names one that is not on PATH."
    fi >&2
}

# install FOLDER ARGUMENT...: what pip install takes, with uv's pip where there is uv.
install() {
    folder=$1
    shift
    # progress for whoever watches, only errors elsewhere
    if have_uv; then
        [ -t 2 ] || set -- --quiet "$@"
        uv pip install --python "$folder/bin/python" "$@"
    else
        [ -t 2 ] || set -- -qq --progress-bar off "$@"
        PIP_USER=0 "$folder/bin/python" -I -m pip install --disable-pip-version-check "$@"
    fi >&2
}

# wanted NAME: what an environment must have been made from to be reused: place, contents, pyproject.toml.
wanted() { printf '%s %s %s' "$root" "$1" "$(cksum <"$root/pyproject.toml")"; }

# is_ready FOLDER NAME: its last step was finished, for these contents. The file `ready` is written last and removed first.
is_ready() {
    [ -x "$1/bin/python" ] && [ -r "$1/ready" ] && [ "$(cat "$1/ready")" = "$(wanted "$2")" ]
}

# make_ready FOLDER NAME FUNCTION: unless it is, make it by FUNCTION FOLDER NAME, one process at a time.
make_ready() {
    is_ready "$1" "$2" && return
    (
        if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
            say "waiting for another set-up of ${1##*/}"
            flock 9
        fi
        is_ready "$1" "$2" && exit 0
        # a finished environment of this clone is updated; anything else may be incomplete
        case "$(cat "$1/ready" 2>/dev/null)" in
            "$root "*) [ -x "$1/bin/python" ] || new_environment "$1" 9>&- ;;
            *) new_environment "$1" 9>&- ;;
        esac || exit
        rm -f "$1/ready"
        "$3" "$1" "$2" 9>&- || exit
        wanted "$2" >"$1/ready.new" && mv "$1/ready.new" "$1/ready"
    ) 9>>"$root/pyproject.toml" # only opened for the lock
}
