"""Matrix file to plan: read, expand, resolve against the index, decide availability, group into jobs."""
