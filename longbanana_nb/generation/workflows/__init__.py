"""Workflows: what an agent is told to do beyond drawing, what it leaves of it, and whether it did so."""
