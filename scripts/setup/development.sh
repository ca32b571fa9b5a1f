# shellcheck shell=sh disable=SC2154 # the sourcing script sets root and me
# The environment of the tests and linters, .venv; sourced after environment.sh.

fill() {
    say "setting up ${1##*/} (once, and when pyproject.toml changes)"
    # dependency groups came with pip 25.1
    have_uv || install "$1" --upgrade 'pip>=25.1' || die "pip could not be updated: see the message above."
    (cd "$root" && install "$1" --no-compile --editable . --group test --group lint) ||
        die "the tests' requirements could not be installed: see the message above; run this again with access to the package index."
    # frameworks are only imported by children that write no bytecode: without it TensorFlow's import takes 10 s of CPU instead of 4.
    # All processors at once, which pip does not use; what is written for other Pythons does not compile
    "$1/bin/python" -m compileall -q -j 0 "$1/lib" >/dev/null 2>&1 || :
}

development_environment() {
    environment=$root/.venv
    make_ready "$environment" test+lint fill
}
