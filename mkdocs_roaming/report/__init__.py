"""What readers asked: a report on the logs of an endpoint."""
