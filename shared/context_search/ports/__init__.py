"""What the use cases need from the outside, as contracts; adapters keep them, tests prove it.

A ``Store`` gives transactions. Everything done through one ``UnitOfWork`` commits together or not
at all, and another transaction sees all of it or nothing.
"""
