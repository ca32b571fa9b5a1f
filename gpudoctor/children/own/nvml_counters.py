"""The counters that NVML returns in batches: ECC, retired pages, PCIe replays, recovery action."""

import gpudoctor_answer as answer
from nvml_questions import RECOVERY_ACTIONS, word_of_code

# nvml.h, NVML_FI_DEV_*
PCIE_REPLAYS = 94
SINGLE_FIELDS = {
    "ecc_corrected": 3,
    "ecc_uncorrected": 4,
    "ecc_corrected_total": 5,
    "ecc_uncorrected_total": 6,
    "pcie_replays": PCIE_REPLAYS,
    "recovery_action": 230,
}
RETIRED_FIELDS = {"single_bit": 29, "double_bit": 30, "pending": 31}
FIELDS = (*SINGLE_FIELDS.values(), *RETIRED_FIELDS.values())

INVALID_ARGUMENT, NOT_SUPPORTED, UNKNOWN = 2, 3, 999
VALUE_FIELDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by nvmlValueType_t


class CounterReader:
    """One GPU's counters; `ask` is the probe's function that calls NVML, `explain` the one that says why a call failed."""

    def __init__(self, pynvml, handle, ask, explain):
        self.pynvml, self.handle, self.ask, self.explain = pynvml, handle, ask, explain
        self.answered = False  # whether a call gave fields
        self.refusal = None  # why the last one gave none

    def named_values(self, read):
        """Every counter of FIELDS, from the values read."""
        told = {name: read[code] for name, code in SINGLE_FIELDS.items()}
        if isinstance(told["recovery_action"], int):
            (told["recovery_action"],) = word_of_code(RECOVERY_ACTIONS)(told["recovery_action"])
        return dict(told, retired_pages=self.retired_pages(read))

    def retired_pages(self, read):
        values = {name: read[code] for name, code in RETIRED_FIELDS.items()}
        problem = next((value for value in values.values() if isinstance(value, dict)), None)
        return problem or dict(values, type="retired-pages", pending=bool(values["pending"]))

    def pcie_replays(self):
        """Only the PCIe replays, for a second look at whether they grow."""
        return self.read([PCIE_REPLAYS])[PCIE_REPLAYS]

    def read(self, wanted):
        """Each field's value, or why it has none, by its number or by number and scope."""
        places = [field if isinstance(field, tuple) else (field, 0) for field in wanted]  # as pairs: the binding tries those first
        values = self.ask((("nvmlDeviceGetFieldValues", places),), lambda value: (value,))
        self.refusal = values if isinstance(values, dict) else None
        if self.refusal:
            return dict.fromkeys(wanted, values)
        self.answered = True
        return {code: self.value(one) for code, one in zip(wanted, values[0])}

    def value(self, one):
        code = one.nvmlReturn
        if code in (INVALID_ARGUMENT, NOT_SUPPORTED):
            return answer.missing("unsupported", "this driver or GPU has no NVML field %d" % one.fieldId)
        if code or not 0 <= one.valueType < len(VALUE_FIELDS):
            return self.explain("nvmlDeviceGetFieldValues", self.pynvml.NVMLError(code or UNKNOWN))
        return int(getattr(one.value, VALUE_FIELDS[one.valueType]))
