"""What a forward pass without gradients holds at once in PyTorch: storages that are alive, and a transformer's keys and values."""

import inspect
import sys
import weakref


def mode_of_living_storages(own, storage, tensors):
    """A mode that counts the bytes of storages that operations make, but for those of `own`, until they are freed."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    alive = {}

    class Alive(TorchDispatchMode):
        supports_higher_order_operators, now, most = True, 0, 0

        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            result = function(*arguments, **(named or {}))
            for tensor in tensors(tree_flatten(result)[0], {}):
                self.note(tensor)
            return result

        def note(self, tensor):
            key = storage(tensor)
            if key not in own and key not in alive:
                alive[key] = tensor.untyped_storage().nbytes()
                self.now += alive[key]
                self.most = max(self.most, self.now)
                weakref.finalize(tensor.untyped_storage(), self.forget, key).atexit = False

        def forget(self, key):
            self.now -= alive.pop(key)

    return Alive()


def arguments_to_generate(module):
    """Have a model of transformers that generates text keep keys and values, and return what else its forward pass is given then."""
    hub = sys.modules.get("transformers")
    if not (hub and isinstance(module, hub.PreTrainedModel) and module.can_generate()):
        return {}
    for part in module.modules():
        if hasattr(getattr(part, "config", None), "use_cache"):
            part.config.use_cache = True
    return {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(module.forward).parameters else {"use_cache": True}


def keys_and_values(output):
    """The tensors of the cache that a model of transformers returns; older releases call it past_key_values."""
    return _tensors_within(getattr(output, "cache", None) or getattr(output, "past_key_values", None), set())


def _tensors_within(value, seen):
    """The tensors in an object and its parts, at any depth."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if hasattr(value, "untyped_storage"):
        yield value
        return
    parts = value if isinstance(value, (list, tuple)) else (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values()
    for part in parts:
        yield from _tensors_within(part, seen)
