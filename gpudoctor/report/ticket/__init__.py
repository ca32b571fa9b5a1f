"""A diagnosis to send to somebody: Markdown for a tracker, or one page of HTML. Both can be diagnosed again."""
