# Steady's lockstep protocol for a POSIX shell, version 1.
#
#     . ./steady_lockstep.sh
#     work() { i=0; while [ "$i" -lt "$1" ]; do sort data.txt > /dev/null; i=$((i + 1)); done; }
#     steady_lockstep work
#
# `work N` does the work N times. `steady_result METRIC VALUE [UNIT]` inside it reports a result;
# without one the wall time counts. What the work prints goes to stderr: stdout belongs to the
# protocol. A work that returns another status than 0 fails the turn.

steady_result() {
    if [ -n "${3-}" ]; then
        printf '{"metric": "%s", "value": %s, "unit": "%s"}\n' "$1" "$2" "$3" >&3
    else
        printf '{"metric": "%s", "value": %s}\n' "$1" "$2" >&3
    fi
}

steady_lockstep() {
    exec 3>&1 1>&2
    while read -r steady_word steady_count; do
        case "$steady_word $steady_count" in
            "hello 1") echo "ready 1" >&3 ;;
            "run "[1-9]*)
                if "$1" "$steady_count" </dev/null; then
                    echo "done $steady_count" >&3
                else
                    echo "error the work ended with status $?" >&3
                fi
                ;;
            "quit ") return 0 ;;
            *) echo "error this program speaks version 1 of the protocol: hello 1, run N, quit" >&3 ;;
        esac
    done
}
