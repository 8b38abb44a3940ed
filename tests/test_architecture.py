"""ARCHITECTURE.md names every module of the package, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "justjump"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def rooms() -> dict[str, str]:
    """The rows of the tables that tell what a folder holds, by the folder."""
    found = {folder.strip("/"): rows for folder, rows in re.findall(r"^\| in `([\w/]+)`.*\n((?:\|.*\n)+)", PAGE, re.M)}
    small = re.search(r"^\| in \|.*\n((?:\|.*\n)+)", PAGE, re.M)
    assert small is not None
    return found | dict(re.findall(r"^\| `(\w+)/` \|(.*)$", small[1], re.M))


def named() -> set[str]:
    """The modules that the page names, with their folders; a folder stands for all that is in it."""
    own = {f"{folder}/{name}" for folder, rows in rooms().items() for name in re.findall(r"`([\w/]+(?:\.py|/))`", rows)}
    return own | set(re.findall(r"`(\w+\.py|\w+/[\w/]+\.py)`", PAGE.split("## The rooms: C++")[0]))


def test_every_module_is_in_its_room() -> None:
    modules = {
        path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")
    }
    there = named()
    assert [str(path) for path in sorted(modules) if not {path.as_posix(), f"{path.parent.as_posix()}/"} & there] == []


def test_every_room_holds_what_it_is_said_to_hold() -> None:
    for folder, rows in rooms().items():
        for name in re.findall(r"`([\w/]+\.py)`", rows):
            places = [SOURCE / folder / name, *(SOURCE / folder).glob(f"*/{name}")]
            assert any(place.exists() for place in places), f"{folder} has no {name}"
