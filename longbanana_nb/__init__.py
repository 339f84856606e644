"""LongBanana workbench."""
