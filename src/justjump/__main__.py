"""The command ``justjump``, and ``python -m justjump``."""

import signal

from justjump.interrupt import interrupt, is_default


def main() -> None:
    """Run the command."""
    if is_default():
        signal.signal(signal.SIGINT, interrupt)
    from justjump.cli import main as command  # takes a while to import

    command()


if __name__ == "__main__":
    main()
