"""The supervisor of one attempt: small, neutral by name, needing nobody (contract sections 3, 4 and 7).

It uses the standard library alone, and little of that: it is started for every attempt, between a free slot and the
first instruction of the command, so `pathlib`, `typing` and `subprocess` (together 15 ms of start-up) are left out.
Nothing here imports the rest of ajet_inbox; `edge.processes` shares `proc`, `tree` and `sweep`.
"""
