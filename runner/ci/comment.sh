#!/bin/sh
# Posts comment.md on the pull request, or replaces the text of the comment that it posted before.
# In a workflow_run (a change from a fork) the folder was written by code that nobody reviewed: it is
# text and nothing else, and the pull request is found from the event, never from the folder.
# Reads GITHUB_TOKEN, GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_EVENT_PATH; with
# CI_MERGE_REQUEST_IID it is GitLab: GITLAB_TOKEN, CI_API_V4_URL, CI_PROJECT_ID.
set -eu

fail() {
    echo "comment.sh: $1" >&2
    exit "${2:-2}"
}

out=${1:-steady-ci}
key=$(printf '%s' "${2:-steady}" | tr -c 'A-Za-z0-9' '-' | cut -c 1-60)
login=${STEADY_CI_LOGIN:-github-actions[bot]}
for tool in jq curl; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: install the package $tool" 1
done
[ -f "$out/comment.md" ] || fail "$out/comment.md is missing: run compare.sh first"
[ ! -L "$out/comment.md" ] || fail "$out/comment.md is a link"
marker="<!-- steady comment $key -->"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# No mention of a person, no comment marker of its own, no more than a comment may hold.
{
    printf '%s\n' "$marker"
    head -c 60000 "$out/comment.md" | iconv -c -f utf-8 -t utf-8 | tr -d '\000-\010\013-\037' |
        sed -e 's/<!--/\&lt;!--/g' -e 's/@/\&#64;/g'
} >"$work/body.md"
jq -Rs '{body: .}' "$work/body.md" >"$work/body.json"

# api METHOD PATH [FILE]: the answer's body on stdout. The token stands in no argument list.
api() {
    if [ -n "${3:-}" ]; then set -- "$1" "$2" --data-binary "@$3"; else set -- "$1" "$2"; fi
    method=$1 path=$2
    shift 2
    printf 'header = "%s"\n' "$authorization" | curl --config - --silent --show-error --fail-with-body \
        --max-time 30 --retry 3 --retry-connrefused --request "$method" \
        --header 'Content-Type: application/json' "$@" "$api_url$path" ||
        fail "$method $path failed; the token needs the right to write comments" 1
}

# first_match PATH FILTER: over all pages of a list, the first hit of a jq filter.
first_match() {
    page=1
    while [ "$page" -le 100 ]; do
        api GET "$1?per_page=100&page=$page${3:-}" >"$work/page.json"
        hit=$(jq -r --arg marker "$marker" --arg login "$login" "[.[] | $2] | first // empty" "$work/page.json")
        if [ -n "$hit" ]; then
            printf '%s' "$hit"
            return
        fi
        [ "$(jq length "$work/page.json")" -eq 100 ] || return 0
        page=$((page + 1))
    done
}

github() {
    [ -n "${GITHUB_TOKEN:-}" ] || fail "GITHUB_TOKEN is empty: pass it to this step"
    api_url=${GITHUB_API_URL:-https://api.github.com}/repos/${GITHUB_REPOSITORY:?}
    authorization="Authorization: Bearer $GITHUB_TOKEN"
    event=${GITHUB_EVENT_PATH:?}
    sha=$(jq -r '.workflow_run.head_sha // .pull_request.head.sha // empty' "$event")
    number=$(jq -r '.pull_request.number // empty' "$event")
    if [ -z "$number" ]; then
        [ -n "$sha" ] || fail "this event has no pull request: found neither pull_request nor workflow_run"
        # The event of a fork lists no pull requests, so ask for those of its branch.
        from=$(jq -r '.workflow_run | .head_repository.owner.login + ":" + .head_branch | @uri' "$event")
        api GET "/pulls?state=open&per_page=100&head=$from" >"$work/pulls.json"
        number=$(jq -r --arg sha "$sha" '[.[] | select(.head.sha == $sha) | .number] | first // empty' "$work/pulls.json")
        if [ -z "$number" ]; then
            echo "no open pull request has $sha as its newest commit: nothing to say" >&2
            return
        fi
    fi
    id=$(first_match "/issues/$number/comments" \
        'select((.body | startswith($marker)) and .user.login == $login) | .id')
    if [ -n "$id" ]; then
        api PATCH "/issues/comments/$id" "$work/body.json" | jq -r '"updated " + .html_url'
    else
        api POST "/issues/$number/comments" "$work/body.json" | jq -r '"posted " + .html_url'
    fi
}

gitlab() {
    [ -n "${GITLAB_TOKEN:-}" ] || fail "GITLAB_TOKEN is empty: a project token with scope api"
    api_url=${CI_API_V4_URL:?}/projects/${CI_PROJECT_ID:?}/merge_requests/$CI_MERGE_REQUEST_IID
    authorization="PRIVATE-TOKEN: $GITLAB_TOKEN"
    login=$(cd "$work" && printf 'header = "%s"\n' "$authorization" | curl --config - --silent --fail \
        --max-time 30 "${CI_API_V4_URL}/user" | jq -r '.username') || fail "GitLab refuses the token" 1
    id=$(first_match /notes 'select((.body | startswith($marker)) and .author.username == $login) | .id')
    if [ -n "$id" ]; then
        api PUT "/notes/$id" "$work/body.json" | jq -r '"updated note \(.id)"'
    else
        api POST /notes "$work/body.json" | jq -r '"posted note \(.id)"'
    fi
}

if [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then gitlab; else github; fi
