"""Outputs of `nvidia-smi -q` as text and as XML, with invented values, in the layouts of several releases."""

from __future__ import annotations

from typing import Final

AMPERE: Final = """\

==============NVSMI LOG==============

Timestamp                                 : Mon Mar  4 10:11:12 2024
Driver Version                            : 535.104.12
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A100-PCIE-40GB
    Product Brand                         : NVIDIA
    Product Architecture                  : Ampere
    Display Mode                          : Enabled
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    Accounting Mode                       : Disabled
    GPU UUID                              : GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9
    Minor Number                          : 0
    VBIOS Version                         : 92.00.25.00.08
    GPU Virtualization Mode
        Virtualization Mode               : None
    GPU Reset Status
        Reset Required                    : No
        Drain and Reset Recommended       : No
    GSP Firmware Version                  : 535.104.12
    PCI
        Bus                               : 0x3B
        Bus Id                            : 00000000:3B:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 1
                Device Current            : 1
                Device Max                : 4
                Host Max                  : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 0
    Fan Speed                             : N/A
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Active
        Applications Clocks Setting       : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        Sync Boost                        : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 40960 MiB
        Reserved                          : 523 MiB
        Used                              : 4 MiB
        Free                              : 40432 MiB
    BAR1 Memory Usage
        Total                             : 65536 MiB
        Used                              : 1 MiB
        Free                              : 65535 MiB
    Compute Mode                          : Default
    Utilization
        Gpu                               : 0 %
        Memory                            : 0 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 2
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 2
        Pending                           : No
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 638 bank(s)
            None                          : 0 bank(s)
    Temperature
        GPU Current Temp                  : 33 C
        GPU Shutdown Temp                 : 92 C
        GPU Slowdown Temp                 : 89 C
    GPU Power Readings
        Power Draw                        : 35.12 W
        Current Power Limit               : 250.00 W
        Requested Power Limit             : 250.00 W
        Default Power Limit               : 250.00 W
    Module Power Readings
        Power Draw                        : N/A
        Default Power Limit               : N/A
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : /opt/venv/bin/python3
            Used GPU Memory               : 4 MiB
"""
SECOND: Final = (
    AMPERE.partition("Attached GPUs                             : 2\n")[2].replace("3B:00.0", "AF:00.0").replace("GPU-0a1b", "GPU-9a9b")
)
TWO: Final = AMPERE + SECOND.replace(
    "        Process ID                        : 4711\n", "        Process ID                        : 4712\n"
)
KEPLER: Final = """\
==============NVSMI LOG==============
Driver Version                      : 384.81

Attached GPUs                       : 1
GPU 00000000:86:00.0
    Product Name                    : Tesla K80
    Persistence Mode                : Disabled
    FB Memory Usage
        Total                       : 11439 MiB
        Used                        : 0 MiB
    Compute Mode                    : Exclusive_Process
    Ecc Mode
        Current                     : Enabled
        Pending                     : Disabled
    ECC Errors
        Volatile
            Single Bit
                Device Memory       : 0
                Total               : 3
            Double Bit
                Device Memory       : 1
                Register File       : 0
                Total               : 1
        Aggregate
            Single Bit
                Total               : 3
            Double Bit
                Total               : 7
    Retired Pages
        Single Bit ECC              : 1
        Double Bit ECC              : 4
        Pending                     : Yes
    Power Readings
        Power Draw                  : 28.45 W
        Power Limit                 : 149.00 W
        Default Power Limit         : 149.00 W
        Enforced Power Limit        : 149.00 W
    Processes                       : None
"""
XML: Final = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Mar  4 10:11:12 2024</timestamp>
	<driver_version>550.90.07</driver_version>
	<cuda_version>12.4</cuda_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:17:00.0">
		<product_name>NVIDIA H100 80GB HBM3</product_name>
		<persistence_mode>Enabled</persistence_mode>
		<mig_mode>
			<current_mig>Enabled</current_mig>
			<pending_mig>Enabled</pending_mig>
		</mig_mode>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<gpu_instance_id>1</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
				<device_attributes>
					<shared>
						<multiprocessor_count>60</multiprocessor_count>
					</shared>
				</device_attributes>
				<fb_memory_usage>
					<total>40448 MiB</total>
					<reserved>0 MiB</reserved>
					<used>37 MiB</used>
					<free>40411 MiB</free>
				</fb_memory_usage>
			</mig_device>
		</mig_devices>
		<accounting_mode>Disabled</accounting_mode>
		<uuid>GPU-11112222-3333-4444-5555-666677778888</uuid>
		<minor_number>0</minor_number>
		<gpu_virtualization_mode>
			<virtualization_mode>Pass-Through</virtualization_mode>
		</gpu_virtualization_mode>
		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
		</clocks_event_reasons>
		<fb_memory_usage>
			<total>81559 MiB</total>
			<reserved>551 MiB</reserved>
			<used>87 MiB</used>
			<free>80920 MiB</free>
		</fb_memory_usage>
		<compute_mode>Default</compute_mode>
		<remapped_rows>
			<remapped_row_corr>0</remapped_row_corr>
			<remapped_row_unc>1</remapped_row_unc>
			<remapped_row_pending>Yes</remapped_row_pending>
			<remapped_row_failure>No</remapped_row_failure>
		</remapped_rows>
		<fabric>
			<state>In Progress</state>
			<status>N/A</status>
		</fabric>
		<processes>
			<process_info>
				<pid>90210</pid>
				<type>C</type>
				<process_name>python &quot;a&amp;b&quot; --x=&lt;y&gt;</process_name>
				<used_memory>40 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
"""
BOMB: Final = """\
<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log [
 <!ENTITY a "NVIDIA NVIDIA NVIDIA NVIDIA NVIDIA NVIDIA NVIDIA NVIDIA NVIDIA NVIDIA">
 <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
 <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
 <!ENTITY d SYSTEM "file:///etc/passwd">
]>
<nvidia_smi_log>
	<gpu id="00000000:17:00.0">
		<product_name>&c;</product_name>
		<uuid>&d;</uuid>
	</gpu>
</nvidia_smi_log>
"""
ALL: Final = {"ampere": AMPERE, "two": TWO, "kepler": KEPLER, "xml": XML}


def flush_left(text: str) -> str:
    """Return an output whose lines lost their indentation."""
    return "\n".join(line.strip() for line in text.splitlines())
