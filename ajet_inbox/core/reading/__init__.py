"""Blueprints: from Markdown to values, and what is doubtful about them (contract section 6)."""
