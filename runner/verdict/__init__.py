"""Results to findings and verdict. Pure: no clock, no network, no subprocess, no environment variable."""
