"""The rules, a file for each thing that is looked at."""
