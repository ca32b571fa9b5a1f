"""Counts a torch.nn.Module's training step on fake tensors with PyTorch's own counters. Tested with PyTorch 2.15.

Parameters and FLOPs are exact. `kept` is what the step saves for backward, by saved_tensors_hooks; `peak` is its highest need beside parameters,
autocast's copies of them, buffers and gradients, by torch.distributed's memory tracker. For inference `alive` is the most bytes of storages, and a model of
transformers that generates text keeps keys and values and makes the scores of one token. Kernels are the CPU's; see torch_gpu.py for where a GPU's keep something else.
"""

import collections
import contextlib
import sys

LARGE_BATCH = 8192
"""The least batch that is traced: small ones are on the line through this one and a larger one."""


class Engine:
    """PyTorch behind the interface of fit.py."""

    def __init__(self, options, refused, neighbour):
        import torch

        self._torch, self._options, self._refused = torch, options, refused
        self._dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(options.precision)
        try:
            from torch._subclasses.fake_tensor import FakeTensorMode
            from torch.utils.flop_counter import flop_registry

            self._fake = FakeTensorMode(allow_non_fake_inputs=True)
        except ImportError:
            raise refused("needs a PyTorch with FakeTensorMode and FLOP formulas; this is {}".format(torch.__version__)) from None
        about, flops, self._as_on_gpus = neighbour("torch_values"), neighbour("torch_flops"), neighbour("torch_gpu").layers_as_on_gpus
        self._blocks, self._alive = neighbour("torch_blocks"), neighbour("torch_alive")
        self._formulas, self._grouped, self._moved = (
            flops.flop_formulas(torch.ops.aten, flop_registry),
            flops.result_of_grouped_matmul,
            flops.moved_bytes,
        )
        self._recurrent = about.RECURRENT
        self._values, self._unknown, self._needed = about.Values(torch), about.value_errors(), about.REFUSAL

    def around(self, build):
        hub = sys.modules.get("transformers")
        if hub:  # its initial values depend on others, which fake tensors do not have
            hub.PreTrainedModel._initialize_weights = lambda *_, **__: None  # noqa: SLF001 -- not asked for by option

        def traced():
            try:
                with self._fake, self._values.mode():
                    return build()
            except Exception as error:  # it may need values, such as those of linspace, or load weights in a way that makes no fake tensors
                with contextlib.suppress(Exception):
                    return build()
                raise self._refused(self._needed) if isinstance(error, self._unknown) else error from error

        return traced

    def owns(self, made):
        first = made[0] if isinstance(made, tuple) and len(made) == 2 else made
        return isinstance(first, self._torch.nn.Module)

    def count(self, made, batches):
        module, example = made if isinstance(made, tuple) else (made, None)
        parallel = self._torch.nn.parallel
        while isinstance(module, (parallel.DataParallel, parallel.DistributedDataParallel)):
            module = module.module
        module.train(not self._options.infer)
        if not self._options.infer and not any(parameter.requires_grad for parameter in module.parameters()):
            raise self._refused("has no trainable parameters: count inference with --infer")
        # oneDNN's recurrent layers have a workspace whose size no fake tensor knows
        with self._fake, self._as_on_gpus(self._torch, self._recurrent), self._torch.backends.mkldnn.flags(enabled=False):
            replace_values(self._torch, module, self._dtype if self._options.infer else None)
            facts, holder = self._facts(module), self._torch.nn.ModuleList([module])
            if self._options.infer:
                yield from self._passes(module, example, batches, facts)
                return
            inputs = [self._inputs(example, batch) for batch in batches]
            whole = list(self._steps(module, example, batches))
            for part in module.modules():  # transformers' cache of keys and values, to which recomputed blocks would add theirs again
                if hasattr(getattr(part, "config", None), "use_cache"):
                    part.config.use_cache = False
            blocks = self._blocks.checkpoint_blocks(self._torch, holder)
            again = list(self._steps(holder[0], example, batches))
        parameter_count = self._blocks.parameter_count
        inside = parameter_count(self._torch.nn.ModuleList(blocks))  # each shared parameter once
        facts["sample"], facts["largest_block"] = sample_text(inputs[0]), max(map(parameter_count, blocks), default=0)
        facts["outside"] = max(0, facts["parameters"] - inside)
        for batch, arguments, step, recomputing in zip(batches, inputs, whole, again):
            yield batch, dict(self._with_inputs(facts, arguments), again=recomputing, **step)

    def _with_inputs(self, facts, arguments):
        """Facts with those of the inputs, and where values were assumed."""
        return dict(facts, input_bytes=sum(map(byte_count, tensors_of(*arguments))), assumed=list(self._values.places))

    def _passes(self, module, example, batches, facts):
        """The counts of a forward pass without gradients for each batch."""
        named = self._alive.arguments_to_generate(module)
        inputs = []
        for batch in batches:
            positional, others = self._inputs(example, batch, self._dtype)
            inputs.append((positional, {**{name: other for name, other in others.items() if not named or name != "labels"}, **named}))
        facts["sample"] = sample_text(inputs[0])
        for batch, arguments, (counts,) in zip(batches, inputs, self._heavier_steps(self._pass, module, inputs, "alive")):
            yield batch, dict(self._with_inputs(facts, arguments), **counts)

    def _pass(self, module, positional, named):
        """FLOPs of a forward pass, and the most bytes that it makes alive beside keys and values."""
        own = {storage_key(parameter) for parameter in (*module.parameters(), *module.buffers())}
        with self._torch.no_grad(), self._watch({}) as watch, self._alive.mode_of_living_storages(own, storage_key, tensors_of) as alive:
            for tensor in tensors_of(positional, named):
                alive.note(tensor)
            output = module(*positional, **named)
        kept = self._alive.keys_and_values(output)
        cache = sum({storage_key(one): one.untyped_storage().nbytes() for one in kept}.values())
        counts = {"forward_flops": watch.flops, "flops": watch.flops, "moved": watch.moved, "kept": 0, "peak": 0}
        return (dict(counts, alive=alive.most - cache, cache=cache),)

    def _steps(self, module, example, batches):
        """The counts for each batch, on the line through those of much larger ones, at whose peak there are few gradients; they cost no more.

        What does not grow with the batch at that peak are gradients and autocast's copies of weights, which are counted elsewhere.
        """
        sizes = [batch * max(1, LARGE_BATCH // batches[0]) for batch in batches]
        (first, top, moments_of_backward), (last, last_top, _) = self._heavier_steps(
            self._step, module, [self._inputs(example, size) for size in sizes], "kept"
        )

        def at(batch, value, larger):
            return value + (larger - value) * (batch - sizes[0]) // (sizes[1] - sizes[0])

        for batch in batches:
            step = {key: at(batch, first[key], last[key]) for key in first}
            peak = None if None in (top, last_top) else step["kept"] + (last_top - top) * batch // (sizes[1] - sizes[0])
            yield dict(step, peak=peak, moments=moments_of_backward)

    def _heavier_steps(self, step, module, inputs, measure):
        """The steps for inputs, in that order. Where conditions on values decide: if they hold and if they do not, what has more of this measure."""
        runs, values, failed = [], self._values, None
        for hold in (True, False):
            values.hold, values.conditions = hold, 0
            try:
                for _ in range(2):  # the first time no mask is known to exclude others
                    known = values.excluding()
                    with values.mode():
                        steps = [step(module, *tensor) for tensor in inputs]
                    if values.excluding() == known:
                        break
                runs.append(steps)
            except self._unknown as error:
                raise self._refused(self._needed) from error
            except Exception as error:
                if not values.conditions:
                    raise
                failed = error
            if not values.conditions:
                break
        if not runs:
            raise failed
        return max(runs, key=lambda steps: steps[-1][0][measure])

    def _facts(self, module):
        nn, parameters = self._torch.nn, list(module.parameters())
        linear = [one for one in module.modules() if isinstance(one, nn.Linear)]
        adapted = {id(one.weight) for one in linear[:-1]}
        return {
            "framework": self._torch.__name__,
            "version": str(self._torch.__version__),
            "parameters": self._blocks.parameter_count(module),
            "trainable": sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
            "buffer_bytes": sum(map(byte_count, module.buffers())),
            "projections": [[*reversed(parameter.shape), id(parameter) in adapted] for parameter in parameters if parameter.dim() == 2],
        }

    def _inputs(self, example, batch, dtype=None):
        """Positional and named arguments for a batch of that size, numbers that are not whole in this type."""
        torch, options = self._torch, self._options
        if example is None and options.image:
            example = torch.zeros(batch, 3, *options.image)
        elif example is None and options.seq:
            example = torch.zeros(batch, options.seq, dtype=torch.long)
        elif example is None:
            raise self._refused("returned a module alone: give --image HxW or --seq L, or return (module, inputs)")
        named = dict(example) if hasattr(example, "keys") else {}
        positional = () if named else tuple(example) if isinstance(example, (tuple, list)) else (example,)
        with_batch = [tensor for tensor in tensors_of(positional, named) if tensor.dim()]
        if not with_batch:
            raise self._refused("returned inputs without a tensor that has a batch dimension")
        before = with_batch[0].shape[0]

        def resized(one):
            if not isinstance(one, torch.Tensor) or not one.dim() or one.shape[0] != before:
                return one
            return torch.zeros((batch, *one.shape[1:]), dtype=dtype if dtype and one.is_floating_point() else one.dtype)

        return tuple(map(resized, positional)), {name: resized(one) for name, one in named.items()}

    def _loss(self, module, positional, named):
        """What the model returns, and its own loss if that is in it; else cross entropy over classes or tokens, or the mean of squares of anything else."""
        torch = self._torch
        with torch.autocast("cpu", self._dtype) if self._dtype else contextlib.nullcontext():
            output = returned = module(*positional, **named)
        while not isinstance(output, torch.Tensor):
            parts = output if isinstance(output, (list, tuple)) else list(output.values()) if hasattr(output, "values") else ()
            if not parts:
                raise self._refused("returned a model whose output is a {}, not a tensor".format(type(output).__name__))
            output = parts[0]
        tokens = not all(tensor.is_floating_point() for tensor in tensors_of(positional, named))
        if output.dim() == 2 or (output.dim() > 2 and tokens):
            flat = output.flatten(0, -2).float()
            return returned, torch.nn.functional.cross_entropy(flat, torch.zeros(len(flat), dtype=torch.long))
        return returned, output.float().square().mean() if output.dim() else output

    def _step(self, module, positional, named):
        """What a step counts, its highest need beyond what it keeps, and its moments. The need is None where PyTorch's memory tracker fails."""
        with contextlib.suppress(Exception):
            from torch.distributed._tools.mem_tracker import MemTracker

            tracker = MemTracker()
            # no statistics of modules: each operation would be compared with those of every module, hundreds of times in a step
            tracker._pre_fw_hook = tracker._post_fw_hook = tracker._pre_bw_hook = tracker._post_bw_hook = None  # noqa: SLF001 -- as above
            for parameter in module.parameters():
                if not parameter.requires_grad:  # the tracker hooks every parameter, and PyTorch refuses for these
                    parameter.register_hook = parameter.register_post_accumulate_grad_hook = self._no_hook
            tracker._track_module_params_and_buffers(module)  # noqa: SLF001 -- the first of those hooks does, and hooks gradients
            tracker.track_external(*tensors_of(positional, named))
            counts, points = self._traced(module, positional, named, tracker)
            (peak,) = tracker.get_tracker_snapshot("peak").values()
            sizes = {str(getattr(kind, "value", kind)): size for kind, size in peak.items()}
            beside = sum(sizes.get(kind, 0) for kind in ("Parameter", "Buffer", "Gradient"))
            return counts, sizes["Total"] - beside - counts["kept"], points
        counts, points = self._traced(module, positional, named, contextlib.nullcontext())
        return counts, None, points

    def _traced(self, module, positional, named, tracker):
        """FLOPs and what is saved for backward, and the moments of backward."""
        kept, events = {}, []
        own = {storage_key(one): one for one in (*module.parameters(), *module.buffers())}

        def note(tensor):
            kept[storage_key(tensor)] = tensor.untyped_storage().nbytes()
            return tensor

        def read(tensor):
            events.append((storage_key(tensor), 0))
            return tensor

        def arrived(parameter):
            events.append((None, parameter.numel()))

        hooks = [one.register_post_accumulate_grad_hook(arrived) for one in module.parameters() if one.requires_grad]
        try:
            with tracker, self._watch(own) as watch:
                with self._torch.autograd.graph.saved_tensors_hooks(note, read):
                    _returned, loss = self._loss(module, positional, named)  # a loop holds what the model returns
                kept = {key: size for key, size in kept.items() if key not in own}
                own.clear()  # backward may make others at the same addresses
                forward, moved = watch.flops, watch.moved
                loss.backward()
        finally:
            module.zero_grad(set_to_none=True)
            for hook in hooks:
                hook.remove()
        return {"forward_flops": forward, "flops": watch.flops, "moved": moved, "kept": sum(kept.values())}, list(
            moments_of_backward(kept, events)
        )

    def _watch(self, own):
        """A mode that counts FLOPs and bytes, and adds to `own` what autocast makes of parameters, by storage. FlopCounterMode would mislead the tracker."""
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils._pytree import tree_flatten

        formulas, values, grouped, moved = self._formulas, self._values, self._grouped, self._moved

        class Watch(TorchDispatchMode):
            supports_higher_order_operators, flops, moved = True, 0, 0
            cast = self._torch.ops.aten._to_copy.default  # noqa: SLF001 -- its public name
            groups = getattr(getattr(self._torch.ops.aten, "_grouped_mm", None), "default", None)

            def __torch_dispatch__(self, function, types, arguments=(), named=None):
                result = grouped(*arguments, **(named or {})) if function is self.groups else values.selected(function, arguments)
                result = function(*arguments, **(named or {})) if result is None else result
                formula = formulas.get(getattr(function, "overloadpacket", function))
                self.flops += formula(*arguments, **(named or {}), out_val=result) if formula else 0
                read, made = (tensors_of(tree_flatten(several)[0], {}) for several in ((arguments, named), result))
                self.moved += moved(read, made, storage_key)
                if function is self.cast and storage_key(arguments[0]) in own and result.numel() <= stored_elements(arguments[0]):
                    own[storage_key(result)] = result  # alive, or something else would get its address
                return result

        return Watch()

    def _no_hook(self, _hook):
        return self._torch.utils.hooks.RemovableHandle(collections.OrderedDict())


def stored_elements(tensor):
    """How many numbers its storage holds: fewer than an expanded tensor has."""
    return tensor.untyped_storage().nbytes() // tensor.element_size()


def moments_of_backward(kept, events):
    """The bytes kept, and the parameters that have gradients: at first, and as each gradient arrives. What a layer read is freed after its gradient."""
    alive, present, freed = sum(kept.values()), 0, 0
    last = {key: place for place, (key, _) in enumerate(events)}
    yield alive, present
    for place, (key, count) in enumerate(events):
        if count:
            present += count
            yield alive, present
            alive, freed = alive - freed, 0
        elif last[key] == place:
            freed += kept.get(key, 0)


def replace_values(torch, module, dtype):
    """Replace parameters and buffers that have values, and parameters that share no memory with their views, as copy.deepcopy makes them of fake ones.

    With a type, replace all numbers that are not whole and not in it.
    """
    made = {}
    for part in module.modules():
        for parts in (part._parameters, part._buffers):  # noqa: SLF001 -- setattr would call what the user's class has for it
            for name, one in parts.items():
                other = one is not None and dtype and one.is_floating_point() and one.dtype != dtype
                if one is not None and (other or storage_key(one) != storage_key(one.detach())):
                    new = torch.empty_like(one, dtype=dtype if other else one.dtype)
                    new = torch.nn.Parameter(new, one.requires_grad) if isinstance(one, torch.nn.Parameter) else new
                    parts[name] = made.setdefault(id(one), (new, one))[0]


def tensors_of(positional, named):
    """The tensors among arguments."""
    return [one for one in (*positional, *named.values()) if hasattr(one, "untyped_storage")]


def storage_key(tensor):
    """What tells a tensor's memory from others'."""
    return tensor.untyped_storage()._cdata  # noqa: SLF001 -- fake tensors have no address


def byte_count(tensor):
    """Bytes of a tensor."""
    return tensor.numel() * tensor.element_size()


def sample_text(inputs):
    """One sample's types and shapes: "float32 3x32x32"."""
    parts = ["{} {}".format(str(tensor.dtype)[6:], "x".join(map(str, tensor.shape[1:]))) for tensor in tensors_of(*inputs)]
    return ", ".join(part.strip() for part in parts)
