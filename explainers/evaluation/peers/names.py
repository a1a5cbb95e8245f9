"""How methods and settings are called in the comparison with other packages."""

IG, LIME, KERNEL_SHAP, OCCLUSION = "Integrated gradients", "LIME", "KernelSHAP", "Occlusion"
PARTITION, GRADIENT = "Partition SHAP", "Gradient × input"
TOGETHER = "LIME, KernelSHAP and Occlusion together"
FOUR = "Integrated gradients, gradient × input, LIME and SHAP, with curves and metrics"
SHAPLEY = (KERNEL_SHAP, PARTITION)  # they estimate Shapley values

DEFAULT = "default"
COUNTS = (50, 100, 150, 200, 300, 500, 1000)  # of shared masks, in which equal accuracy is looked for
GROUP_COUNTS = (100, 150, 200, 300)  # the same where several methods are timed together


def shared(count: int) -> str:
    return f"{count} shared masks"
