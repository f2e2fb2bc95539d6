"""What people and programs do with a home, from any host that sees it, without a socket to any watcher."""
