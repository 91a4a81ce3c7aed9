"""PCIe, NVLink, fabric and network links."""
