# fish complete.fish SCRIPT: per line of input, what is offered at its end: "<line>\t<offer>".
source $argv[1]; or exit 1
while read -l line
    for offer in (complete -C "$line")
        printf '%s\t%s\n' "$line" (string split -f 1 \t -- $offer)
    end
end
