"""What level full measures in addition: copies, memory, matmul in four precisions, one compiled step. Python 3.6 and newer; draws no conclusions.

    {"event": "copy", "device", "direction": "to"|"from", "pinned", "size", "bytes_per_second"}
    {"event": "memory", "device", "size", "bytes_per_second"}                             bytes read and written by doubling an array
    {"event": "product", "device", "precision": "fp32"|"tf32"|"bf16"|"fp16", "size", "flops", "error", "tolerance"}
    {"event": "compiled", "device", "compiler", "seconds", "step_seconds", "loss_difference", "loss_tolerance"}

Their stages are copies, memory, products and compiled step, for each device. A precision that a framework or device lacks has no event.
Sizes depend on the memory that may be used and are tiny on the CPU; each figure takes a quarter of a second, a twentieth on the CPU, or one repetition.

The factors are random multiples of 1/64 between -1 and 1. Each of the four precisions holds them exactly, float32 holds every sum of up to 2^24 of
their products exactly (multiples of 2^-12 below 2^12), so the only errors of a right matmul are the rounding of its result and, if a library adds
partial sums in the result's precision, of those. The error is |row - exact row| / |exact row|, the largest of eight rows spread over the
matrix, with the exact ones in float64; its tolerance is 2 u + n 2^-24, with u the unit roundoff of the result (2^-24, 2^-24, 2^-8, 2^-11). One row
that is wrong by 1 % exceeds each of them.

In addition to stages.py's interface, an engine has

    pins                                whether it offers pinned memory
        host(array, pinned)                 an array in host memory to copy from
        upload(logical, host)               the array on the device after a copy, finished
        download(there, pinned)             the copy back, finished
        doubler(logical, count)             run() doubles `count` float32 on the device
        multiplier(logical, left, right, precision)   run() multiplies them on the device in this precision; None if it cannot
        rows(product, numbers)              those rows, as float64
        wait(result)                        returns when the result of run() is available
        compiler                            the name of the compiler of a step; None if this release has none
        compiled(logical, network)          a trainer with a compiled step
"""

import functools
import time

PRECISIONS = {"fp32": 2.0**-24, "tf32": 2.0**-24, "bf16": 2.0**-8, "fp16": 2.0**-11}
"""The unit roundoff of each precision's result."""
ROWS = 8
MIB = 1 << 20
LEAST, LEAST_ON_CPU = 0.25, 0.05
"""Seconds that a figure is measured for."""
UNKNOWN_SHARE = 256 * MIB
"""Most bytes to use on a GPU with unknown free memory."""
MOST_COPIED, MOST_DOUBLED, LARGEST_PRODUCT = 256 * MIB, 1024 * MIB, 8192
SMALL_BYTES, SMALL_PRODUCT = 4 * MIB, 256
GRAIN = 256
COMPILED_STEPS = 20


