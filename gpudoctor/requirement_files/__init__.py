"""Reads the files that state an environment: requirements, project and lock files, conda's environments, listings, Dockerfiles, reports."""
