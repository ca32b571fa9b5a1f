from gpudoctor.derive import GpuView
from gpudoctor.derive.xids import ROW_REMAP_FAILED
from gpudoctor.diagnose.advice.hardware import last_xid, replace_hardware
from gpudoctor.diagnose.rule import Join, advises, explains, rule
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity


@rule("GD106", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@advises(replace_hardware())
@explains(("row-remap-pending",), "A row that cannot be remapped stays pending.", Join.GPU)
@explains(("spare-rows-exhausted",), "Remapping fails when the bank has no spare rows left.", Join.GPU)
def row_remap_failed(gpu: GpuView) -> Problems:
    """Row remapping failed: a bad GPU memory row stays in use."""
    rows = gpu.remapped_rows
    if rows.failed:
        yield Problem(
            message=f"{gpu.label} failed to remap a bad memory row ({rows.correctable + rows.uncorrectable} remapped before).",
            evidence=(Evidence("Remapping Failure Occurred", "yes", "nvmlDeviceGetRemappedRows"), *last_xid(gpu, ROW_REMAP_FAILED)),
        )
