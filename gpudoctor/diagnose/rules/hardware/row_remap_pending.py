from gpudoctor.derive import GpuView
from gpudoctor.derive.xids import ROW_REMAPPED
from gpudoctor.diagnose.advice.hardware import last_xid, reset_gpu
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity


@rule("GD105", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@advises(reboot())
def row_remap_pending(gpu: GpuView) -> Problems:
    """GPU needs a reset to remap a bad memory row."""
    if gpu.remapped_rows.pending:
        yield Problem(
            message=f"{gpu.label} has a row remap pending; it takes effect at the next reset.",
            evidence=(Evidence("Remapped Rows: Pending", "yes", "nvmlDeviceGetRemappedRows"), *last_xid(gpu, ROW_REMAPPED)),
            fixes=(reset_gpu(gpu),),
        )
