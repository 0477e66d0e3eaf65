from .pixelshuffle import ChannelShuffle  # noqa: F401
