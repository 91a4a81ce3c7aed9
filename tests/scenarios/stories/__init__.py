"""The stories, by what they are about; a situation stands beside its look-alikes."""
