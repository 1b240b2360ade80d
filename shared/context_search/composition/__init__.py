"""Puts the parts together: the only package that knows every class.

A module for each function has its use cases; ``parts``, ``access``, ``models`` and ``editing`` are
what several functions share. What is costly to load and seldom needed is imported where it is made.
"""
