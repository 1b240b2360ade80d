"""The simulation's model of the store: rows in dictionaries, one transaction at a time."""
