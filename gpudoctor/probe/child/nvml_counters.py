"""The counters that NVML answers many at a time: ECC, retired pages, PCIe replays, recovery action, NVLink errors."""

import gpudoctor_answer as answer
from nvml_questions import RECOVERY_ACTIONS, word

# nvml.h, NVML_FI_DEV_*
PCIE_REPLAYS = 94
SINGLE = {
    "ecc_corrected": 3,
    "ecc_uncorrected": 4,
    "ecc_corrected_total": 5,
    "ecc_uncorrected_total": 6,
    "pcie_replays": PCIE_REPLAYS,
    "recovery_action": 230,
}
RETIRED = {"single_bit": 29, "double_bit": 30, "pending": 31}
LINK = {"replays": 161, "recoveries": 162, "crc_errors": 163}  # with the link as scope, since branch 525
LINK_OLD = {"replays": 0, "recoveries": 1, "crc_errors": 2}  # nvmlNvLinkErrorCounter_t, a call a counter

INVALID_ARGUMENT, NOT_SUPPORTED, UNKNOWN = 2, 3, 999
MOST_LINKS = 64
VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by nvmlValueType_t


class Counters:
    """One GPU's counters; `ask` is the probe's way to call NVML, `explain` its way to say why a call failed."""

    def __init__(self, pynvml, handle, ask, explain):
        self.pynvml, self.handle, self.ask, self.explain = pynvml, handle, ask, explain
        self.refusal = None  # of the older calls: what one link does not offer, no other does

    def all(self):
        links = self.links()
        up = [link["link"] for link in links if link["active"] is True] if isinstance(links, list) else []
        wanted = [*SINGLE.values(), *RETIRED.values(), *((code, link) for link in up for code in LINK.values())]
        read = self.read(wanted)
        told = {name: read[code] for name, code in SINGLE.items()}
        if isinstance(told["recovery_action"], int):
            (told["recovery_action"],) = word(RECOVERY_ACTIONS)(told["recovery_action"])
        told["retired_pages"] = self.retired(read)
        for link in links if up else ():
            if link["link"] in up:
                link.update(self.errors(link["link"], read))
        return dict(told, nvlinks=links)

    def links(self):
        """The state of each link; NVML tells by refusal where a GPU's links end."""
        found = []
        for link in range(MOST_LINKS):
            state = self.ask((("nvmlDeviceGetNvLinkState", link),), lambda value: (bool(value),), quiet=link > 0)
            if not isinstance(state, dict):
                found.append({"type": "nv-link", "link": link, "active": state[0]})
                continue
            if state.code not in (INVALID_ARGUMENT, NOT_SUPPORTED):
                if not found:
                    return state
                found.append({"type": "nv-link", "link": link, "active": state})
            break
        return found or answer.missing("unsupported", "this GPU has no NVLink")

    def errors(self, link, read):
        """Newer drivers count them among the fields, older ones answer a call for each."""
        counted = {name: read[code, link] for name, code in LINK.items()}
        if not all(isinstance(value, dict) and value["cause"] == "unsupported" for value in counted.values()):
            return counted
        if self.refusal:
            return dict.fromkeys(LINK, self.refusal)
        counted = {name: self.old_error(link, which) for name, which in LINK_OLD.items()}
        self.refusal = counted["replays"] if isinstance(counted["replays"], dict) else None
        return counted

    def old_error(self, link, which):
        value = self.ask((("nvmlDeviceGetNvLinkErrorCounter", link, which),), lambda value: (int(value),), quiet=True)
        return value if isinstance(value, dict) else value[0]

    def retired(self, read):
        values = {name: read[code] for name, code in RETIRED.items()}
        problem = next((value for value in values.values() if isinstance(value, dict)), None)
        return problem or dict(values, type="retired-pages", pending=bool(values["pending"]))

    def replays(self):
        """The PCIe replays alone, for another look at whether they grow."""
        return self.read([PCIE_REPLAYS])[PCIE_REPLAYS]

    def read(self, wanted):
        """Each field's value, or why it has none, by its number or by number and scope."""
        values = self.ask((("nvmlDeviceGetFieldValues", wanted),), lambda value: (value,))
        if isinstance(values, dict):
            return dict.fromkeys(wanted, values)
        return {code: self.value(one) for code, one in zip(wanted, values[0])}

    def value(self, one):
        code = one.nvmlReturn
        if code in (INVALID_ARGUMENT, NOT_SUPPORTED):
            return answer.missing("unsupported", "this driver or GPU has no NVML field %d" % one.fieldId)
        if code or not 0 <= one.valueType < len(VALUES):
            return self.explain("nvmlDeviceGetFieldValues", self.pynvml.NVMLError(code or UNKNOWN))
        return int(getattr(one.value, VALUES[one.valueType]))
