"""A scripted agent that answers questions over three documents, and counts what it takes."""
