# bash complete.bash SCRIPT: per line of input, what is offered at its end: "<line>\t<offer>".
source "$1" || exit 1
while IFS= read -r line; do
    IFS=' ' read -ra COMP_WORDS <<<"$line"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
    _steady 2>/dev/null
    for offer in "${COMPREPLY[@]}"; do printf '%s\t%s\n' "$line" "$offer"; done
done
