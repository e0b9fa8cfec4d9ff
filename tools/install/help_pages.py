"""Writes man pages and shell completions of gradc from its help.

    help_pages.py GRADC FOLDER     man1/*.1.gz, gradc.bash and _gradc
"""
import gzip
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

EXIT_CODES = [
    (0, "Success."),
    (1, "Files, data, checkpoints or the machine; a loss that is not finite."),
    (2, "Wrong arguments."),
    (3, "A model, spec or artifact that is invalid or not supported."),
    (4, "Numbers differ from the reference."),
    (5, "It does not fit: memory, or a GPU, driver or library that is missing."),
]
ENVIRONMENT = [
    ("GRADC_TARGET", "The default of \\fB\\-\\-target\\fR."),
    ("GRADC_CACHE_DIR", "Where machine code is kept between compilations, instead of \\fI~/.cache/gradc\\fR; "
                        "empty: nowhere."),
    ("GRADC_LIBCUDA, GRADC_LIBCUBLASLT, GRADC_LIBCUDNN", "Files to open instead of the usual libraries."),
    ("CUDA_HOME", "Where ptxas is, which makes code for GPUs."),
]


@dataclass
class Command:
    name: str
    summary: str
    usage: str = ""
    text: list = field(default_factory=list)      # paragraphs between usage and options
    arguments: list = field(default_factory=list)  # (literal text, description)
    options: list = field(default_factory=list)

    def names(self):
        """The long name of each option, or its short name if it has no long one."""
        return [max(left.split()[0].split(","), key=len) for left, _ in self.options]


def read_entries(lines):
    """The (left, right) columns of a list, separated by two spaces or a line end."""
    entries = []
    for line in lines:
        if not line.startswith("  "):
            continue
        if line.startswith(" " * 20):
            entries[-1] = (entries[-1][0], (entries[-1][1] + " " + line.strip()).strip())
        else:
            left, _, right = line.strip().partition("  ")
            entries.append((left, right.strip()))
    return entries


def read_sections(text):
    """The help's lines, keyed by heading; lines before the first heading are under ''."""
    sections, heading = {"": []}, ""
    for line in text.splitlines():
        if re.match(r"(Positionals|[Oo]ptions|Subcommands):$", line):
            heading = line[:-1].lower()
            sections[heading] = []
        else:
            sections[heading].append(line)
    return sections


def read_command(gradc, name, summary):
    sections = read_sections(ask(gradc, name, "--help"))
    command = Command(name, summary)
    command.arguments = read_entries(sections.get("positionals", []))
    command.options = read_entries(sections["options"])
    for line in sections[""]:
        if match := re.match(r"[Uu]sage: gradc \S+ *([^;]*)", line):
            command.usage = command.usage or match[1]
        elif line and line != summary and not re.match(r"usage:|  ", line):
            command.text.append(line)
    return command


def ask(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text)


def typed(left):
    """Formats literal text in bold and placeholders in italics."""
    parts = []
    for word in left.split():
        is_name = word.startswith("-")
        required = word == "REQUIRED"
        parts.append("(required)" if required else f"\\f{'B' if is_name else 'I'}{roff(word)}\\fR")
    return " ".join(parts)


def paragraphs(entries):
    return "".join(f".TP\n{left}\n{right}\n" for left, right in entries)


def header(title, version, name, summary):
    return (f'.TH {title.upper()} 1 "" "{version}" "User Commands"\n'
            f".SH NAME\n{roff(name)} \\- {roff(summary)}\n.SH SYNOPSIS\n")


def footer(see):
    codes = paragraphs((f"\\fB{code}\\fR", text) for code, text in EXIT_CODES)
    return f".SH EXIT STATUS\n{codes}.SH SEE ALSO\n" + ",\n".join(f"\\fB{roff(page)}\\fR(1)" for page in see) + "\n"


def command_page(version, command):
    out = header(f"gradc-{command.name}", version, f"gradc-{command.name}", command.summary)
    out += f"\\fBgradc {command.name}\\fR {roff(command.usage)}\n"
    if command.text:
        out += ".SH DESCRIPTION\n" + ".PP\n".join(roff(line) + "\n" for line in command.text)
    if command.arguments:
        out += ".SH ARGUMENTS\n" + paragraphs((typed(left), roff(right)) for left, right in command.arguments)
    out += ".SH OPTIONS\n" + paragraphs((typed(left), roff(right)) for left, right in command.options)
    return out + footer(["gradc"])


def main_page(version, summary, options, commands):
    out = header("gradc", version, "gradc", "ahead-of-time compiler for training")
    out += f"\\fBgradc\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{roff(summary)}\n"
    out += ".SH COMMANDS\n" + paragraphs((f"\\fBgradc\\-{c.name}\\fR(1)", roff(c.summary)) for c in commands)
    out += ".SH OPTIONS\n" + paragraphs((typed(left), roff(right)) for left, right in options)
    out += ".SH ENVIRONMENT\n" + paragraphs((f"\\fB{name}\\fR", text) for name, text in ENVIRONMENT)
    return out + footer([f"gradc-{c.name}" for c in commands])


def bash_completion(commands):
    cases = "".join(f"    {c.name}) options='{' '.join(c.names())}' ;;\n" for c in commands)
    names = " ".join(c.name for c in commands)
    return f"""# bash completion for gradc
_gradc() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} options=
  if [ "$COMP_CWORD" = 1 ] || {{ [ "$COMP_CWORD" = 2 ] && [ "${{COMP_WORDS[1]}}" = help ]; }}; then
    COMPREPLY=($(compgen -W '{names} help --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=() ;; # a file
  esac
}}
complete -o default -F _gradc gradc
"""


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", text).replace("'", "'\\''")


def zsh_completion(commands):
    names = "".join(f"    '{c.name}:{zsh_text(c.summary)}'\n" for c in commands)
    cases = ""
    for command in commands:
        cases += f"    {command.name})\n      _arguments \\\n"
        for name, (left, right) in zip(command.names(), command.options):
            value = ":value:_files" if re.search(r" \[?[A-Z]", left.replace("REQUIRED", "")) else ""
            cases += f"        '*{name}[{zsh_text(right)}]{value}' \\\n"
        cases += "        '*:file:_files' ;;\n"
    return f"""#compdef gradc
local -a commands
local state line
_arguments -C '1:command:->command' '*::argument:->argument'
case $state in
  command)
    commands=(
{names}    'help:the options of a command'
    )
    _describe command commands ;;
  argument)
    case $words[1] in
{cases}    esac ;;
esac
"""


def main():
    gradc, folder = sys.argv[1:]
    sections = read_sections(ask(gradc, "--help"))
    version = ask(gradc, "--version").strip()
    commands = [read_command(gradc, name, summary) for name, summary in read_entries(sections["subcommands"])
                if name != "help"]
    pages = {"gradc": main_page(version, sections[""][0], read_entries(sections["options"]), commands)}
    pages |= {f"gradc-{c.name}": command_page(version, c) for c in commands}
    os.makedirs(os.path.join(folder, "man1"), exist_ok=True)
    for name, text in pages.items():
        with open(os.path.join(folder, "man1", f"{name}.1.gz"), "wb") as file:
            file.write(gzip.compress(text.encode(), mtime=0))
    for name, text in (("gradc.bash", bash_completion(commands)), ("_gradc", zsh_completion(commands))):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
