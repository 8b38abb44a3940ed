"""The ``commands`` directive: the help of every command, as ``--help`` prints it."""

from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from justjump.cli import app as program

WIDTH = 92


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        group = typer.main.get_command(program)
        found = []
        for name, command in group.commands.items():
            context = typer.Context(
                command, info_name=f"justjump {name}", terminal_width=WIDTH, max_content_width=WIDTH
            )
            section = nodes.section("", nodes.title("", name), ids=[nodes.make_id(f"command-{name}")])
            section += nodes.literal_block("", command.get_help(context), language="text")
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
