"""Honest fakes of the ports, held to the same contract suite as the real parts.

They run the simulation and the fast tests, and make no promise about durability.
"""
