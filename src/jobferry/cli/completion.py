"""`jobferry completion`: prints what lets a shell complete commands, options and names of objects."""

import argparse
from collections.abc import Sequence

from jobferry.cli import render
from jobferry.cli.arguments import Parser

_ABOUT = """Prints a script that lets your shell complete commands, options and the names of Jobs, Workers and Queues.

  bash   echo 'source <(jobferry completion bash)' >> ~/.bashrc
  zsh    echo 'source <(jobferry completion zsh)' >> ~/.zshrc, after compinit
  fish   jobferry completion fish > ~/.config/fish/completions/jobferry.fish

`kubectl ferry` is completed by kubectl's own completion."""

SCRIPTS = {
    "bash": r"""# Completes jobferry in bash.
_jobferry() {
    local word
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        COMPREPLY+=("$word")
    done < <(jobferry complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi
}
complete -F _jobferry jobferry
""",
    "zsh": r"""#compdef jobferry
# Completes jobferry in zsh.
_jobferry() {
    local -a found
    found=("${(@f)$(jobferry complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found//:/\\:}")
    found=("${(@)found/$'\t'/:}")
    _describe jobferry found
}
compdef _jobferry jobferry
""",
    "fish": r"""# Completes jobferry in fish.
complete -c jobferry -f -a '(jobferry complete -- (commandline -opc)[2..-1] (commandline -ct))'
""",
}


def main(arguments: Sequence[str]) -> None:
    """Print a script."""
    parser = Parser("jobferry completion", "|".join(SCRIPTS), _ABOUT)
    parser.add_argument("shell", choices=SCRIPTS, help=argparse.SUPPRESS)
    render.text(SCRIPTS[parser.parse_args(arguments).shell])
