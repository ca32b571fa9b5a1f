"""`gpudoctor completion`: prints the script that completes commands, options and names in a shell."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer._completion_shared import get_completion_script

from gpudoctor.cli import COMPLETION_VARIABLE, output
from gpudoctor.cli.program import app


@app.command()
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]) -> int:
    """Print the script for tab completion in your shell. To install it, add one line to the shell's start-up file.

    \b
    bash, in ~/.bashrc:                  eval "$(gpudoctor completion bash)"
    zsh, in ~/.zshrc after compinit:     eval "$(gpudoctor completion zsh)"
    fish, in ~/.config/fish/config.fish: gpudoctor completion fish | source
    """
    script = get_completion_script(prog_name="gpudoctor", complete_var=COMPLETION_VARIABLE, shell=shell)  # nosec B604 # the shell's name; none is started
    output.write_output(f"{script}\n".encode())
    return 0
