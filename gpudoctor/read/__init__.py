"""Reads what people paste and attach: a gpudoctor report, or text from other tools, as a Snapshot."""
