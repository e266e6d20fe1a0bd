"""The words as frozen, validated types, and the files between the stages. Imports nothing of ours but errors."""
