"""``python -m justjump``"""

from justjump.cli import main

if __name__ == "__main__":
    main()
