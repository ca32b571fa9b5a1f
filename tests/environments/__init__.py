"""Real environments from the package index: gpudoctor's result compared with what their frameworks do over our driver libraries."""