class Measures:
    """The stages of one run."""

    def __init__(self, stages, pace):
        self.engine, self.task, self.answers, self.np = stages.engine, stages.task, stages.answers, stages.np
        self.pace = pace
        self.factors = functools.lru_cache(maxsize=1)(self._factors)

    def stages(self):
        return (self.copies, self.memory, self.products, *([self.compiled] if self.engine.compiler else []))

    def share(self, device):
        """Bytes that may be used; none on the CPU, where sizes are small."""
        if not device.name.startswith("GPU"):
            return 0
        known = getattr(self.engine, "memory", {}).get(int(device.name[4:]))
        return known[0] if known else UNKNOWN_SHARE

    def seconds(self, device, run, wait):
        """Those of one of many run()."""
        return self.pace(run, wait, LEAST if self.share(device) else LEAST_ON_CPU)

    def bytes(self, device, most):
        """The size of one of several arrays that are on the device together."""
        share = self.share(device)
        return min(most, share // 4) // MIB * MIB if share else SMALL_BYTES

    def copies(self, device):
        with self.answers.stage("copies", device=device.name):
            size = self.bytes(device, MOST_COPIED)
            array = self.np.ones(size // 4, self.np.float32)
            for pinned in (False, True) if self.engine.pins and self.share(device) else (False,):
                host = self.engine.host(array, pinned)
                there = self.engine.upload(device.logical, host)
                runs = {
                    "to": functools.partial(self.engine.upload, device.logical, host),
                    "from": functools.partial(self.engine.download, there, pinned),
                }
                for direction, run in runs.items():
                    rate = size / self.seconds(device, run, lambda _: None)
                    self.answers.event("copy", device=device.name, direction=direction, pinned=pinned, size=size, bytes_per_second=rate)

    def memory(self, device):
        with self.answers.stage("memory", device=device.name):
            size = self.bytes(device, MOST_DOUBLED)
            seconds = self.seconds(device, self.engine.doubler(device.logical, size // 4), self.engine.wait)
            self.answers.event("memory", device=device.name, size=2 * size, bytes_per_second=2 * size / seconds)

    def products(self, device):
        with self.answers.stage("products", device=device.name):
            share = self.share(device)
            largest = int((share / 24.0) ** 0.5) // GRAIN * GRAIN
            size = max(SMALL_PRODUCT, min(LARGEST_PRODUCT, largest)) if share else SMALL_PRODUCT
            for precision in PRECISIONS:
                self.answers.mark("products in {} on {}".format(precision, device.name))
                self.multiply(device, size, precision)

    def multiply(self, device, size, precision):
        left, right, numbers, exact = self.factors(size)
        run = self.engine.multiplier(device.logical, left, right, precision)
        if run is None:
            return
        seconds = self.seconds(device, run, self.engine.wait)
        error = self.np.linalg.norm(self.engine.rows(run(), numbers) - exact, axis=1) / self.np.linalg.norm(exact, axis=1)
        tolerance = 2 * PRECISIONS[precision] + size * 2.0**-24
        facts = {"size": size, "flops": 2.0 * size**3 / seconds, "error": float(error.max()), "tolerance": tolerance}
        self.answers.event("product", device=device.name, precision=precision, **facts)

    def _factors(self, size):
        """Both factors, and some rows of their product."""
        np = self.np
        random = np.random.RandomState(5)
        left = random.randint(-64, 65, (size, size), np.int8).astype(np.float32) / np.float32(64)
        right = np.ascontiguousarray(left[::-1, ::-1])
        numbers = [size * number // ROWS for number in range(ROWS)]
        blocks = [slice(first, first + 1024) for first in range(0, size, 1024)]
        exact = [left[numbers].astype(np.float64) @ right[:, block].astype(np.float64) for block in blocks]
        return left, right, numbers, np.concatenate(exact, axis=1)

    def compiled(self, device):
        """Compare the first step of the dense network, compiled, with the same step uncompiled."""
        with self.answers.stage("compiled step", device=device.name) as facts, self.engine.full_float32():
            facts["compiler"] = self.engine.compiler
            batch = next(self.task.batches(self.np, 1))
            plain = self.engine.trainer(device.logical, self.task.DENSE)
            expected = float(plain.step(*plain.place(*batch)))
            self.answers.mark("compiling a step by {}".format(self.engine.compiler))
            began = time.monotonic()
            trainer = self.engine.compiled(device.logical, self.task.DENSE)
            placed = trainer.place(*batch)
            loss = float(trainer.step(*placed))
            seconds = time.monotonic() - began
            began = time.monotonic()
            last = [trainer.step(*placed) for _ in range(COMPILED_STEPS)][-1]
            float(last)
            self.answers.event(
                "compiled",
                device=device.name,
                compiler=self.engine.compiler,
                seconds=seconds,
                step_seconds=(time.monotonic() - began) / COMPILED_STEPS,
                loss_difference=abs(loss - expected),
                loss_tolerance=self.task.LOSS_TOLERANCE,
            )
