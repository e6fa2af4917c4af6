#!/bin/sh
# Install the collector into a folder of its own, from wheels whose hashes are known:
#
#     deploy/install.sh dependencies /opt/pldp     every dependency, in the versions of requirements.lock
#     deploy/install.sh package /opt/pldp          pldp itself, built from this source tree
#
# The Dockerfile runs these two steps, each in a layer of its own; they work the same on a machine without containers.
# PYTHON chooses the interpreter (default python3). Nothing is compiled and nothing without a known hash is installed.
set -eu

step=$1
prefix=$2
python=${PYTHON:-python3}
cd "$(dirname "$0")/.."

# Install a list into the environment of an interpreter, with the pip of the folder. Compiling is left for later: pip uses one core.
install() {
    "$prefix/bin/python" -m pip --python "$1" --disable-pip-version-check install --only-binary :all: --require-hashes \
        --quiet --no-cache-dir --no-compile --requirement "$2"
}

case $step in
dependencies)
    "$python" -m venv "$prefix"
    install "$prefix/bin/python" requirements.lock
    "$prefix/bin/python" -m compileall -q -j 0 "$prefix/lib"
    ;;
package)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    "$python" -m venv --without-pip "$work/build"
    install "$work/build/bin/python" .ci/build.lock
    "$work/build/bin/python" -m hatchling build --target wheel --directory "$work/wheel"
    "$prefix/bin/python" -m pip --disable-pip-version-check install --quiet --no-deps --no-index --force-reinstall \
        "$work"/wheel/pldp-*.whl
    "$prefix/bin/pldp" --version
    ;;
*)
    echo "install.sh: the first argument must be dependencies or package, not $step" >&2
    exit 2
    ;;
esac
