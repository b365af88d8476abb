# zsh -f complete.zsh SCRIPT: per line of input, what is offered at its end: "<line>\t<offer>".
# zsh completes at a terminal only, so an interactive one runs on a pseudo-terminal. Its compadd
# writes the offers to a file, and a second key says when the first has done its work.
zmodload zsh/zpty zsh/zselect || exit 1
work=$(mktemp -d) || exit 1
trap 'zpty -d z 2>/dev/null; rm -rf $work' EXIT
cp $1 $work/_steady
cat >$work/start <<EOF
PROMPT= RPROMPT=
unsetopt promptcr promptsp beep
fpath=($work \$fpath)
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' list-grouped false
compadd() {
    # Calls that only ask which of their words match belong to the completion system itself.
    if [[ " \${@[1,(i)(-|--)]} " == *' -'(O|A|D)' '* ]]; then builtin compadd "\$@"; return \$?; fi
    local -a hits
    builtin compadd -O hits "\$@"
    (( \$#hits )) && print -rl -- \$hits >>$work/offers
    builtin compadd "\$@"
}
finish() { zle kill-buffer; : >$work/done }
zle -N finish
bindkey '^I' complete-word
bindkey '^Xd' finish
: >$work/ready
EOF
await() { # await FILE: half a minute at most
    local n
    for n in {1..3000}; do
        [[ -e $1 ]] && return
        zpty -r -t z >/dev/null 2>&1
        zselect -t 1
    done
    print -u2 "zsh does not answer"
    exit 1
}
zpty z zsh -f -i
zpty -w z "source $work/start"
await $work/ready
while IFS= read -r line; do
    rm -f $work/offers $work/done
    zpty -w -n z "$line"$'\t\C-xd'
    await $work/done
    [[ -e $work/offers ]] || continue
    while IFS= read -r offer; do print -r -- "$line"$'\t'"$offer"; done <$work/offers
done
