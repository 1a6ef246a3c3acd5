"""reverie-small: the files of an English embedder for conversations.

`FOLDER` holds `model.onnx` (inputs `input_ids` and `attention_mask`, output `embedding`) and `vocab.txt`. `NAME` stands for
the vectors they make and changes with every training.
"""

from pathlib import Path

__all__ = ["FOLDER", "NAME", "SHA256"]

FOLDER = Path(__file__).parent
SHA256 = "62f14b538566d860e925b918a96738cc070bc1316f80544de8ee35689048cf6e"  # of model.onnx
NAME = f"reverie-small@{SHA256[:8]}"
