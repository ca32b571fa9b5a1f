"""GD9: it trains, but slowly or wrongly."""
