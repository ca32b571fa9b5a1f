"""GD5: framework builds."""
