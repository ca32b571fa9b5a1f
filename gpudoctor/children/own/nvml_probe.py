"""NVML's answers about the driver and each GPU, through NVIDIA's own binding. Runs under gpudoctor's interpreter with -I -S.

A failed call costs its own field, a lost GPU its own answers. A mark before each call names it in case of a hang.
"""

import gc
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/../target")
sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer
from nvml_counters import FIELDS, PCIE_REPLAYS, SINGLE_FIELDS, CounterReader
from nvml_details import HELD_FIELDS, DetailReader
from nvml_library import CallRecord, NvmlCalls, load_binding
from nvml_links import LINK_COUNT, LinkReader
from nvml_questions import (
    ANCESTORS,
    LICENCES,
    MIG_QUESTIONS,
    P2P,
    QUESTIONS,
    as_bool,
    as_cuda_version,
    as_licences,
    as_number,
    as_text,
    word_of_code,
)

del sys.path[:2]
gc.disable()  # it would take two of forty milliseconds

# nvml.h, nvmlReturn_t
INVALID_ARGUMENT, NOT_FOUND = 2, 6
VGPU, P2P_READ = "vgpu", 0
PAIR_QUESTIONS = (
    ("ancestor", ("nvmlDeviceGetTopologyCommonAncestor",), word_of_code(ANCESTORS)),
    ("p2p", ("nvmlDeviceGetP2PStatus", P2P_READ), word_of_code(P2P)),
)
FIELDS_AFTER_INIT = ("gpus", "pairs", "confidential", "confidential_ready", "alarms")  # without nvmlInit
MAX_INSTANCES = 64  # a GPU has seven slices


def values_by_field(fields, values):
    """The values by field; a missing value applies to each."""
    return dict(zip(fields, [values] * len(fields) if isinstance(values, dict) else values))


class ProbedGpu:
    """One GPU, by its index."""

    def __init__(self, nvml, index):
        self.nvml, self.index = nvml, index
        self.record = nvml.record = CallRecord()
        handle = nvml.ask((("nvmlDeviceGetHandleByIndex", index),), lambda value: (value,), devices=(index,))
        self.open = not isinstance(handle, dict)
        self.handle = handle
        self.counters = CounterReader(nvml.pynvml, handle, self.ask, nvml.missing_of_error)
        self.links = LinkReader(self.ask, self.counters.read)
        self.details = DetailReader(self.ask, "--identify" in sys.argv)

    def ask(self, calls, convert, *, quiet=False):
        return self.nvml.ask(calls, convert, self.handle, (self.index,), quiet=quiet)

    def write(self, told):
        answer.write(dict(told, type="nvml-gpu", index=self.index))

    def write_facts(self):
        if not self.open:
            asked = [field for fields, _, _ in QUESTIONS for field in fields] + FURTHER_FIELDS
            self.write(dict.fromkeys(asked, self.handle))
        else:
            known = {}
            for fields, calls, convert in QUESTIONS:
                told = values_by_field(fields, self.ask(calls, convert))
                known.update(told)
                self.write(told)
            read = self.counters.read([*FIELDS, LINK_COUNT, *self.details.fields(known["ecc_enabled"])])
            self.write(self.counters.named_values(read))
            for told in self.links.facts(read[LINK_COUNT]):
                self.write(told)
            for told in self.details.facts(known["ecc_enabled"], read):
                self.write(told)
            for told in self.rarer_facts(known):
                self.write(told)
        self.write(self.record.summary())

    def write_later_facts(self):
        """Read again what should not grow, and report the errors of all calls about this GPU since it was described."""
        self.nvml.record = self.record
        read = self.counters.read([PCIE_REPLAYS, *HELD_FIELDS.values(), *self.links.fields_of_links(self.links.compared_counters())])
        self.write(dict(self.links.later_facts(read), pcie_replays_later=read[PCIE_REPLAYS], held_back_later=self.details.held_back(read)))
        told = self.record.summary()
        if self.counters.refusal and self.counters.answered:
            told["refusals"] = answer.missing("failed", "the GPU answered at first, and then %s" % self.counters.refusal["reason"])
        self.write(told)

    def rarer_facts(self, known):
        """Yield what only some GPUs have."""
        yield values_by_field(("licences",), self.ask(LICENCES, as_licences)) if known["virtualization"] == VGPU else {"licences": []}
        yield {"mig_instances": self.mig_instances() if known["mig_enabled"] is True else []}
        if known["compute_processes"] and isinstance(known["compute_processes"], list):
            answer.flush()  # the names set no mark
            yield {"compute_processes": [dict(one, name=self.process_name(one["pid"])) for one in known["compute_processes"]]}

    def process_name(self, pid):
        """The program's name without arguments and without its folder, which may be a home folder."""
        name = self.nvml.ask((("nvmlSystemGetProcessName", pid),), as_text, quiet=True)
        return name if isinstance(name, dict) else name[0].partition(" ")[0].rpartition("/")[2]

    def mig_instances(self):
        most = self.ask((("nvmlDeviceGetMaxMigDeviceCount",),), as_number)
        if isinstance(most, dict):
            return most
        if most[0] > MAX_INSTANCES:
            return answer.missing("failed", "nvmlDeviceGetMaxMigDeviceCount reports %d instances, which no GPU has" % most)
        found = []
        for place in range(most[0]):
            handle = self.ask((("nvmlDeviceGetMigDeviceHandleByIndex", place),), lambda value: (value,))
            if not isinstance(handle, dict):
                told = {"type": "mig-instance", "place": place}
                for fields, calls, convert in MIG_QUESTIONS:
                    told.update(values_by_field(fields, self.nvml.ask(calls, convert, handle, (self.index,))))
                found.append(told)
            elif handle.code not in (INVALID_ARGUMENT, NOT_FOUND):
                return handle
        return found


