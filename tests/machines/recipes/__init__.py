"""How each recorded machine is built, and the diagnosis that it must get."""

from __future__ import annotations

from tests.machines.recipes import (
    builds,
    cuda,
    fabrics,
    field,
    first,
    generations,
    gpus,
    kernel,
    libraries,
    loads,
    lost,
    preflight,
    stacks,
    surroundings,
    unchecked,
    worn,
)
from tests.machines.recipes.base import TF, Recipe, all_but, cards, healthy

__all__ = ["RECIPES", "TF", "Recipe", "all_but", "cards", "healthy"]

_TABLES = (
    builds.RECIPES,
    cuda.RECIPES,
    fabrics.RECIPES,
    field.RECIPES,
    first.RECIPES,
    generations.RECIPES,
    gpus.RECIPES,
    kernel.RECIPES,
    libraries.RECIPES,
    loads.RECIPES,
    lost.RECIPES,
    preflight.RECIPES,
    stacks.RECIPES,
    surroundings.RECIPES,
    unchecked.RECIPES,
    worn.RECIPES,
)
RECIPES: dict[str, Recipe] = {name: recipe for table in _TABLES for name, recipe in table.items()}
