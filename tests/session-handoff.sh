#!/bin/bash
# Exchanges bundles with the real session-handoff (Go), in both directions and in every format.
#
#   SESSION_HANDOFF=/path/to/session-handoff tests/session-handoff.sh
#
# AGENT_HANDOVER names another binary than target/debug/agent-handover. Needs git and openssl. Prints one line for each
# check, and ends with 1 at the first difference.
set -euo pipefail

theirs=${SESSION_HANDOFF:?set SESSION_HANDOFF to the path of session-handoff}
here=$(cd "$(dirname "$0")/.." && pwd)
ours=${AGENT_HANDOVER:-$here/target/debug/agent-handover}
world=$(mktemp -d)
trap 'rm -rf "$world"' EXIT
export HOME=$world/home XDG_CONFIG_HOME=$world/home/.config GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset XDG_DATA_HOME XDG_STATE_HOME
mkdir -p "$HOME" "$world/project"
cd "$world/project"
git init --quiet .
echo changed > 'odd <&> name.txt'

check() { printf 'ok: %s\n' "$1"; }
# The record of a bundle on one line.
record() { python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["record"], sort_keys=True))' "$1"; }
same() { [ "$(record "$1")" = "$(record "$2")" ] || { echo "differ: $1 $2"; exit 1; }; check "$3"; }

openssl genpkey -algorithm ed25519 -out key.pem 2> openssl.txt
openssl pkey -in key.pem -pubout -out public.pem

# Theirs to ours.
"$theirs" save --tool codex --project . --title 'Fix <the> parser & more' --summary $'Half done.\nNext "line"' --next 'One' > saved.txt
"$theirs" export --format json --output v2.json
"$theirs" export --format json --output v3.json --sign-key key.pem --signer 'Alice Example'
"$theirs" export --format json --output sealed.json --sign-key key.pem --signer 'Alice Example' --passphrase 'correct horse'
"$ours" --quiet trust add public.pem --name 'Alice Example'
for file in v2 v3 sealed; do
    rm -rf .agent-history
    "$ours" --quiet history import --allow-unsigned --input $file.json --passphrase 'correct horse' 2> notes.txt
    "$ours" --quiet history export --format json --output again-$file.json
    same v2.json again-$file.json "their $file.json keeps its record here"
done
rm -rf .agent-history
"$ours" --quiet history import --allow-unsigned --input "$XDG_CONFIG_HOME/session-handoff/handoffs.json"
"$ours" --quiet history export --format json --output again-store.json
same v2.json again-store.json "their store keeps its record here"

# Ours to theirs.
rm -rf .agent-history "$XDG_CONFIG_HOME/session-handoff"
"$ours" --quiet history create --goal 'Ship <the> parser & more' --next 'Fix "it"' --summary $'Half done.\n\n# Not a heading' > created.txt
"$ours" --quiet history export --format json --output our-v2.json
"$ours" --quiet history export --format json --output our-v3.json --sign-key key.pem --signer 'Alice Example'
"$ours" --quiet history export --format json --output our-sealed.json --sign-key key.pem --passphrase 'correct horse' 2> notes.txt
for file in our-v2 our-v3 our-sealed; do
    rm -rf "$XDG_CONFIG_HOME/session-handoff"
    "$theirs" import --input $file.json --allow-unsigned --passphrase 'correct horse' > imported.txt
    "$theirs" export --format json --output back-$file.json
    same our-v2.json back-$file.json "our ${file#our-}.json keeps its record there"
done
