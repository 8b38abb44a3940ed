"""The text of a page's contents, as Dash components and drawings hold it."""

from typing import Any


def page_text(content: Any) -> str:
    """All words of a component and of what is in it, separated by spaces."""
    if content is None:
        return ""
    if isinstance(content, list | tuple):
        return " ".join(filter(None, map(page_text, content)))
    if isinstance(content, dict):  # an element of a drawing
        return page_text(content["props"]["children"])
    return page_text(content.children) if hasattr(content, "children") else " ".join(str(content).split())
