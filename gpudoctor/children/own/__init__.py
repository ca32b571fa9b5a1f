"""Scripts that run under gpudoctor's own interpreter, without site-packages."""
