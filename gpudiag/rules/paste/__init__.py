"""Rules about pasted text: what one sample shows, what it lacks, and what it cannot show.

They judge windows whose snapshots come from `gpudiag.smi`.
"""