FURTHER_FIELDS = [
    *SINGLE_FIELDS, "retired_pages", "fabric", "nvlinks", "nvlink_version", "licences", "mig_instances", "pcie_replays_later",
    *DetailReader.NAMES, "held_back_later",
]  # fmt: skip


def write_pairs(nvml, gpus):
    """How the PCI bus connects each two GPUs, and then whether one may read the other's memory."""
    pairs = [(one, other) for place, one in enumerate(gpus) for other in gpus[place + 1 :]]
    unread = answer.missing("failed", "nvmlDeviceGetP2PStatus did not return for each pair of GPUs")
    told = [{"type": "gpu-pair", "one": one.index, "other": other.index, "p2p": unread} for one, other in pairs]
    for name, call, convert in PAIR_QUESTIONS:
        for pair, values in zip(pairs, told):
            values[name] = answer_for_pair(nvml, call, convert, pair)
        answer.write({"type": "nvml", "pairs": told})


def answer_for_pair(nvml, call, convert, pair):
    """One answer about two GPUs."""
    one, other = pair
    nvml.record = CallRecord()
    (value,) = one_value(nvml.ask((call,), convert, (one.handle[0], other.handle[0]), (one.index, other.index)))
    if nvml.record.alarms:
        attribute_alarms(nvml, nvml.record.alarms, pair)
    return value


def attribute_alarms(nvml, alarms, both):
    """Attribute NVML's errors about two GPUs to the one that also has them alone, otherwise to both."""
    for gpu in both:
        nvml.record = gpu.record
        gpu.ask((("nvmlDeviceGetUUID",),), as_text, quiet=True)
    for code, said in alarms.items():
        for gpu in [gpu for gpu in both if code in gpu.record.alarms] or both:
            gpu.record.alarms.setdefault(code, said)


def one_value(value):
    return (value,) if isinstance(value, dict) else value


def initialise(nvml):
    """Whether NVML is ready; reports its answer either way."""
    answer.mark("nvmlInit")
    try:
        nvml.pynvml.nvmlInit()
    except nvml.pynvml.NVMLError as error:
        said = nvml.status_of_code(error.value, str(error))
        answer.write(dict(dict.fromkeys(FIELDS_AFTER_INIT, nvml.missing_of_error("nvmlInit", error)), type="nvml", init=said))
        return False
    answer.write({"type": "nvml", "init": {"type": "status", "code": 0, "name": "NVML_SUCCESS", "text": "Success"}})
    return True


def write_driver_fact(nvml, question, calls, convert):
    answer.write({"type": "nvml", question: one_value(nvml.ask(calls, convert))[0]})


def main():
    pynvml = load_binding()
    if pynvml is None:
        return
    nvml = NvmlCalls(pynvml)
    ready = initialise(nvml)
    write_driver_fact(nvml, "nvml_version", (("nvmlSystemGetNVMLVersion",),), as_text)
    write_driver_fact(nvml, "driver_version", (("nvmlSystemGetDriverVersion",),), as_text)
    write_driver_fact(nvml, "cuda_served", (("nvmlSystemGetCudaDriverVersion_v2",), ("nvmlSystemGetCudaDriverVersion",)), as_cuda_version)
    if not ready:
        return
    write_driver_fact(nvml, "confidential", (("nvmlSystemGetConfComputeState",),), lambda value: as_bool(value.ccFeature))
    write_driver_fact(nvml, "confidential_ready", (("nvmlSystemGetConfComputeGpusReadyState",),), as_bool)
    count = nvml.ask((("nvmlDeviceGetCount",),), as_number)
    gap = count if isinstance(count, dict) else answer.problem_with_count("nvmlDeviceGetCount", count[0])
    if gap:
        answer.write({"type": "nvml", "gpus": gap, "pairs": gap})
        return
    answer.write({"type": "nvml", "alarms": list(nvml.record.alarms.values())})
    answer.write({"type": "count", "count": count[0]})
    gpus = []
    for index in range(count[0]):
        gpu = ProbedGpu(nvml, index)
        gpu.write_facts()
        if gpu.open:
            gpus.append(gpu)
    write_pairs(nvml, gpus)
    for gpu in gpus:
        gpu.write_later_facts()


main()
answer.write({"type": "done"})
answer.exit_now()
