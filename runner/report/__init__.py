"""Verdict and results to Markdown, HTML, SVG, JUnit and terminal. Pure but for the terminal's drawing."""
