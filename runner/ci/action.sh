#!/bin/sh
# The steps of action.yml: inputs come as variables, so that no text of a pull request becomes code.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

find_steady() {
    if [ -n "${STEADY_GIVEN:-}" ]; then
        echo "$STEADY_GIVEN"
    elif command -v steady; then
        :
    else
        echo "$here/../../steady" # the launcher: builds on first use
    fi
}

case "${1:-}" in
    compare)
        STEADY=$(find_steady)
        export STEADY
        set -- --base "${BASE:-}" --budget "${BUDGET:-}" --fail-on "${FAIL_ON:-}" \
            --adapter "${ADAPTER:-}" --metric "${METRIC:-}" --direction "${DIRECTION:-}" \
            --select "${SELECT:-}" --worth "${WORTH:-}" --pairs "${PAIRS:-}"
        set -f
        old_ifs=$IFS
        IFS='
'
        for line in ${BUILD:-}; do set -- "$@" --build "$line"; done
        for line in ${QUESTIONS:-}; do set -- "$@" "$line"; done
        IFS=$old_ifs
        # shellcheck disable=SC2086  # words of the command
        [ -z "${COMMAND:-}" ] || set -- "$@" -- $COMMAND
        code=0
        sh "$here/compare.sh" "$@" || code=$?
        echo "exit-code=$code" >>"$GITHUB_OUTPUT"
        [ ! -f steady-ci/comment.md ] || cat steady-ci/comment.md >>"$GITHUB_STEP_SUMMARY"
        ;;
    comment)
        fork=$(jq -r '.pull_request | if . == null then "none" else
            (.head.repo.full_name != .base.repo.full_name) end' "$GITHUB_EVENT_PATH")
        case "$fork" in
            none) echo "no pull request: the result is in the job's summary" ;;
            true) echo "a fork has no right to comment: the second workflow does it, see runner/ci/README.md" ;;
            *) sh "$here/comment.sh" steady-ci steady ;;
        esac
        ;;
    verdict) exit "${EXIT_CODE:-1}" ;;
    *) echo "action.sh: found \"${1:-}\", allowed compare, comment, verdict" >&2; exit 2 ;;
esac
