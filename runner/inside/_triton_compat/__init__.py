"""The only code of this tool that runs in the tested environment: standard library and pytest alone."""
