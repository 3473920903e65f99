# SPDX-License-Identifier: MIT
# Bash completion for bigleaf and bigleaf-bench. Commands and options are read
# off --help, so this file never falls behind the commands.

_bigleaf_commands() {
    "$1" --help 2>/dev/null |
        sed -n 's/^  \([a-z][a-z+-]*\)  .*/\1/p'
    # What bigleaf NAME finds on PATH.
    compgen -c bigleaf- | sed 's/^bigleaf-//'
}

# Lines such as "--pages=auto|thp|hugetlb|base", "--report[=FILE]", "--json".
_bigleaf_options() {
    "$1" "$2" --help 2>/dev/null |
        sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--[a-z][]=A-Za-z|:,.[-]*\).*/\2/p'
}

# Replies with those of the words $1 that fit what is typed.
_bigleaf_reply() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# bigleaf-bench, whose own words begin at COMP_WORDS[$1]. Its --help has lines
# such as "  --executor {local,slurm}", "  --output DIR", "  {paper,runs}".
_bigleaf_bench_words() {
    local first=$1
    local cur=${COMP_WORDS[COMP_CWORD]}
    local option=${COMP_WORDS[COMP_CWORD - 1]}
    local help takes
    if ((COMP_CWORD == first)); then
        help=$("${COMP_WORDS[@]:0:first}" --help 2>/dev/null)
        takes=$(sed -n 's/^    \([a-z][a-z]*\)  .*/\1/p' <<<"$help")
        _bigleaf_reply "$takes --help --version" "$cur"
        return
    fi
    help=$("${COMP_WORDS[@]:0:first+1}" --help 2>/dev/null)
    # The shell splits --name=value at the '='.
    [[ $cur == "=" ]] && cur=
    [[ $option == "=" ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $option == --* ]] &&
        takes=$(sed -n "s/^  $option \\([^ ]\\{1,\\}\\).*/\\1/p" <<<"$help")
    if [[ -z ${takes-} && $cur == -* ]]; then
        takes=$(sed -n 's/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' <<<"$help")
        _bigleaf_reply "$takes" "$cur"
        return
    fi
    [[ -z ${takes-} ]] && ((COMP_CWORD == first + 1)) &&
        takes=$(sed -n 's/^  \({[^ ]*}\).*/\1/p' <<<"$help")
    case ${takes-} in
    "{"*) _bigleaf_reply "${takes//[\{,\}]/ }" "$cur" ;;
    "" | DIR | FILE) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    esac
}

_bigleaf_bench() {
    COMPREPLY=()
    _bigleaf_bench_words 1
}

# Whether the option $2 is among those of the help $1 that take the next word:
# "-n, --runs=RUNS", but not "--report[=FILE]".
_bigleaf_takes_next() {
    [[ $2 == -* ]] && grep -q -e "^ *$2=[^ ]" -e "^ *-[a-z], $2=[^ ]" \
        -e "^ *$2, --[a-z-]*=" <<<"$1"
}

# Replies with what may be the value of the option $2.
_bigleaf_reply_value() {
    local words
    words=$(sed -n "s/^ *\(-[a-z], \)\{0,1\}$2\\[\{0,1\}=\([^] ]*\).*/\2/p" <<<"$1")
    case $words in
    *"|"*) _bigleaf_reply "${words//|/ }" "$3" ;;
    FILE | DIR | NAME) mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
    esac
}

_bigleaf() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    local prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]}
    local help option words i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words="$(_bigleaf_commands "${COMP_WORDS[0]}") --help --version"
        _bigleaf_reply "$words" "$cur"
        return
    fi
    if [[ $command == bench ]]; then
        _bigleaf_bench_words 2
        return
    fi
    if [[ $command == help ]]; then
        _bigleaf_reply "$(_bigleaf_commands "${COMP_WORDS[0]}")" "$cur"
        return
    fi
    help=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null)
    # All words of the compiler's, and of what takes a file.
    if [[ $command == cc || $command == c++ || $command == align ]] &&
        [[ $cur != -* && $cur != "=" && $prev != "=" ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
    fi
    # Behind the program everything is the program's own. The shell splits
    # --name=value:more at '=' and ':'.
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --)
            i=$((i + 1))
            break
            ;;
        -* | = | :) ;;
        *)
            [[ ${COMP_WORDS[i - 1]} == [=:] ]] ||
                _bigleaf_takes_next "$help" "${COMP_WORDS[i - 1]}" || break
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
    if [[ $cur == "=" || $prev == "=" ]]; then
        option=$prev
        [[ $prev == "=" ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
        _bigleaf_reply_value "$help" "$option" "${cur#=}"
        return
    fi
    if _bigleaf_takes_next "$help" "$prev"; then
        _bigleaf_reply_value "$help" "$prev" "$cur"
        return
    fi
    if [[ $cur == -* ]]; then
        words=$(_bigleaf_options "${COMP_WORDS[0]}" "$command" |
            sed 's/\[.*//; s/=.*/=/')
        _bigleaf_reply "$words" "$cur"
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
        return
    fi
    if [[ $command == attach ]]; then
        words=$(ps -u "$(id -u)" -o pid= 2>/dev/null)
        _bigleaf_reply "$words" "$cur"
        return
    fi
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
}

complete -F _bigleaf bigleaf
complete -F _bigleaf_bench bigleaf-bench
