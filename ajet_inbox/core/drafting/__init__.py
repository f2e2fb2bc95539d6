"""Drafts: from a task description and what is found around it to blueprints and their yamls (contract section 9)."""
