#!/usr/bin/env bash
# Make triton-compat ready in RUNNER_TEMP. Neither the user's Python nor PATH is touched: the only trace outside of
# RUNNER_TEMP is uv's download cache. Nothing is installed whose hash requirements.lock does not hold.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Two releases of this action in one job are two tools.
home="${RUNNER_TEMP:?this runs in a job of GitHub Actions}/triton-compat-$(printf %s "$here" | cksum | cut -d ' ' -f 1)"
tool="$home/bin/triton-compat"

fail() {
  echo "::error title=triton-compat::$1"
  exit 19
}

if [[ ! -x "$tool" ]]; then
  mkdir -p "$home/bin"
  # The machine's own python3 does one thing: install uv.
  python=$(command -v python3) || fail "There is no python3 on this runner; install Python 3.9 or later."
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    fail "python3 on this runner is $("$python" -V); Python 3.9 or later is needed to begin with."
  "$python" -I -m venv "$home/begin" ||
    fail "python3 -m venv does not work on this runner; on Debian and Ubuntu install the package python3-venv."
  awk '/^uv==/ { on = 1 } on { print } on && !/\\$/ { exit }' "$here/requirements.lock" > "$home/uv.lock"
  offline=()
  if [[ -n "${INPUT_WHEELHOUSE:-}" ]]; then
    offline=(--no-index --find-links "$(cd "$INPUT_WHEELHOUSE" && pwd)")
  fi
  "$home/begin/bin/python" -I -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes \
    --only-binary :all: "${offline[@]}" -r "$home/uv.lock" ||
    fail "uv could not be installed; see above. Behind a mirror set index-url, without a network set wheelhouse."

  # uv takes a Python that is here, or brings one.
  uv="$home/begin/bin/uv"
  export UV_PYTHON_INSTALL_DIR="$home/pythons" UV_NO_CONFIG=1 UV_LINK_MODE=copy
  "$uv" venv --quiet --clear --no-project --python '>=3.11' "$home/environment" ||
    fail "No Python 3.11 or later is here and none could be downloaded; install one on this runner."
  "$uv" pip install --quiet --python "$home/environment/bin/python" --require-hashes --only-binary :all: \
    "${offline[@]}" -r "$here/requirements.lock" ||
    fail "The packages of requirements.lock could not be installed; see above."

  # The source runs as it is: building it would need a build backend from the network. A line in a .pth file does that
  # without PYTHONPATH, which the tests would inherit; -I keeps the project's folder and variables out.
  site=$("$home/environment/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$here" > "$site/triton_compat.pth"
  printf '#!/usr/bin/env bash\nexec %q -I -m runner "$@"\n' "$home/environment/bin/python" > "$tool.new"
  chmod +x "$tool.new"
  mv "$tool.new" "$tool"
fi

"$tool" --version
echo "tool=$tool" >> "$GITHUB_OUTPUT"
