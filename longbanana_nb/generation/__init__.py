"""Candidates: how a case becomes an image, or a recorded outcome without one."""
