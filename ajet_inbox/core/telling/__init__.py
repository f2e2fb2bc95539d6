"""What programs and people are told of a run: snapshots, reports, and what must not be shown."""
