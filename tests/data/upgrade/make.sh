#!/bin/sh
# Writes world.tar.gz: a home and a project as agent-handover 0.1.0 leaves them.
#
#   make.sh PROGRAM     where PROGRAM is the binary of 0.1.0
#
# The project has a completed handover, one whose push is due, one whose command failed, and one that waits because of
# PAUSE. The home has the list of projects and the hooks of Claude Code. The test unpacks both elsewhere, and so replaces /tmp/ah-0.1.0.
set -eu
program=$1
here=$(cd "$(dirname "$0")" && pwd)
world=/tmp/ah-0.1.0
rm -rf "$world"
mkdir -p "$world/home" "$world/project"
cp "$program" "$world/home/agent-handover"
cd "$world/project"
handover() {
    env -i PATH="$PATH" HOME="$world/home" USER=tester TZ=UTC GIT_CONFIG_SYSTEM=/dev/null \
        AGENT_HANDOVER_TEST_NOW="$1" "$world/home/agent-handover" "$2" "$3" ${4+"$4"} ${5+"$5"} || test $? -eq "${expected:-0}"
}
git -c init.defaultBranch=main init --quiet
git remote add origin ../remote.git
cat > handover.toml <<'CONFIG'
[backend]
type = "git"
branch = "agent-handover"

[[step]]
name = "note"
kind = "note"

[[step]]
name = "tests"
kind = "command"
shell = "test ! -e failing"

[[step]]
name = "state"
kind = "state"

[[step]]
name = "history"
kind = "history"

[[step]]
name = "publish"
kind = "publish"
CONFIG
git -c user.name=tester -c user.email=tester@example.org commit --quiet --allow-empty -m start
git -c init.defaultBranch=main init --quiet --bare ../remote.git
handover 2026-11-10T09:00:00Z install claude-code
handover 2026-11-10T09:30:00Z run --note "the session that completed"
handover 2026-11-10T09:45:00Z memory add decision "keep the parser small"
mv ../remote.git ../away.git
expected=1 handover 2026-11-10T10:00:00Z run --note "the session whose push is due"
touch failing
expected=1 handover 2026-11-10T11:00:00Z run --note "the session whose tests failed"
rm failing
echo "wait for the release" > PAUSE
expected=3 handover 2026-11-10T12:00:00Z run --note "the session that was paused"
rm "$world/home/agent-handover"
find . ../away.git -path '*hooks/*.sample' -delete
tar --create --gzip --directory "$world" --sort=name --owner=0 --group=0 --numeric-owner --file "$here/world.tar.gz" \
    home project away.git
