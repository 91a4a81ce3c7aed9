"""The GPUs of simulated machines: what NVML shows of each product at rest."""

from __future__ import annotations

from dataclasses import dataclass

from gpudiag.model import GpuReading

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Card:
    """One product. Its memory is what NVML shows, not the number on the box."""

    name: str
    architecture: str
    total_bytes: int
    reserved_bytes: int
    idle_watts: float
    limit_watts: float
    idle_megahertz: float
    boost_megahertz: float
    pcie_generation: int
    ecc: bool = True

    def at_rest(self, index: int, uuid: str, bus_id: str) -> GpuReading:
        """The slow readings of an idle card that answers everything."""
        errors = 0 if self.ecc else None
        return GpuReading(
            index=index,
            uuid=uuid,
            bus_id=bus_id,
            name=self.name,
            architecture=self.architecture,
            memory_total_bytes=self.total_bytes,
            memory_reserved_bytes=self.reserved_bytes,
            utilization_source="samples",
            pstate="P0",
            power_limit_watts=self.limit_watts,
            power_limit_default_watts=self.limit_watts,
            power_limit_max_watts=self.limit_watts,
            sm_clock_max_megahertz=self.boost_megahertz,
            ecc_mode=self.ecc,
            ecc_mode_pending=self.ecc,
            ecc_corrected_volatile=errors,
            ecc_uncorrected_volatile=errors,
            ecc_corrected_aggregate=errors,
            ecc_uncorrected_aggregate=errors,
            row_remap_pending=False if self.ecc else None,
            row_remap_failed=False if self.ecc else None,
            remapped_rows_correctable=errors,
            remapped_rows_uncorrectable=errors,
            pcie_link_generation=self.pcie_generation,
            pcie_link_generation_max=self.pcie_generation,
            pcie_link_width=16,
            pcie_link_width_max=16,
            pcie_replay_count=0,
            persistence_mode=True,
            compute_mode="default",
            mig_mode=False,
            mig_mode_pending=False,
            recovery_action=0,
            virtualization="none",
            encoder_percent=0.0,
            decoder_percent=0.0,
        )


H100 = Card("NVIDIA H100 80GB HBM3", "hopper", 85_520_809_984, 616 * MIB, 69, 700, 345, 1980, 5)
A100 = Card("NVIDIA A100-SXM4-80GB", "ampere", 85_899_345_920, 606 * MIB, 58, 400, 210, 1410, 4)
L40S = Card("NVIDIA L40S", "ada", 48_305_799_168, 521 * MIB, 34, 350, 210, 2520, 4)
