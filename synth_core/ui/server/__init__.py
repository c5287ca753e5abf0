"""What surrounds the pages: start and end of the server, its job manager, its doors, who may do what."""
