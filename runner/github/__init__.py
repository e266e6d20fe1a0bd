"""GitHub's side: event, API, sticky comment, job summary, annotations, matrix outputs."""
