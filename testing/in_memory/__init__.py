"""Honest fakes of the ports, held to the same contract suite as the real parts.

They stand for the outside in the simulation and in fast tests; nothing in them is durable.
"""
