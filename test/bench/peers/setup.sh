#!/usr/bin/env bash
# Makes the peers' Python environment in build/peers-env and prints its python; or uses PEERS_PY.
set -euo pipefail
cd "$(dirname "$0")/../../.."
if [ -n "${PEERS_PY:-}" ]; then
  echo "$PEERS_PY"
  exit
fi
env=build/peers-env
if [ ! -f "$env/ready" ]; then
  python3 -m venv "$env" >&2
  "$env/bin/pip" install -q -r test/bench/peers/requirements.txt >&2
  touch "$env/ready"
fi
echo "$PWD/$env/bin/python"
