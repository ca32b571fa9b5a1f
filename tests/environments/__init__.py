"""Real environments from the package index: what gpudoctor says of them, held against what their frameworks do over our driver libraries."""
