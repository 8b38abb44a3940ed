"""A page to look at trained networks: neighbourhoods, influence, attention, mistakes."""

from justjump.analysis.explore.server import make_app, serve
from justjump.analysis.explore.session import Session, open_session

__all__ = ["Session", "make_app", "open_session", "serve"]
