# SPDX-License-Identifier: MIT
# Bash completion for bigleaf. Commands and options are read off --help, so
# this file never falls behind the command.

_bigleaf_commands() {
    "$1" --help 2>/dev/null |
        sed -n 's/^  \([a-z][a-z+-]*\)  .*/\1/p'
}

# Lines such as "--pages=auto|thp|hugetlb|base", "--report[=FILE]", "--json".
_bigleaf_options() {
    "$1" "$2" --help 2>/dev/null |
        sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--[a-z][]=A-Za-z|:,.[-]*\).*/\2/p'
}

_bigleaf() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    local prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]}
    local option words i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words="$(_bigleaf_commands "${COMP_WORDS[0]}") --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    # Behind the program everything is the program's own.
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --)
            i=$((i + 1))
            break
            ;;
        -* | =) ;;
        *)
            [[ ${COMP_WORDS[i - 1]} == "=" || ${COMP_WORDS[i - 1]} == -n ]] ||
                break
            ;;
        esac
    done
    if ((i < COMP_CWORD)); then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$i"
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
        return
    fi
    # The shell splits --name=value at the '='.
    if [[ $cur == "=" || $prev == "=" ]]; then
        option=$prev
        [[ $prev == "=" ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
        words=$(_bigleaf_options "${COMP_WORDS[0]}" "$command" |
            sed -n "s/^$option\\[\\{0,1\\}=//p" | tr -d ']')
        cur=${cur#=}
        if [[ $words == *"|"* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "${words//|/ }" -- "$cur")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
        return
    fi
    if [[ $cur == -* ]]; then
        words=$(_bigleaf_options "${COMP_WORDS[0]}" "$command" |
            sed 's/\[.*//; s/=.*/=/')
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
        return
    fi
    if [[ $command == attach ]]; then
        words=$(ps -u "$(id -u)" -o pid= 2>/dev/null)
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
}

complete -F _bigleaf bigleaf
