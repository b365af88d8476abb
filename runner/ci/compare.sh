#!/bin/sh
# Compares a change with its merge base: every question of a repository, within a time budget. Knows
# GitHub, GitLab and Jenkins by their variables; anywhere else give --base. Writes results.json,
# comment.md and junit.xml. What each option means: runner/ci/README.md.
set -eu

usage() {
    cat >&2 <<'END'
usage: compare.sh [--base REV] [--head REV] [--budget MINUTES] [--out DIR] [--fail-on WORD]
                  [--build COMMAND]... [--adapter NAME] [--metric NAME] [--direction WORD]
                  [--select LABEL] [--worth PERCENT] [--pairs N]
                  (QUESTION.json... | -- COMMAND [ARGUMENT...])
  --base     what the change is compared with: its merge base with this (default: from CI's event)
  --head     the change (default: from CI's event, else HEAD)
  --budget   minutes for all questions together, default 30; fractions allowed
  --out      where results go, default steady-ci
  --fail-on  regression (default), inconclusive (also what stayed undecided), never
Without QUESTION and COMMAND: the files steady/*.json. Environment: STEADY, the program to run.
Exit codes: 0 no regression, 10 regression, 11 undecided or budget used up (with --fail-on
inconclusive), 12 nothing could be measured, 2 bad input, 1 another error.
END
}

fail() {
    echo "compare.sh: $1" >&2
    exit "${2:-2}"
}

for tool in git jq; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: install the package $tool" 1
done

steady=${STEADY:-steady}
base="" head="" budget=30 out=steady-ci fail_on=regression
questions= # one path per line
asked=     # options of `steady ab` for a command, one word per line
add_asked() { asked="$asked$1
$2
"; }
while [ $# -gt 0 ]; do
    case "$1" in
        --help) usage; exit 0 ;;
        --) break ;;
        --base | --head | --budget | --out | --fail-on | --build | --adapter | --metric | \
            --direction | --select | --worth | --pairs)
            [ $# -ge 2 ] || fail "$1 needs a value"
            # An empty value is that of an input that was not given.
            case "$1" in
                --base) base=$2 ;;
                --head) head=$2 ;;
                --budget) [ -z "$2" ] || budget=$2 ;;
                --out) [ -z "$2" ] || out=$2 ;;
                --fail-on) [ -z "$2" ] || fail_on=$2 ;;
                *) [ -z "$2" ] || add_asked "$1" "$2" ;;
            esac
            shift ;;
        -*) usage; fail "unknown option $1" ;;
        *) [ -f "$1" ] || fail "$1: no such question file"
            questions="$questions$1
" ;;
    esac
    shift
done
[ "${1:-}" = -- ] && shift
if [ $# -gt 0 ] && [ -n "$questions" ]; then fail "give question files or a command, not both"; fi
case "$fail_on" in regression | inconclusive | never) ;;
    *) fail "--fail-on: found \"$fail_on\", allowed regression, inconclusive, never" ;;
esac
seconds=$(printf '%s' "$budget" | awk '/^[0-9]+(\.[0-9]+)?$/ { printf "%d", $0 * 60 }')
[ -n "$seconds" ] && [ "$seconds" -gt 0 ] || fail "--budget: found \"$budget\", allowed minutes above 0"
if [ $# -eq 0 ] && [ -z "$questions" ]; then
    for file in steady/*.json; do [ -f "$file" ] && questions="$questions$file
"; done
    [ -n "$questions" ] || fail "nothing to ask: no steady/*.json here, and neither a question file nor a command was given"
fi

# What CI says of the change.
event=${GITHUB_EVENT_PATH:-}
from_event() { jq -r "($1) // empty" "$event"; }
if [ -n "$event" ] && [ -f "$event" ]; then
    [ -n "$base" ] || base=$(from_event '.pull_request.base.sha // .merge_group.base_sha // .before')
    [ -n "$head" ] || head=$(from_event '.pull_request.head.sha // .merge_group.head_sha // .after')
fi
[ -n "$base" ] || base=${CI_MERGE_REQUEST_DIFF_BASE_SHA:-}
if [ -z "$base" ] && [ -n "${CHANGE_TARGET:-}" ]; then base=origin/$CHANGE_TARGET; fi
[ -n "$head" ] || head=${CI_COMMIT_SHA:-HEAD}
[ -n "$base" ] || fail "no base: this is neither a pull request of GitHub, a merge request of GitLab nor a change of Jenkins; give --base REV"
case "$base$head" in -*) fail "--base, --head: a revision does not begin with -" ;; esac

known() { git rev-parse --quiet --verify "$1^{commit}" >/dev/null 2>&1; }
remote=$(git remote | head -n 1)
# CI clones are shallow: fetch what is named, then history until both meet.
for revision in "$base" "$head"; do
    known "$revision" && continue
    [ -n "$remote" ] || fail "$revision is not in this clone, and it has no remote to fetch it from"
    git fetch --quiet --no-tags --depth=1 "$remote" "${revision#"$remote"/}" ||
        fail "$revision cannot be fetched from $remote; check out with the full history (fetch-depth: 0)"
    if ! known "$revision"; then
        fetched=$(git rev-parse FETCH_HEAD)
        if [ "$revision" = "$base" ]; then base=$fetched; else head=$fetched; fi
    fi
done
base=$(git rev-parse "$base^{commit}") head=$(git rev-parse "$head^{commit}")
deepen=50
while ! merge_base=$(git merge-base "$base" "$head"); do
    [ "$(git rev-parse --is-shallow-repository)" = true ] && [ -n "$remote" ] ||
        fail "$base and $head have no common ancestor"
    git fetch --quiet --no-tags --deepen="$deepen" "$remote" "$base" "$head" ||
        git fetch --quiet --no-tags --unshallow "$remote" || fail "the history cannot be fetched from $remote"
    deepen=$((deepen * 4))
done
[ "$merge_base" != "$head" ] || fail "the change $head lies in its base already: nothing to compare"

mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.json "$out"/*.log "$out"/comment.md "$out"/junit.xml
export STEADY_ROOT="${STEADY_ROOT:-$out/steady}"
mkdir -p "$STEADY_ROOT/experiments" "$STEADY_ROOT/journal"
end=$(($(date +%s) + seconds))
ids="" worst=0 measured=0 undecided=0
: >"$out/notes.log"
note() { printf -- '- %s\n' "$1" >>"$out/notes.log"; }

# ask NAME ARGUMENT...: one question; the time that is left is its limit.
ask() {
    name=$1
    shift
    left=$((end - $(date +%s)))
    if [ "$left" -le 0 ]; then
        note "\`$name\` was not asked: the budget of $budget minutes was used up."
        undecided=1
        return
    fi
    code=0
    # An interrupt keeps the committed pairs; a second signal only follows where it is not heeded.
    timeout --signal=INT --kill-after=60 "$left" "$steady" ab --rev "$merge_base" --rev "$head" \
        --repo . --json "$@" >"$out/$name.json" 2>"$out/$name.log" || code=$?
    if [ "$code" -eq 124 ] || [ "$code" -eq 137 ] || [ "$code" -eq 130 ]; then
        note "\`$name\` was stopped: the budget of $budget minutes was used up."
        undecided=1
        rm -f "$out/$name.json"
        return
    fi
    id=$(jq -r '.id // empty' "$out/$name.json" 2>/dev/null) || id=
    if [ -z "$id" ]; then
        note "\`$name\` failed with exit code $code: $(tail -n 1 "$out/$name.log" | tr -d '`<>@' | cut -c 1-300)"
        [ "$worst" -eq 10 ] || worst=$([ "$code" -eq 2 ] && echo 2 || echo 1)
        rm -f "$out/$name.json"
        return
    fi
    ids="$ids $id"
    case "$code:$(jq -r .reason "$out/$name.json")" in
        0:* | 10:no_worthwhile_gain) measured=1 ;;
        10:*) measured=1 worst=10 ;;
        11:*) measured=1 undecided=1 ;;
        *) [ "$worst" -ne 0 ] || worst=12 ;;
    esac
}

if [ $# -gt 0 ]; then
    old_ifs=$IFS
    IFS='
'
    set -f
    # shellcheck disable=SC2086  # one word per line
    ask command $asked -- "$@"
    set +f
    IFS=$old_ifs
else
    while IFS= read -r file; do
        [ -n "$file" ] || continue
        name=$(basename "$file" .json | tr -c 'A-Za-z0-9\n' '-')
        pairs=$(printf '%s' "$asked" | sed -n '/^--pairs$/{n;p;}')
        ask "$name" --question "$file" ${pairs:+--pairs "$pairs"} </dev/null
    done <<END
$questions
END
fi

{
    if [ -n "$ids" ]; then
        # shellcheck disable=SC2086  # ids hold letters, digits and dashes
        "$steady" report $ids --format md
    else
        printf '### Steady\n\nNothing was measured.\n'
    fi
    [ ! -s "$out/notes.log" ] || { echo; cat "$out/notes.log"; }
    printf '\nA: merge base `%s`, B: `%s`. ' "$(echo "$merge_base" | cut -c 1-12)" "$(echo "$head" | cut -c 1-12)"
    if [ "${RUNNER_ENVIRONMENT:-}" = github-hosted ]; then
        printf 'Shared runner: its noise widens the intervals; small effects may stay undecided, but a shown effect is real.\n'
    else
        printf 'Both arms ran on one machine, in random order.\n'
    fi
} >"$out/comment.md"
if [ -n "$ids" ]; then
    # shellcheck disable=SC2086
    "$steady" report $ids --format junit >"$out/junit.xml"
else
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="steady" tests="1" errors="1"><testcase name="steady"><error message="nothing was measured"/></testcase></testsuite>\n' >"$out/junit.xml"
fi

[ "$worst" -ne 0 ] || [ "$measured" -eq 1 ] || [ "$undecided" -eq 1 ] || worst=12
code=$worst
if [ "$code" -eq 0 ] && [ "$undecided" -eq 1 ]; then
    # Never green when nothing at all was measured.
    if [ "$fail_on" = inconclusive ] || [ "$measured" -eq 0 ]; then code=11; fi
fi
[ "$fail_on" != never ] || [ "$code" -ne 10 ] || code=0
jq -n --arg base "$merge_base" --arg head "$head" --arg ids "$ids" --argjson code "$code" \
    '{schema: "steady-ci-v1", merge_base: $base, head: $head, exit_code: $code,
      experiments: ($ids | split(" ") | map(select(. != "")))}' >"$out/results.json"
cat "$out/comment.md"
exit "$code"
