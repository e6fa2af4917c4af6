"""Estimates from the reports of several services about the same people, joined by a key.

People of one subset gave to the same services, so a subset is to joined reports what a level is to those of one survey.
Read in this order:

- `services`: subsets of people, the reports of each service, and what every result says of services
- `combine`: weights of services and subsets, and errors: sums over what each part of the reports says alone
- `shares`, `numbers`, `sets`: what a part of the reports says of the answers of each kind, and the result
- `verb`: `estimate_fused`, one verb for every kind
"""
