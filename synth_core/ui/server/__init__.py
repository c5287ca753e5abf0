"""What surrounds the pages: start and end of the server, its job manager, cookies, who may do what."""
