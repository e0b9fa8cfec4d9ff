"""Compares man pages and completions with the help, which is parsed independently of their generator.

    help_pages.py GRADC FOLDER
"""
import gzip
import os
import re
import shutil
import subprocess
import sys


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def completed(folder, *words):
    """The completions that bash offers after `words`, the last of which is being typed."""
    script = f'. {folder}/gradc.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gradc; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return set(output("bash", "-c", script, "bash", *words).split())


def options_of(text):
    """The names at the beginning of the help's lines."""
    return {name for line in text.splitlines() if re.match(r"  -", line)
            for name in re.findall(r"--?[a-z][\w-]*", line.split()[0])}


def main():
    gradc, folder = sys.argv[1:]
    overview = output(gradc, "--help")
    commands = re.findall(r"^  (\w+)  ", overview[overview.index("Subcommands:"):], re.M)
    with open(os.path.join(folder, "_gradc")) as file:
        zsh = file.read()
    faults, count = [], 0
    for command in [None] + [command for command in commands if command != "help"]:
        names = options_of(output(gradc, *filter(None, [command]), "--help"))
        title = "-".join(filter(None, ["gradc", command]))
        page = gzip.open(os.path.join(folder, "man1", f"{title}.1.gz"), "rt").read().replace("\\-", "-")
        faults += [f"{title}.1: no {name}" for name in names if not re.search(re.escape(name) + r"(?![\w-])", page)]
        count += len(names)
        if not command:
            continue
        offered = completed(folder, "gradc", command, "--")
        faults += [f"bash: no {command} {name}" for name in names if name.startswith("--") and name not in offered]
        section = zsh[zsh.index(f"    {command})"):].partition(";;")[0]
        faults += [f"zsh: no {command} {name}" for name in names if name.startswith("--") and f"'*{name}[" not in section]
    faults += [f"bash: no {command}" for command in commands if command not in completed(folder, "gradc", "")]
    faults += [f"zsh: no {command}" for command in commands if f"'{command}:" not in zsh]
    if completed(folder, "gradc", "inspect", "x") or "--json" in completed(folder, "gradc", "inspect", "--"):
        faults.append("bash: offers options where there are none")
    for shell, file in (("bash", "gradc.bash"), ("zsh", "_gradc")):
        if shutil.which(shell):
            output(shell, "-n", os.path.join(folder, file))
    print(*faults, sep="\n")
    pages = len(os.listdir(os.path.join(folder, "man1")))
    print(f"{pages} pages name {count} options; completions offer {len(commands)} commands")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
