"""What is deployed: the manifests, played as far as that goes without a cluster."""
