"""What gpudoctor explains without looking at a machine. Rows of tables need no rules, so this package imports nothing itself."""
