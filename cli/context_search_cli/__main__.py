"""``python -m context_search_cli``."""

from context_search_cli.main import main

main()
