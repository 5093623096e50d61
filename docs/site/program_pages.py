# SPDX-License-Identifier: MIT
"""The program's reference: a page a subcommand, from what the program says of its own flags."""
import html
import json
import re
import subprocess

from code_html import code_html, inline_code
from page import Page

GROUP = "Program reference"
FRONT = "program.html"


def read_commands(ria):
    """All commands, each as {name, text, synopsis, flags, below}; the first is the program itself."""
    return json.loads(subprocess.run([ria, "manual", "json"], check=True, capture_output=True, text=True).stdout)


def file_of(command):
    words = command["name"].split()
    return f"ria-{words[1]}.html" if len(words) > 1 else FRONT


def anchor_of(command, flag=None):
    words = command["name"].replace(" ", "-")
    return f"{words}.{flag}" if flag else words


def register(commands, names):
    for command in commands:
        names.add(command["name"], f"{file_of(command)}#{anchor_of(command)}")
        for flag in command["flags"]:
            for name in flag["names"]:
                names.add(f"{command['name']} {name}", f"{file_of(command)}#{anchor_of(command, name)}")
    # A flag that one command alone has is known by itself.
    owners = {}
    for command in commands:
        for flag in command["flags"]:
            for name in flag["names"]:
                owners.setdefault(name, []).append(command)
    for name, having in owners.items():
        if name.startswith("--") and len(having) == 1:
            names.add(name, f"{file_of(having[0])}#{anchor_of(having[0], name)}")


def pages(commands, names):
    program = commands[0]
    front = Page(FRONT, "Program reference", GROUP, label="All commands", source="ria manual json")
    rows = "".join(
        f'<dt><a href="{file_of(one)}#{anchor_of(one)}"><code>{html.escape(one["name"])}</code></a></dt><dd>{_text(one["text"], names)}</dd>'
        for one in commands[1:]
    )
    front.body = (
        f'<h1 id="{anchor_of(program)}">Program reference</h1>\n<p class="lead">Every command and flag, as the program prints them with '
        f"<code>--help</code>. The same is in the manual page.</p>{_flags(program, names)}<dl>{rows}</dl>"
    )
    files = dict.fromkeys(file_of(one) for one in commands[1:])
    return [front] + [_page([one for one in commands[1:] if file_of(one) == file], names) for file in files]


def _page(commands, names):
    first = commands[0]
    body = [f'<h1 id="{anchor_of(first)}"><code>{first["name"]}</code></h1>', _command(first, names)]
    headings = []
    for command in commands[1:]:
        body.append(f'<section class="entry" id="{anchor_of(command)}"><h2><code>{command["name"]}</code></h2>{_command(command, names)}</section>')
        headings.append((2, anchor_of(command), f'<code>{command["name"]}</code>'))
    label = f'<code>{first["name"]}</code>'
    return Page(file_of(first), first["name"], GROUP, "\n".join(body), headings, "ria manual json", label, folded=True)


def _command(command, names):
    return f'<div class="lead">{_text(command["text"], names)}</div>{code_html(command["synopsis"], "sh", names)}{_flags(command, names)}'


def _flags(command, names):
    rows, group = [], ""
    for flag in command["flags"]:
        if flag["group"] != group and not flag["positional"]:
            group = flag["group"]
            if group != "Options":
                rows.append(f'<div class="label">{html.escape(group)}</div>')
        ids = "".join(f'<span id="{anchor_of(command, name)}"></span>' for name in flag["names"][:-1])
        shown = "<code>" + "</code>, <code>".join(map(html.escape, flag["names"])) + "</code>"
        value = f' <code class="value">{html.escape(_value(flag))}</code>' if flag["value"] else ""
        needed = " (needed)" if flag["required"] else ""
        rows.append(f'<dt id="{anchor_of(command, flag["names"][-1])}">{ids}{shown}{value}</dt><dd>{_text(flag["text"] + needed, names)}</dd>\n')
    return f"<dl>{''.join(rows)}</dl>" if rows else ""


def _text(text, names):
    """With a link where it names a command."""
    shown = html.escape(text, quote=False)
    return re.sub(r"'(ria [a-z ]+)'", lambda m: inline_code(m[1], names), f"<p>{shown}</p>")


def _value(flag):
    return re.sub(r"^([^(=]*)=", r"\1 = ", flag["value"])  # INT=5
