"""What was concluded, in a form for programs (JSON), for a person (terminal) and for a status line: pure functions of a Report."""
