"""Readers of a config.json, one small file per architecture trait.

`patterns` says which kind each layer is; `kinds` turns a kind into what the layer keeps, with the help of
`heads` (MHA, GQA, MQA), `latent` (MLA), `recurrent` (state space, linear attention) and `encoder`.
To add a layer kind: one function that takes (config, layer index) and one row in `kinds.KINDS`.
"""
