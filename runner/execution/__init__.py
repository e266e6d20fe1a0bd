"""Tests to attempts: the supervisor, its worker processes, the journal, deadlines, resume."""
